/* known-share THREADS SERIAL PARALLEL: work of one thread, then work that is shared by so many. A unit is a fixed number of steps. */
#include <pthread.h>
#include <stdlib.h>

static double share;

static void work(double units) {
  volatile unsigned long x = 1;
  for (long i = 0; i < (long)(units * 1e6); i++) x = x * 2862933555777941757UL + 3037000493UL;
}

static void *part(void *nothing) {
  work(share);
  return nothing;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  int threads = atoi(argv[1]);
  pthread_t all[64];
  if (threads < 1 || threads > 64) return 2;
  work(atof(argv[2]));
  share = atof(argv[3]) / threads;
  for (int i = 0; i < threads; i++) pthread_create(&all[i], NULL, part, NULL);
  for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
  return 0;
}

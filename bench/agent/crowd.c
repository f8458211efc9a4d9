/* Starts N processes, most of them asleep, some that work now and then, and prints their pids, one a line.
   They end when this program's standard input ends.   crowd PROCESSES WORKERS */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static void sleep_ms(long ms) {
  struct timespec pause = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&pause, NULL);
}

/* Two milliseconds of arithmetic over a megabyte, a little writing, then a nap of its own length. */
static void work(int which) {
  enum { BYTES = 1 << 20 };
  unsigned char *memory = malloc(BYTES);
  FILE *sink = fopen("/dev/null", "w");
  for (unsigned round = 0;; round++) {
    clock_t until = clock() + CLOCKS_PER_SEC / 500;
    while (clock() < until) memset(memory, (int)round, BYTES / 4 * (1 + round % 4));
    fprintf(sink, "%u\n", memory[round % BYTES]);
    fflush(sink);
    sleep_ms(300 + which * 53 % 1700);
  }
}

int main(int argc, char **argv) {
  int processes = argc > 1 ? atoi(argv[1]) : 300;
  int workers = argc > 2 ? atoi(argv[2]) : 30;
  pid_t self = getpid();
  for (int i = 0; i < processes; i++) {
    pid_t child = fork();
    if (child < 0) {
      perror("fork");
      return 1;
    }
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != self) return 1;
      if (i < workers) work(i);
      for (;;) pause();
    }
    printf("%d\n", child);
  }
  printf("ready\n");
  fflush(stdout);
  char rest[64];
  while (read(0, rest, sizeof rest) > 0) {
  }
  return 0;
}

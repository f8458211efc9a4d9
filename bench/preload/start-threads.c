/* start-threads N: starts and joins so many threads, one after the other; prints CPU and wall time of one in µs. */
#include "clock.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static void *nothing(void *unused) { return unused; }

static double cpu(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1000;
    stay_here();
    double begin = now(), before = cpu();
    for (int i = 0; i < times; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    printf("%f %f\n", (cpu() - before) / times, (now() - begin) / times);
    return 0;
}

/* One CPU, and what time it is: for the programs beside this file. */
#define _GNU_SOURCE
#include <sched.h>
#include <time.h>

/* On one CPU: what it takes to wake up another one is not what is measured. */
static void stay_here(void)
{
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    sched_setaffinity(0, sizeof here, &here);
}

/* Microseconds. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

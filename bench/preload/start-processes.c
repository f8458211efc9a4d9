/* start-processes N PROGRAM: starts it so many times, one after the other; prints CPU and wall time of one in µs. */
#include "clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double microseconds(struct timeval t) { return t.tv_sec * 1e6 + t.tv_usec; }

/* The library is for what is started: PRELOAD becomes LD_PRELOAD only there. */
int main(int argc, char **argv)
{
    int times = atoi(argv[1]);
    char *preload = getenv("PRELOAD");
    if (preload != NULL)
        setenv("LD_PRELOAD", preload, 1);
    stay_here();
    double begin = now();
    for (int i = 0; i < times; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            execv(argv[2], argv + 2);
            _exit(127);
        }
        if (waitpid(child, &status, 0) < 0 || status != 0)
            return 1;
    }
    double wall = now() - begin;
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    printf("%f %f\n", (microseconds(used.ru_utime) + microseconds(used.ru_stime)) / times, wall / times);
    return argc > 2 ? 0 : 2;
}

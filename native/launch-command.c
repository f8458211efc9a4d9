/* Starts the command, and reports how the kernel says it ended. */
#include "launch.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long microseconds(struct timeval t) { return t.tv_sec * 1000000LL + t.tv_usec; }

long long now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

/* It learns of a failed exec through a pipe that closes on exec. False: there is no process. */
int start_command(struct command *command, char **words, char **environment, void (*prepare)(void))
{
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) != 0) {
        command->failed = errno;
        return 0;
    }
    command->start = now(CLOCK_REALTIME);
    command->begin = now(CLOCK_MONOTONIC);
    command->pid = fork();
    if (command->pid == 0) {
        prepare();
        execvpe(words[0], words, environment);
        int why = errno;
        if (write(gate[1], &why, sizeof why) < 0)
            _exit(126);
        _exit(why == ENOENT ? 127 : 126);
    }
    command->failed = command->pid < 0 ? errno : 0;
    close(gate[1]);
    while (read(gate[0], &command->failed, sizeof command->failed) < 0 && errno == EINTR)
        ;
    close(gate[0]);
    return command->pid > 0;
}

/* What is reported of its end (see launch.c). */
void note_end(struct command *command, int status, const struct rusage *used)
{
    command->ended = 1;
    command->status = status;
    snprintf(command->report, sizeof command->report, "ended %d %lld %lld %lld %ld %ld %ld %ld %ld %ld %ld\n", status,
             now(CLOCK_MONOTONIC) - command->begin, microseconds(used->ru_utime), microseconds(used->ru_stime),
             used->ru_maxrss, used->ru_minflt, used->ru_majflt, used->ru_inblock, used->ru_oublock, used->ru_nvcsw,
             used->ru_nivcsw);
}

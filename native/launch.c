/*
 * launch FD[,CLOSED...] [NAME=VALUE...] -- COMMAND [ARGUMENT...]
 *
 * Runs COMMAND, with these variables added to its environment and without the descriptors CLOSED, and reports on descriptor FD what the kernel says of it:
 * its process id and when its wall time began when it has started, and its exit status, wall time and resource usage when
 * it has ended. One line each:
 *
 *     started PID EPOCH_US
 *     failed ERRNO                      (it could not be executed)
 *     ended STATUS WALL_US USER_US SYSTEM_US MAXRSS_KB MINFLT MAJFLT INBLOCK OUBLOCK NVCSW NIVCSW
 *
 * It exists because the peak memory that the kernel reports of a child begins with that of the process it was forked
 * from: asked of a large parent, even `true` seems to use 50 MB. This program is small enough not to matter.
 *
 * launch guard ... is the same from above Node: see launch-guard.c. launch same ... compares files: see launch-same.c.
 */
#include "launch.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Signals that a terminal or a scheduler sends to the whole group reach the command by themselves. */
static const int left_to_command[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGXCPU,
                                       SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT };
enum { LEFT = sizeof left_to_command / sizeof *left_to_command };

static struct sigaction kept[LEFT];
static const char *closed;

static void prepare(void)
{
    for (int i = 0; i < LEFT; i++)
        sigaction(left_to_command[i], &kept[i], NULL);
    for (const char *at = strchr(closed, ','); at != NULL; at = strchr(at + 1, ','))
        close(atoi(at + 1));
}

static char **texts_of_parent(const char *name)
{
    size_t length = 0;
    char *bytes = read_of_parent(name, &length);
    return bytes == NULL ? NULL : texts_of(bytes, length);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "guard") == 0)
        return guard(argv + 2);
    if (argc > 1 && strcmp(argv[1], "same") == 0)
        return same(argv + 2);
    int first = 2;
    while (first < argc && strcmp(argv[first], "--") != 0)
        first++;
    char **words = argv + first + 1;
    if (first + 1 >= argc) {
        fprintf(stderr, "usage: launch FD[,CLOSED...] [NAME=VALUE...] -- COMMAND [ARGUMENT...]\n");
        return 2;
    }
    int report = atoi(argv[1]);
    closed = argv[1];
    char **given;
    if (is_marked(environ) && (given = texts_of_parent("environ")) != NULL)
        restore_environment(environ, given);
    if (is_marked(words) && (given = texts_of_parent("cmdline")) != NULL)
        restore_arguments(words, given);
    for (int i = 2; i < first; i++)
        putenv(argv[i]);
    /* The command must not inherit the report channel. */
    fcntl(report, F_SETFD, FD_CLOEXEC);

    struct sigaction ignore = { .sa_handler = SIG_IGN };
    for (int i = 0; i < LEFT; i++)
        sigaction(left_to_command[i], &ignore, &kept[i]);

    struct command command = { 0 };
    if (!start_command(&command, words, environ, prepare)) {
        dprintf(report, "failed %d\n", command.failed);
        return 126;
    }
    if (command.failed != 0)
        dprintf(report, "failed %d\n", command.failed);
    else
        dprintf(report, "started %d %lld\n", (int)command.pid, command.start);

    int status = 0;
    struct rusage used;
    while (wait4(command.pid, &status, 0, &used) < 0)
        if (errno != EINTR)
            return 126;
    note_end(&command, status, &used);
    if (command.failed == 0)
        dprintf(report, "%s", command.report);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

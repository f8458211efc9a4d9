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
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long microseconds(struct timeval t) { return t.tv_sec * 1000000LL + t.tv_usec; }

static long long now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

/* Signals that a terminal or a scheduler sends to the whole group reach the command by themselves. */
static const int left_to_command[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGXCPU,
                                       SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT };
enum { LEFT = sizeof left_to_command / sizeof *left_to_command };

/*
 * Who starts us has read its arguments and environment as UTF-8, and what is none has become this mark in what it hands
 * on. The kernel still has the bytes that it was given.
 */
static const char mark[] = "\xef\xbf\xbd";

/* A file of /proc about our parent: texts, each ended by a zero. NULL: cannot be read. */
static char *read_of_parent(const char *name, size_t *length)
{
    char path[64], *bytes = NULL;
    size_t size = 0, used = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; file >= 0 && got > 0; used += got > 0 ? (size_t)got : 0) {
        if (size - used < 65536) {
            char *more = realloc(bytes, size += 1 << 20);
            if (more == NULL)
                break;
            bytes = more;
        }
        got = read(file, bytes + used, size - used - 1);
    }
    if (file >= 0)
        close(file);
    if (bytes != NULL)
        bytes[used] = '\0';
    *length = used;
    return bytes;
}

/* Are they the same but for what is not ASCII? */
static int alike(const char *one, const char *other)
{
    for (;; one++, other++) {
        while (*one & 0x80)
            one++;
        while (*other & 0x80)
            other++;
        if (*one != *other || *one == '\0')
            return *one == *other;
    }
}

/* The last `count` texts, which are the command as our parent was given it. */
static void restore_arguments(char **words, int count)
{
    size_t length;
    int marked = 0;
    for (int i = 0; i < count; i++)
        marked |= strstr(words[i], mark) != NULL;
    char *bytes = marked ? read_of_parent("cmdline", &length) : NULL;
    if (bytes == NULL || length == 0)
        return;
    char *at = bytes + length;
    for (int i = count - 1; i >= 0 && at > bytes; i--) {
        /* from behind the zero of a text to its beginning */
        at--;
        while (at > bytes && at[-1] != '\0')
            at--;
        if (strstr(words[i], mark) != NULL && alike(words[i], at))
            words[i] = at;
    }
}

static void restore_environment(void)
{
    extern char **environ;
    size_t length;
    int marked = 0;
    for (char **each = environ; *each != NULL; each++)
        marked |= strstr(*each, mark) != NULL;
    char *bytes = marked ? read_of_parent("environ", &length) : NULL;
    if (bytes == NULL)
        return;
    for (char **each = environ; *each != NULL; each++) {
        if (strstr(*each, mark) == NULL)
            continue;
        for (char *at = bytes; at < bytes + length; at += strlen(at) + 1) {
            if (!alike(*each, at))
                continue;
            *each = at;
            break;
        }
    }
}

int main(int argc, char **argv)
{
    int first = 2;
    while (first < argc && strcmp(argv[first], "--") != 0)
        first++;
    char **command = argv + first + 1;
    if (first + 1 >= argc) {
        fprintf(stderr, "usage: launch FD[,CLOSED...] [NAME=VALUE...] -- COMMAND [ARGUMENT...]\n");
        return 2;
    }
    int report = atoi(argv[1]);
    restore_environment();
    restore_arguments(command, argc - first - 1);
    /* The command must not inherit the report channel, and learns of a failed exec through a pipe that closes on exec. */
    fcntl(report, F_SETFD, FD_CLOEXEC);
    int gate[2];
    if (pipe2(gate, O_CLOEXEC) != 0)
        return 126;

    struct sigaction ignore = { .sa_handler = SIG_IGN }, kept[LEFT];
    for (int i = 0; i < LEFT; i++)
        sigaction(left_to_command[i], &ignore, &kept[i]);

    long long start = now(CLOCK_REALTIME), begin = now(CLOCK_MONOTONIC);
    pid_t child = fork();
    if (child < 0) {
        dprintf(report, "failed %d\n", errno);
        return 126;
    }
    if (child == 0) {
        for (int i = 0; i < LEFT; i++)
            sigaction(left_to_command[i], &kept[i], NULL);
        for (int i = 2; i < first; i++)
            putenv(argv[i]);
        for (const char *at = strchr(argv[1], ','); at != NULL; at = strchr(at + 1, ','))
            close(atoi(at + 1));
        execvp(command[0], command);
        int why = errno;
        if (write(gate[1], &why, sizeof why) < 0)
            _exit(126);
        _exit(why == ENOENT ? 127 : 126);
    }
    close(gate[1]);
    int why = 0;
    while (read(gate[0], &why, sizeof why) < 0 && errno == EINTR)
        ;
    if (why != 0)
        dprintf(report, "failed %d\n", why);
    else
        dprintf(report, "started %d %lld\n", (int)child, start);

    int status = 0;
    struct rusage used;
    while (wait4(child, &status, 0, &used) < 0)
        if (errno != EINTR)
            return 126;
    if (why == 0)
        dprintf(report, "ended %d %lld %lld %lld %ld %ld %ld %ld %ld %ld %ld\n", status, now(CLOCK_MONOTONIC) - begin,
                microseconds(used.ru_utime), microseconds(used.ru_stime), used.ru_maxrss, used.ru_minflt, used.ru_majflt,
                used.ru_inblock, used.ru_oublock, used.ru_nvcsw, used.ru_nivcsw);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

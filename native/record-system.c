/*
 * The shells of system and popen, which the C library starts and waits for unseen. system is done here as it does it,
 * but for one thing: a thread that is cancelled meanwhile goes when the command has ended. popen is the C library's own;
 * the kernel knows which child is new after it.
 */
#include "record.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>

extern char **environ;

static const char shell[] = "/bin/sh";

/* What the keys of a terminal sent is for the command alone, however many threads are in system at once. */
static struct {
    int busy;
    unsigned users;
    struct sigaction interrupt, quit;
} keys;

static void take_keys(void)
{
    while (__sync_lock_test_and_set(&keys.busy, 1) != 0)
        syscall(SYS_sched_yield);
}

static void give_keys(void) { __sync_lock_release(&keys.busy); }

/* In a child of fork no other thread is in system. */
void forget_system(void)
{
    keys.busy = 0;
    keys.users = 0;
}

static void ignore_keys(sigset_t *not_ignored)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    take_keys();
    if (keys.users++ == 0) {
        sigaction(SIGINT, &ignore, &keys.interrupt);
        sigaction(SIGQUIT, &ignore, &keys.quit);
    }
    sigemptyset(not_ignored);
    if (keys.interrupt.sa_handler != SIG_IGN)
        sigaddset(not_ignored, SIGINT);
    if (keys.quit.sa_handler != SIG_IGN)
        sigaddset(not_ignored, SIGQUIT);
    give_keys();
}

static void heed_keys(void)
{
    take_keys();
    if (--keys.users == 0) {
        sigaction(SIGINT, &keys.interrupt, NULL);
        sigaction(SIGQUIT, &keys.quit, NULL);
    }
    give_keys();
}

/* Returns what went wrong. */
static int start_shell(pid_t *pid, const char *command, const sigset_t *mask, const sigset_t *defaults)
{
    bool option = command[0] == '-' || command[0] == '+';
    char *arguments[] = { "sh", "-c", option ? "--" : (char *)command, option ? (char *)command : NULL, NULL };
    posix_spawnattr_t attributes;
    int trouble = posix_spawnattr_init(&attributes);
    if (trouble != 0)
        return trouble;
    posix_spawnattr_setsigmask(&attributes, mask);
    posix_spawnattr_setsigdefault(&attributes, defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    trouble = posix_spawn(pid, shell, NULL, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    return trouble;
}

static int await(pid_t pid)
{
    struct rusage used;
    int status = -1;
    long ended;
    do
        ended = syscall(SYS_wait4, pid, &status, 0, &used);
    while (ended < 0 && errno == EINTR);
    if (ended != pid)
        return -1;
    report_end(pid, status, &used);
    return status;
}

static int unknown(void)
{
    errno = ENOSYS;
    return -1;
}

EXPORTED int system(const char *command)
{
    const struct real *real = real_functions();
    sigset_t child, kept, defaults;
    pid_t pid;
    if (command == NULL || real->posix_spawn == NULL || !may_report())
        return real->system == NULL ? unknown() : real->system(command);
    ignore_keys(&defaults);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &kept);
    int trouble = start_shell(&pid, command, &kept, &defaults);
    int status = trouble == 0 ? await(pid) : 127 << 8, why = trouble == 0 ? errno : trouble;
    heed_keys();
    sigprocmask(SIG_SETMASK, &kept, NULL);
    errno = why;
    return status;
}

/* Streams of popen, and whose they are. */
enum { STREAMS = 64 };
static struct {
    FILE *stream; /* NULL: nobody has this slot */
    pid_t pid;
} streams[STREAMS];

static void remember_stream(FILE *stream, pid_t pid)
{
    for (int i = 0; i < STREAMS; i++)
        /* one that was closed by fclose leaves its place to the next of this address */
        if (streams[i].stream == stream || __sync_bool_compare_and_swap(&streams[i].stream, NULL, stream)) {
            streams[i].pid = pid;
            return;
        }
}

/* 0: not known. */
static pid_t forget_stream(FILE *stream)
{
    for (int i = 0; stream != NULL && i < STREAMS; i++)
        if (streams[i].stream == stream) {
            pid_t pid = streams[i].pid;
            __sync_lock_release(&streams[i].stream);
            return pid;
        }
    return 0;
}

/* The kernel lists the children of a thread as they came. 0: it does not. */
static pid_t newest_child(void)
{
    char buffer[256];
    pid_t number = 0, last = 0;
    int list = (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/children", O_RDONLY | O_CLOEXEC, 0);
    for (long length; list >= 0 && (length = read_some(list, buffer, sizeof buffer)) > 0;)
        for (long i = 0; i < length; i++) {
            bool digit = buffer[i] >= '0' && buffer[i] <= '9';
            last = digit || number == 0 ? last : number;
            number = digit ? number * 10 + (buffer[i] - '0') : 0;
        }
    close_file(list);
    return last;
}

EXPORTED FILE *popen(const char *command, const char *mode)
{
    const struct real *real = real_functions();
    int64_t time = now();
    FILE *stream = real->popen == NULL ? NULL : real->popen(command, mode);
    int kept = errno;
    pid_t child = stream != NULL && may_report() ? newest_child() : 0;
    if (child > 0) {
        char *arguments[] = { "sh", "-c", (char *)command, NULL };
        report_spawn(time, child, shell, arguments, environ);
        remember_stream(stream, child);
    }
    errno = kept;
    return stream;
}

EXPORTED int pclose(FILE *stream)
{
    const struct real *real = real_functions();
    pid_t child = forget_stream(stream);
    int status = real->pclose == NULL ? unknown() : real->pclose(stream);
    if (child > 0 && status != -1)
        report_end(child, status, NULL);
    return status;
}

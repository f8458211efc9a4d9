/* Whoever waits for a child learns how it ended and what it used: also of one that was killed, or says nothing. */
#include "record.h"
#include <sys/resource.h>
#include <sys/wait.h>

extern const char *gnu_get_libc_version(void) __attribute__((weak));

static void report_if_ended(pid_t child, int status, const struct rusage *used)
{
    if (child > 0 && (WIFEXITED(status) || WIFSIGNALED(status)))
        report_end(child, status, used);
}

static pid_t unknown(void)
{
    errno = ENOSYS;
    return -1;
}

EXPORTED pid_t wait4(pid_t which, int *status, int options, struct rusage *used)
{
    const struct real *real = real_functions();
    struct rusage usage;
    int how = 0;
    if (real->wait4 == NULL)
        return unknown();
    pid_t child = real->wait4(which, &how, options, &usage);
    if (child > 0 && status != NULL)
        *status = how;
    if (child > 0 && used != NULL)
        *used = usage;
    /* a tracer also gets the ends of the threads that it traces */
    if ((options & (int)(__WALL | __WCLONE)) == 0)
        report_if_ended(child, how, &usage);
    return child;
}

/* musl's wait4, unlike its waitpid, does not let a thread be cancelled. */
EXPORTED pid_t waitpid(pid_t which, int *status, int options)
{
    const struct real *real = real_functions();
    int how = 0;
    if (gnu_get_libc_version != NULL)
        return wait4(which, status, options, NULL);
    if (real->waitpid == NULL)
        return unknown();
    pid_t child = real->waitpid(which, &how, options);
    if (child > 0 && status != NULL)
        *status = how;
    report_if_ended(child, how, NULL);
    return child;
}

EXPORTED pid_t wait(int *status) { return waitpid(-1, status, 0); }

EXPORTED pid_t wait3(int *status, int options, struct rusage *used) { return wait4(-1, status, options, used); }

/* As wait would have said it. */
static int status_of(const siginfo_t *info)
{
    enum { WITH_CORE = 0x80 };
    if (info->si_code == CLD_EXITED)
        return (info->si_status & 255) << 8;
    return info->si_status | (info->si_code == CLD_DUMPED ? WITH_CORE : 0);
}

/*
 * Only the system call says what a child used. It is no cancellation point: so the C library waits, leaving the child where
 * it is, and the system call takes it. Another thread may have been faster: then the wait goes on.
 */
static int wait_and_take(idtype_t type, id_t which, siginfo_t *info, int options, struct rusage *used)
{
    for (;;) {
        int trouble = real_functions()->waitid(type, which, info, options | WNOWAIT);
        if (trouble != 0 || info->si_pid == 0)
            return trouble;
        siginfo_t taken = { 0 };
        long answer = syscall(SYS_waitid, P_PID, info->si_pid, &taken, options | WNOHANG, used);
        if (answer == 0 && taken.si_pid != 0) {
            *info = taken;
            return 0;
        }
        if (answer != 0 && errno != ECHILD && errno != EINTR)
            return -1;
    }
}

EXPORTED int waitid(idtype_t type, id_t which, siginfo_t *given, int options)
{
    const struct real *real = real_functions();
    siginfo_t info = { 0 };
    struct rusage used;
    if (real->waitid == NULL)
        return unknown();
    if ((options & WNOWAIT) != 0 || (options & WEXITED) == 0 || !may_report())
        return real->waitid(type, which, given, options);
    int trouble = wait_and_take(type, which, &info, options, &used);
    if (trouble == 0 && given != NULL)
        *given = info;
    bool ended = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
    if (trouble == 0 && info.si_pid > 0 && ended)
        report_end(info.si_pid, status_of(&info), &used);
    return trouble;
}

/* Whoever waits for a child learns how it ended and what it used: also of one that was killed, or says nothing. */
#include "record.h"
#include <sys/resource.h>
#include <sys/wait.h>

extern const char *gnu_get_libc_version(void) __attribute__((weak));

static void tell_if_ended(pid_t child, int status, const struct rusage *used)
{
    if (child > 0 && (WIFEXITED(status) || WIFSIGNALED(status)))
        tell_end(child, status, used);
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
    /* who traces others is told of the ends of their threads, too */
    if ((options & (int)(__WALL | __WCLONE)) == 0)
        tell_if_ended(child, how, &usage);
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
    tell_if_ended(child, how, NULL);
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

EXPORTED int waitid(idtype_t type, id_t which, siginfo_t *given, int options)
{
    const struct real *real = real_functions();
    siginfo_t info = { 0 };
    if (real->waitid == NULL)
        return unknown();
    int trouble = real->waitid(type, which, &info, options);
    if (trouble == 0 && given != NULL)
        *given = info;
    bool ended = info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
    if (trouble == 0 && info.si_pid > 0 && ended && (options & WNOWAIT) == 0)
        tell_end(info.si_pid, status_of(&info), NULL);
    return trouble;
}

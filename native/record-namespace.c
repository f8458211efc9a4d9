/*
 * A process id holds in one PID namespace: a container counts its own from 1. Lines name a process by both, so that
 * whoever reads them knows which process of the node it is.
 */
#include "record.h"
#include <fcntl.h>

/* The kernel's number of the namespace of the calling process; 0: not known, as without /proc. */
uint64_t read_namespace(void)
{
    char link[32];
    int64_t number = MISSING;
    long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", link, sizeof link - 1);
    link[length > 0 ? length : 0] = '\0';
    next_number(link, &number);
    return number > 0 ? (uint64_t)number : 0;
}

/* The same, where the caller may be a child that has this memory, or a copy of it, without our knowing. */
uint64_t caller_namespace(void)
{
    pid_t caller = kernel_pid();
    return caller == process.pid || (pid_t)syscall(SYS_getppid) == process.pid ? process.space : read_namespace();
}

/* A tab and who it is: the id, and the namespace that it holds in. */
void add_who(struct text *text, pid_t pid, uint64_t space)
{
    add_field(text, pid);
    if (space == 0)
        return;
    add_char(text, '@');
    add_unsigned(text, space);
}

/* The parent of a process in the namespace `own`: only of one in another namespace that is said. */
void add_parent(struct text *text, pid_t parent, uint64_t space, uint64_t own)
{
    add_who(text, parent, space == own ? 0 : space);
}

/* The ways of ending that pass by exit. */
#include "record.h"
#include <fcntl.h>

EXPORTED void _exit(int code)
{
    end_process("_exit", code & 255, 0);
    for (;;)
        syscall(SYS_exit_group, code);
}

EXPORTED void _Exit(int code) { _exit(code); }

EXPORTED void quick_exit(int code)
{
    void (*real)(int) = real_functions()->quick_exit;
    end_process("quick_exit", code & 255, 0);
    if (real != NULL)
        real(code);
    _exit(code);
}

/* The C library's own would end the parent unseen. */
EXPORTED int daemon(int stay, int keep)
{
    pid_t child = fork();
    if (child < 0)
        return -1;
    if (child > 0)
        _exit(0);
    if (setsid() < 0)
        return -1;
    if (!stay && chdir("/") != 0)
        return -1;
    if (keep)
        return 0;
    int nowhere = open("/dev/null", O_RDWR);
    if (nowhere < 0)
        return -1;
    for (int standard = 0; standard <= 2; standard++)
        dup2(nowhere, standard);
    if (nowhere > 2)
        close(nowhere);
    return 0;
}

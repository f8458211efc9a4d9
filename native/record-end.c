/* The ways of ending, or of becoming another program, that pass by exit. */
#include "record.h"
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>

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

/* Shells try every folder of PATH: only where there is a program this one can end. */
static void leave_for(const char *path)
{
    int kept = errno;
    if (path == NULL || strchr(path, '/') == NULL || syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0)
        leave_image();
    errno = kept;
}

extern char **environ;

static int unknown(void)
{
    errno = ENOSYS;
    return -1;
}

EXPORTED int execve(const char *path, char *const arguments[], char *const environment[])
{
    const struct real *real = real_functions();
    leave_for(path);
    return real->execve == NULL ? unknown() : real->execve(path, arguments, environment);
}

EXPORTED int execvpe(const char *name, char *const arguments[], char *const environment[])
{
    const struct real *real = real_functions();
    leave_for(name);
    return real->execvpe == NULL ? unknown() : real->execvpe(name, arguments, environment);
}

EXPORTED int fexecve(int descriptor, char *const arguments[], char *const environment[])
{
    const struct real *real = real_functions();
    leave_for(NULL);
    return real->fexecve == NULL ? unknown() : real->fexecve(descriptor, arguments, environment);
}

EXPORTED int execv(const char *path, char *const arguments[]) { return execve(path, arguments, environ); }

EXPORTED int execvp(const char *name, char *const arguments[]) { return execvpe(name, arguments, environ); }

/* Arguments that are listed, from the first one on, as an array on the stack; `list` is left behind the last. */
#define COLLECT(first, list, array)                  \
    size_t count = 1;                                \
    va_list list;                                    \
    va_start(list, first);                           \
    while (va_arg(list, char *) != NULL)             \
        count++;                                     \
    va_end(list);                                    \
    char *array[count + 1];                          \
    array[0] = (char *)first;                        \
    va_start(list, first);                           \
    for (size_t i = 1; i <= count; i++)              \
        array[i] = va_arg(list, char *);

EXPORTED int execl(const char *path, const char *first, ...)
{
    COLLECT(first, list, arguments)
    va_end(list);
    return execve(path, arguments, environ);
}

EXPORTED int execlp(const char *name, const char *first, ...)
{
    COLLECT(first, list, arguments)
    va_end(list);
    return execvpe(name, arguments, environ);
}

EXPORTED int execle(const char *path, const char *first, ...)
{
    COLLECT(first, list, arguments)
    char **environment = va_arg(list, char **);
    va_end(list);
    return execve(path, arguments, environment);
}

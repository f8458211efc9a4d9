/*
 * Another program takes the place of this one, or is started in a child. It is reported before, or right after: one that has
 * our library takes over with its own line.
 */
#include "record.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum { PATH_BYTES = 1024 };

static int unknown(void)
{
    errno = ENOSYS;
    return -1;
}

static bool executable(const char *path) { return syscall(SYS_faccessat, AT_FDCWD, path, X_OK) == 0; }

/* Where the C library will find the program; NULL: nowhere. */
static const char *find_program(const char *name, char *buffer, size_t size)
{
    const char *folders = getenv("PATH");
    if (strchr(name, '/') != NULL)
        return executable(name) ? name : NULL;
    for (const char *at = folders != NULL ? folders : "/bin:/usr/bin"; *name != '\0';) {
        size_t length = strcspn(at, ":");
        struct text text = { buffer, buffer + size - 1 };
        for (size_t i = 0; i < length; i++)
            add_char(&text, at[i]);
        add_word(&text, length > 0 ? "/" : "./");
        add_word(&text, name);
        *text.at = '\0';
        if (text.at < text.end && executable(buffer))
            return buffer;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    return NULL;
}

/* `environment` becomes one that has the library, or not where that cannot be seen, on the stack. */
#define COMPLETE(environment)                              \
    struct added added;                                    \
    size_t entries = entries_needed(environment, &added);  \
    char *array[entries + 1];                              \
    char *const *given = environment;                      \
    environment = entries == 0 ? given : complete_environment(given, array, &added);

/* Shells try every folder of PATH: only where there is a program this one can end. True: it was reported. */
static bool leave_for(const char *path, char *const arguments[], char *const environment[])
{
    int kept = errno;
    bool was_reported = false;
    if (process.on && path != NULL) {
        leave_image();
        was_reported = report_exec(path, arguments, environment);
    }
    errno = kept;
    return was_reported;
}

/* It did not become another program after all. */
static int stay(bool was_reported, int answer)
{
    if (was_reported)
        take_back(kernel_pid(), "failed");
    return answer;
}

EXPORTED int execve(const char *path, char *const arguments[], char *const environment[])
{
    const struct real *real = real_functions();
    int kept = errno;
    bool there = process.on && executable(path);
    errno = kept;
    if (real->execve == NULL)
        return unknown();
    COMPLETE(environment)
    bool was_reported = leave_for(there ? path : NULL, arguments, given);
    return stay(was_reported, real->execve(path, arguments, environment));
}

EXPORTED int execvpe(const char *name, char *const arguments[], char *const environment[])
{
    const struct real *real = real_functions();
    char buffer[PATH_BYTES];
    int kept = errno;
    const char *path = process.on ? find_program(name, buffer, sizeof buffer) : NULL;
    errno = kept;
    if (real->execvpe == NULL)
        return unknown();
    COMPLETE(environment)
    bool was_reported = leave_for(path, arguments, given);
    return stay(was_reported, real->execvpe(name, arguments, environment));
}

/* The name of a file that is open. */
static const char *name_of(int descriptor, char *buffer, size_t size)
{
    char link[48];
    struct text text = { link, link + sizeof link - 1 };
    add_word(&text, "/proc/self/fd/");
    add_unsigned(&text, (uint64_t)descriptor);
    *text.at = '\0';
    long length = descriptor < 0 ? 0 : syscall(SYS_readlinkat, AT_FDCWD, link, buffer, size - 1);
    if (length <= 0)
        return NULL;
    buffer[length] = '\0';
    return buffer;
}

EXPORTED int fexecve(int descriptor, char *const arguments[], char *const environment[])
{
    const struct real *real = real_functions();
    char buffer[PATH_BYTES];
    int kept = errno;
    const char *path = process.on ? name_of(descriptor, buffer, sizeof buffer) : NULL;
    errno = kept;
    if (real->fexecve == NULL)
        return unknown();
    COMPLETE(environment)
    bool was_reported = leave_for(path, arguments, given);
    return stay(was_reported, real->fexecve(descriptor, arguments, environment));
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

EXPORTED int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                         const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    const struct real *real = real_functions();
    int64_t time = now();
    pid_t child = 0;
    if (real->posix_spawn == NULL)
        return ENOSYS;
    COMPLETE(environment)
    int trouble = real->posix_spawn(&child, path, actions, attributes, arguments, environment);
    if (trouble != 0)
        return trouble;
    if (pid != NULL)
        *pid = child;
    report_spawn(time, child, path, arguments, given);
    return 0;
}

EXPORTED int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
                          const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[])
{
    const struct real *real = real_functions();
    int64_t time = now();
    pid_t child = 0;
    if (real->posix_spawnp == NULL)
        return ENOSYS;
    COMPLETE(environment)
    int trouble = real->posix_spawnp(&child, name, actions, attributes, arguments, environment);
    if (trouble != 0)
        return trouble;
    if (pid != NULL)
        *pid = child;
    char buffer[PATH_BYTES];
    int kept = errno;
    const char *path = process.on ? find_program(name, buffer, sizeof buffer) : NULL;
    errno = kept;
    report_spawn(time, child, path == NULL ? name : path, arguments, given);
    return 0;
}

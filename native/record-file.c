/* Small files are read, and lines are appended to the file that the agent of this node reads. */
#include "record.h"
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

enum { MOST_FILES = 4 };
static char names[1024];
static const char *files[MOST_FILES];
static int file_count;

/*
 * Names with colons between them: a job may be recorded by its user and by its cluster. A relative name would mean another
 * file in every folder.
 */
bool use_files(const char *list)
{
    size_t length = list == NULL ? 0 : strlen(list);
    if (length >= sizeof names)
        return false;
    memcpy(names, length == 0 ? "" : list, length + 1);
    for (char *name = names; name != NULL && file_count < MOST_FILES;) {
        char *colon = strchr(name, ':');
        if (colon != NULL)
            *colon = '\0';
        if (name[0] == '/' && name[1] != '\0')
            files[file_count++] = name;
        name = colon == NULL ? NULL : colon + 1;
    }
    return file_count > 0;
}

void close_file(int descriptor)
{
    if (descriptor >= 0)
        syscall(SYS_close, descriptor);
}

static void note(int64_t *of_thread, int64_t *of_process, long amount)
{
    if (amount > 0) {
        *of_thread += amount;
        __sync_fetch_and_add(of_process, amount);
    }
}

long read_some(int descriptor, void *buffer, size_t size)
{
    long length = syscall(SYS_read, descriptor, buffer, size);
    note(&this_thread()->io.syscr, &process.io.syscr, 1);
    note(&this_thread()->io.rchar, &process.io.rchar, length);
    return length;
}

static long write_all(int descriptor, const char *bytes, size_t size)
{
    long length = syscall(SYS_write, descriptor, bytes, size);
    /* a child of vfork has its parent's memory, but not its counters */
    if (kernel_pid() != process.pid)
        return length;
    note(&this_thread()->io.syscw, &process.io.syscw, 1);
    note(&this_thread()->io.wchar, &process.io.wchar, length);
    return length;
}

/* Reads the beginning of a file, ended by a zero byte. Returns the length, 0 when it cannot be read. */
int read_file(const char *path, char *buffer, size_t size)
{
    buffer[0] = '\0';
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
    if (descriptor < 0)
        return 0;
    long length = read_some(descriptor, buffer, size - 1);
    syscall(SYS_close, descriptor);
    if (length < 0)
        length = 0;
    buffer[length] = '\0';
    return (int)length;
}

/* A program whose files may not grow further would be ended by SIGXFSZ because of our line. */
static bool allowed(int descriptor, size_t length)
{
    struct rlimit limit;
    if (syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return true;
    long size = syscall(SYS_lseek, descriptor, 0, SEEK_END);
    return size >= 0 && (uint64_t)size + length <= limit.rlim_cur;
}

/* It is made if need be, as the agent moves a long one away; but to ask for that costs a lock of the folder. */
static int open_to_append(const char *file)
{
    int flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
    int descriptor = (int)syscall(SYS_openat, AT_FDCWD, file, flags, 0);
    if (descriptor < 0 && errno == ENOENT)
        descriptor = (int)syscall(SYS_openat, AT_FDCWD, file, flags | O_CREAT, 0600);
    return descriptor;
}

/*
 * One write, at the end of the file as the kernel sees it: lines of several processes do not mix. The file is opened by
 * its name each time, as programs close descriptors that they do not know.
 */
bool append(const char *bytes, size_t length)
{
    bool written = false;
    int trouble = 0;
    for (int i = 0; i < file_count; i++) {
        int descriptor = open_to_append(files[i]);
        if (descriptor < 0) {
            /* a recording that is over leaves no folder: that counts only where there is no other */
            if (trouble == 0 || trouble == ENOENT)
                trouble = errno;
            continue;
        }
        if (allowed(descriptor, length) && write_all(descriptor, bytes, length) == (long)length)
            written = true;
        else
            trouble = EIO;
        syscall(SYS_close, descriptor);
    }
    if (!written)
        errno = trouble;
    return written;
}

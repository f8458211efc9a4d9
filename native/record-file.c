/* Small files are read, and lines are appended to the file that the agent of this node reads. */
#include "record.h"
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

static char file[256];

/* A relative name would mean another file in every folder. */
bool use_file(const char *path)
{
    size_t length = path == NULL ? 0 : strlen(path);
    if (length < 2 || length >= sizeof file || path[0] != '/')
        return false;
    memcpy(file, path, length + 1);
    return true;
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
static int open_to_append(void)
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
    int descriptor = open_to_append();
    if (descriptor < 0)
        return false;
    bool written = allowed(descriptor, length) && write_all(descriptor, bytes, length) == (long)length;
    syscall(SYS_close, descriptor);
    return written;
}

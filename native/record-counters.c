/* What the kernel counted for this process or one of its threads, from getrusage and /proc. */
#include "record.h"
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

/* Of the kernel's clock for users, on all machines that we know. */
enum { TICK_US = 10000 };

static int64_t microseconds(struct timeval t) { return t.tv_sec * 1000000LL + t.tv_usec; }

static void usage(int whose, int64_t *m)
{
    struct rusage u;
    if (syscall(SYS_getrusage, whose, &u) != 0)
        return;
    m[USERTIME] = microseconds(u.ru_utime);
    m[SYSTEMTIME] = microseconds(u.ru_stime);
    m[MINFLT] = u.ru_minflt;
    m[MAJFLT] = u.ru_majflt;
    m[INBLOCK] = u.ru_inblock;
    m[OUTBLOCK] = u.ru_oublock;
    m[VOL_CTXSW] = u.ru_nvcsw;
    m[INVOL_CTXSW] = u.ru_nivcsw;
    /* exec does not reset it: until this image needs more, it is the peak of what had the pid before */
    if (u.ru_maxrss > process.rss_before)
        m[RSSMAX] = u.ru_maxrss;
}

/* True if there were any that this process has waited for. */
static bool children(int64_t *m)
{
    struct rusage u;
    if (syscall(SYS_getrusage, RUSAGE_CHILDREN, &u) != 0)
        return false;
    m[CUTIME] = microseconds(u.ru_utime);
    m[CSTIME] = microseconds(u.ru_stime);
    return u.ru_minflt > 0;
}

enum { PATH_BYTES = 64 };

/* Reads a file of /proc about this process, or about one of its threads (tid 0: none). */
static void read_proc(pid_t tid, const char *name, char *scratch, size_t size)
{
    char path[PATH_BYTES];
    struct text text = { path, path + sizeof path - 1 };
    add_word(&text, "/proc/self/");
    if (tid != 0) {
        add_word(&text, "task/");
        add_unsigned(&text, (uint64_t)tid);
        add_char(&text, '/');
    }
    add_word(&text, name);
    *text.at = '\0';
    read_file(path, scratch, size);
}

/* The peak memory of this image alone. A first thread that has ended has no memory any more: this one is asked. */
static void high_water(int64_t *m, char *scratch, size_t size)
{
    if (m[RSSMAX] != MISSING)
        return;
    read_proc(kernel_tid(), "status", scratch, size);
    const char *line = strstr(scratch, "\nVmHWM:");
    if (line != NULL)
        next_number(line, &m[RSSMAX]);
}

/* Only a process with a limit of its address space has these fields: what it might have had, and the most that it had. */
void add_limits(struct text *text, char *scratch, size_t size)
{
    struct rlimit limit;
    int64_t peak = MISSING;
    if (syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    add_word(text, "\tvirtual_limit_bytes=");
    add_unsigned(text, limit.rlim_cur);
    read_proc(kernel_tid(), "status", scratch, size);
    const char *line = strstr(scratch, "\nVmPeak:");
    if (line == NULL)
        return;
    next_number(line, &peak);
    if (peak == MISSING)
        return;
    add_word(text, "\tvirtual_peak_bytes=");
    add_unsigned(text, (uint64_t)peak * 1024);
}

/* /proc/…/stat: fields are counted from 1; the program's name in parentheses, the second, may hold anything. */
static void stat(pid_t tid, int64_t *m, char *scratch, size_t size, int64_t *ticks)
{
    int64_t field[44];
    read_proc(tid, "stat", scratch, size);
    const char *at = strrchr(scratch, ')');
    if (at == NULL || strlen(at) < 4)
        return;
    at += 3;
    for (int i = 4; i < 44; i++)
        at = next_number(at, &field[i]);
    m[NUM_THREADS] = field[20];
    m[STARTTIME] = field[22];
    m[PROCESSOR] = field[39];
    m[DELAYACCT_BLKIO_TIME] = field[42];
    m[GUEST_TIME] = field[43];
    if (ticks != NULL) {
        ticks[0] = field[14];
        ticks[1] = field[15];
        m[MINFLT] = field[10];
        m[MAJFLT] = field[12];
    }
}

/* Without what we read and wrote ourselves; of a program that was replaced by exec that is no longer known. */
static void io(pid_t tid, int64_t *m, char *scratch, size_t size, const struct own_io *own)
{
    /* what the kernel says does not include the reading of it */
    const int64_t ours[] = { own->rchar, own->wchar, own->syscr, own->syscw };
    read_proc(tid, "io", scratch, size);
    const char *at = scratch;
    for (int i = RCHAR; i <= CANCELLED_WRITE_BYTES; i++)
        at = next_number(at, &m[i]);
    for (int i = 0; i < 4; i++)
        if (m[RCHAR + i] >= ours[i])
            m[RCHAR + i] -= ours[i];
}

static void schedule(pid_t tid, int64_t *m, char *scratch, size_t size)
{
    read_proc(tid, "schedstat", scratch, size);
    const char *at = scratch;
    for (int i = TIME_ONCPU; i <= TIMESLICES; i++)
        at = next_number(at, &m[i]);
}

static void nothing_yet(int64_t *m)
{
    for (int i = 0; i < METRICS; i++)
        m[i] = MISSING;
}

/*
 * Waiting, time slices and block I/O are those of the first thread: the caller adds those of the others. What the
 * kernel calls the I/O of a process has that of all children in it that were waited for. If there were any, which is
 * answered, an only thread is asked itself; of several the caller adds up what each did.
 */
bool count_process(int64_t *m, char *scratch, size_t size)
{
    nothing_yet(m);
    usage(RUSAGE_SELF, m);
    bool waited = children(m);
    io(waited && process.threads == 1 ? process.pid : 0, m, scratch, size, &process.io);
    schedule(0, m, scratch, size);
    stat(0, m, scratch, size, NULL);
    high_water(m, scratch, size);
    m[TIME_ONCPU] = m[CPU_CLOCK] = cpu_clock(CLOCK_PROCESS_CPUTIME_ID);
    return waited;
}

/* The kernel tells how another thread's time divides only in ticks, but its sum in nanoseconds. */
static void divide_time(int64_t *m, const int64_t *ticks)
{
    int64_t sum = m[TIME_ONCPU] / 1000;
    int64_t all = ticks[0] + ticks[1];
    if (m[TIME_ONCPU] == MISSING || ticks[0] == MISSING)
        return;
    m[SYSTEMTIME] = all == 0 ? 0 : (int64_t)((double)sum * (double)ticks[1] / (double)all);
    m[USERTIME] = sum - m[SYSTEMTIME];
}

/* Only stat says how long a thread waited for block I/O, if that is counted, and ran virtual machines, if it may. */
enum reason { NONE = 1, GUESTS, DELAYS };

static enum reason reason_for_stat(void)
{
    static enum reason reason;
    if (reason == 0) {
        char counts[8];
        read_file("/proc/sys/kernel/task_delayacct", counts, sizeof counts);
        bool guests = syscall(SYS_faccessat, AT_FDCWD, "/dev/kvm", R_OK | W_OK) == 0;
        reason = counts[0] != '0' ? DELAYS : guests ? GUESTS : NONE;
    }
    return reason;
}

/* What stat would say of the calling thread, without the cost of it. */
static void instead_of_stat(int64_t lived, int64_t *m)
{
    unsigned cpu;
    if (syscall(SYS_getcpu, &cpu, NULL, NULL) == 0)
        m[PROCESSOR] = cpu;
    m[NUM_THREADS] = process.alive;
    m[STARTTIME] = (cpu_clock(CLOCK_BOOTTIME) / 1000 - lived) / TICK_US;
    if (reason_for_stat() == NONE)
        m[GUEST_TIME] = 0;
}

/* A processor of a virtual machine lives longer. */
enum { GUEST_US = 1000000 };

/* The calling thread. It may have a small stack: so little is read at a time. */
void count_this_thread(const struct thread *thread, int64_t *m)
{
    char scratch[512];
    int64_t lived = now() - thread->start;
    nothing_yet(m);
    io(thread->tid, m, scratch, sizeof scratch, &thread->io);
    schedule(thread->tid, m, scratch, sizeof scratch);
    if (reason_for_stat() == DELAYS || (reason_for_stat() == GUESTS && lived >= GUEST_US))
        stat(thread->tid, m, scratch, sizeof scratch, NULL);
    else
        instead_of_stat(lived, m);
    usage(RUSAGE_THREAD, m);
    m[CPU_CLOCK] = cpu_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Another thread, which can be asked less. */
void count_other_thread(pid_t tid, const struct own_io *own, int64_t *m)
{
    char scratch[512];
    int64_t ticks[2] = { MISSING, MISSING };
    nothing_yet(m);
    io(tid, m, scratch, sizeof scratch, own);
    schedule(tid, m, scratch, sizeof scratch);
    stat(tid, m, scratch, sizeof scratch, ticks);
    divide_time(m, ticks);
    m[CPU_CLOCK] = m[TIME_ONCPU];
}

/*
 * A thread that gets no line must cost next to nothing: reading /proc costs more than such a thread itself. The kernel
 * adds up for the process what matters most; it does not say how long such threads waited for a CPU.
 */
void count_brief_thread(int64_t *m)
{
    nothing_yet(m);
    usage(RUSAGE_THREAD, m);
    /* it runs once more than it is taken off the CPU */
    m[TIMESLICES] = m[VOL_CTXSW] + m[INVOL_CTXSW] + 1;
}

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

/* "task/17/io", in the folder of a process */
static void thread_file(char *name, size_t size, pid_t tid, const char *file)
{
    struct text text = { name, name + size - 1 };
    add_word(&text, "task/");
    add_unsigned(&text, (uint64_t)tid);
    add_word(&text, file);
    *text.at = '\0';
}

/* The peak memory of this image alone. A first thread that has ended has no memory any more: this one is asked. */
static void high_water(int folder, int64_t *m, char *scratch, size_t size)
{
    char status[48];
    if (m[RSSMAX] != MISSING)
        return;
    thread_file(status, sizeof status, kernel_tid(), "/status");
    read_file(folder, status, scratch, size);
    const char *line = strstr(scratch, "\nVmHWM:");
    if (line != NULL)
        next_number(line, &m[RSSMAX]);
}

/* /proc/…/stat: fields are counted from 1; the program's name in parentheses, the second, may hold anything. */
static void stat(int folder, int64_t *m, char *scratch, size_t size, int64_t *ticks)
{
    int64_t field[44];
    read_file(folder, "stat", scratch, size);
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
static void io(int folder, const char *file, int64_t *m, char *scratch, size_t size, const struct own_io *own)
{
    /* what the kernel says does not include the reading of it */
    const int64_t ours[] = { own->rchar, own->wchar, own->syscr, own->syscw };
    read_file(folder, file, scratch, size);
    const char *at = scratch;
    for (int i = RCHAR; i <= CANCELLED_WRITE_BYTES; i++)
        at = next_number(at, &m[i]);
    for (int i = 0; i < 4; i++)
        if (m[RCHAR + i] >= ours[i])
            m[RCHAR + i] -= ours[i];
}

static void schedule(int folder, int64_t *m, char *scratch, size_t size)
{
    read_file(folder, "schedstat", scratch, size);
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
 * Waiting, time slices and block I/O are those of the first thread: the caller adds those of the others. What the kernel
 * calls the I/O of a process has that of all children in it that were waited for. If there were any, which is answered,
 * an only thread is asked itself; of several the caller adds up what each did.
 */
bool count_process(int64_t *m, char *scratch, size_t size)
{
    char only_thread[48];
    nothing_yet(m);
    usage(RUSAGE_SELF, m);
    bool waited = children(m);
    thread_file(only_thread, sizeof only_thread, process.pid, "/io");
    int folder = open_folder("/proc/self");
    if (folder >= 0) {
        io(folder, waited && process.threads == 1 ? only_thread : "io", m, scratch, size, &process.io);
        schedule(folder, m, scratch, size);
        stat(folder, m, scratch, size, NULL);
        high_water(folder, m, scratch, size);
        close_file(folder);
    }
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

static int thread_folder(pid_t tid)
{
    char path[48];
    struct text text = { path, path + sizeof path - 1 };
    add_word(&text, "/proc/self/task/");
    add_unsigned(&text, (uint64_t)tid);
    *text.at = '\0';
    return open_folder(path);
}

/* Only stat says how long a thread waited for block I/O, if the kernel counts that, and ran virtual machines, if it can. */
static bool needs_stat(void)
{
    static int answer = -1;
    if (answer < 0) {
        char counts[8];
        read_file(AT_FDCWD, "/proc/sys/kernel/task_delayacct", counts, sizeof counts);
        answer = counts[0] != '0' || syscall(SYS_faccessat, AT_FDCWD, "/dev/kvm", R_OK | W_OK) == 0;
    }
    return answer == 1;
}

/* What stat would say of the calling thread, without the cost of it. */
static void instead_of_stat(const struct thread *thread, int64_t *m)
{
    unsigned cpu;
    if (syscall(SYS_getcpu, &cpu, NULL, NULL) == 0)
        m[PROCESSOR] = cpu;
    m[NUM_THREADS] = process.alive;
    m[GUEST_TIME] = 0;
    int64_t lived = now() - thread->start;
    m[STARTTIME] = (cpu_clock(CLOCK_BOOTTIME) / 1000 - lived) / TICK_US;
}

/* The calling thread. It may have a small stack: so little is read at a time. */
void count_this_thread(const struct thread *thread, int64_t *m)
{
    char scratch[512];
    nothing_yet(m);
    int folder = thread_folder(thread->tid);
    if (folder < 0)
        return;
    io(folder, "io", m, scratch, sizeof scratch, &thread->io);
    schedule(folder, m, scratch, sizeof scratch);
    if (needs_stat())
        stat(folder, m, scratch, sizeof scratch, NULL);
    else
        instead_of_stat(thread, m);
    close_file(folder);
    usage(RUSAGE_THREAD, m);
    m[CPU_CLOCK] = cpu_clock(CLOCK_THREAD_CPUTIME_ID);
}

/* Another thread, which can be asked less. */
void count_other_thread(pid_t tid, const struct own_io *own, int64_t *m)
{
    char scratch[512];
    int64_t ticks[2] = { MISSING, MISSING };
    nothing_yet(m);
    int folder = thread_folder(tid);
    if (folder < 0)
        return;
    io(folder, "io", m, scratch, sizeof scratch, own);
    schedule(folder, m, scratch, sizeof scratch);
    stat(folder, m, scratch, sizeof scratch, ticks);
    close_file(folder);
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

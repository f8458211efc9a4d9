/* Threads start, end, or are still running when their process ends. */
#include "record.h"
#include <fcntl.h>
#include <stdlib.h>

enum { THREAD_LINE = 1600 };

/* The first thread has called pthread_exit while others go on. */
static bool first_ended;
/* This thread's line is out, but it may still call exit. */
static __thread bool line_written;

static struct thread *begin_thread(pid_t tid)
{
    struct thread *thread = take_slot(tid);
    thread->start = now();
    thread->cycles = cycles();
    thread->io = (struct own_io){ 0 };
    open_events(thread);
    __sync_fetch_and_add(&process.alive, 1);
    return thread;
}

/* At the start of a process; after a fork the only thread is the one that called it, and counts from zero. */
void begin_first_thread(void)
{
    clear_slots();
    first_ended = line_written = false;
    begin_thread(process.pid)->start = process.start;
}

static void add_event(struct sums *sums, int i, int64_t value)
{
    if (value == MISSING)
        return;
    sums->counted[i] = true;
    __sync_fetch_and_add(&sums->events[i], value);
}

static void add_to(int64_t *sum, int64_t value)
{
    if (value != MISSING)
        __sync_fetch_and_add(sum, value);
}

static void add_thread(struct sums *sums, const int64_t *metrics, const int64_t *events)
{
    add_to(&sums->waiting, metrics[TIME_WAITING]);
    add_to(&sums->timeslices, metrics[TIMESLICES]);
    add_to(&sums->blkio, metrics[DELAYACCT_BLKIO_TIME]);
    for (int i = 0; i < IO_COUNTERS; i++)
        add_to(&sums->io[i], metrics[RCHAR + i]);
    for (int i = 0; i < MAX_EVENTS; i++)
        add_event(sums, i, events[i]);
}

static void write_thread(pid_t tid, int64_t start, const char *how, char *line, size_t size, const int64_t *metrics,
                         const int64_t *events)
{
    struct text text;
    begin_line(&text, line, size, "T2");
    add_field(&text, now());
    add_who(&text, process.pid, process.space);
    add_field(&text, process.start);
    add_field(&text, tid);
    add_field(&text, start);
    add_char(&text, '\t');
    add_word(&text, how);
    add_metrics(&text, metrics);
    add_events(&text, events);
    append(line, end_line(&text, line));
}

static void no_events(int64_t *events)
{
    for (int i = 0; i < MAX_EVENTS; i++)
        events[i] = MISSING;
}

/* Called for a thread that returns, calls pthread_exit or is cancelled. */
static void end_thread(void *unused)
{
    (void)unused;
    struct thread *thread = this_thread();
    int kept = errno;
    pid_t tid = thread->tid;
    if (line_written || tid == 0 || !process.on || kernel_pid() != process.pid)
        return;
    int64_t metrics[METRICS], events[MAX_EVENTS];
    no_events(events);
    read_events(thread, events);
    if (tid != process.pid && now() - thread->start < process.thread_us) {
        __sync_fetch_and_add(&process.ended.brief, 1);
        count_brief_thread(metrics);
    } else {
        char line[THREAD_LINE];
        count_this_thread(thread, metrics);
        metrics[RDTSC_DURATION] = (int64_t)(cycles() - thread->cycles);
        write_thread(tid, thread->start, "end", line, sizeof line, metrics, events);
    }
    add_thread(&process.ended, metrics, events);
    if (tid == process.pid)
        first_ended = true;
    line_written = true;
    __sync_fetch_and_sub(&process.alive, 1);
    close_events(thread);
    leave_slot();
    errno = kept;
}

static void write_running_thread(pid_t tid, const char *how, char *line, size_t size, struct sums *sums)
{
    int64_t metrics[METRICS], events[MAX_EVENTS];
    struct thread *place = slot_of(tid), thread = { .start = MISSING };
    bool known = place != NULL;
    no_events(events);
    if (known) {
        thread = *place;
        read_events(place, events);
    }
    if (place == this_thread())
        count_this_thread(place, metrics);
    else
        count_other_thread(tid, &thread.io, metrics);
    /* it has ended in this very moment, and has written its line itself */
    if (metrics[TIME_ONCPU] == MISSING && metrics[STARTTIME] == MISSING)
        return;
    add_thread(sums, metrics, events);
    if (known)
        metrics[RDTSC_DURATION] = (int64_t)(cycles() - thread.cycles);
    else
        sums->foreign++;
    if (known && tid != process.pid && now() - thread.start < process.thread_us)
        sums->brief++;
    else
        write_thread(tid, thread.start, how, line, size, metrics, events);
}

struct entry {
    uint64_t inode, offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

/* The first thread stays in the kernel's list after its end. */
static bool has_line(pid_t tid) { return (tid == process.pid && first_ended) || (line_written && tid == kernel_tid()); }

/* The process ends or is replaced: its threads end with it, without a word. */
void write_running_threads(const char *how, char *line, size_t size, struct sums *sums)
{
    _Alignas(8) char entries[1024];
    int folder = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    long length;
    while (folder >= 0 && (length = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0) {
        struct entry *entry;
        for (long at = 0; at < length; at += entry->length) {
            int64_t tid;
            entry = (struct entry *)(void *)(entries + at);
            next_number(entry->name, &tid);
            if (tid > 0 && !has_line((pid_t)tid))
                write_running_thread((pid_t)tid, how, line, size, sums);
        }
    }
    close_file(folder);
}

/* What a new thread is to run. */
struct errand {
    union {
        void *(*posix)(void *);
        int (*c11)(void *);
    } function;
    void *argument;
};

static pthread_key_t key;

/* A value of the key makes the C library call end_thread, however the thread ends. */
static void watch_end(void) { real_functions()->pthread_setspecific(key, this_thread()); }

/* Looked up when the first thread is started: programs without threads have no need of libpthread. */
static bool ready(void)
{
    static int state; /* 0 nobody has looked yet, 1 ready, 2 cannot be done */
    if (state == 0) {
        const struct real *real = real_functions();
        bool there = real->pthread_key_create != NULL && real->pthread_setspecific != NULL;
        state = there && real->pthread_key_create(&key, end_thread) == 0 ? 1 : 2;
        /* whoever starts the first other thread is the first one */
        if (state == 1)
            watch_end();
    }
    return state == 1;
}

static struct errand take(void *given)
{
    struct errand errand = *(struct errand *)given;
    free(given);
    int kept = errno;
    begin_thread(kernel_tid());
    watch_end();
    errno = kept;
    return errand;
}

static void *run_posix(void *given)
{
    struct errand errand = take(given);
    return errand.function.posix(errand.argument);
}

static int run_c11(void *given)
{
    struct errand errand = take(given);
    return errand.function.c11(errand.argument);
}

/* The C library allocates memory for the new thread at this point, too. */
static struct errand *errand_for(void *argument)
{
    begin_recording();
    if (!process.on || kernel_pid() != process.pid || !ready())
        return NULL;
    struct errand *errand = malloc(sizeof *errand);
    if (errand != NULL)
        errand->argument = argument;
    return errand;
}

EXPORTED int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *),
                            void *argument)
{
    const struct real *real = real_functions();
    if (real->pthread_create == NULL)
        return ENOSYS;
    struct errand *errand = errand_for(argument);
    if (errand == NULL)
        return real->pthread_create(thread, attributes, function, argument);
    errand->function.posix = function;
    __sync_fetch_and_add(&process.threads, 1);
    int trouble = real->pthread_create(thread, attributes, run_posix, errand);
    if (trouble != 0) {
        __sync_fetch_and_sub(&process.threads, 1);
        free(errand);
    }
    return trouble;
}

/* Of <threads.h>, whose types old headers do not have. */
EXPORTED int thrd_create(pthread_t *thread, int (*function)(void *), void *argument)
{
    const struct real *real = real_functions();
    enum { THRD_ERROR = 2 };
    if (real->thrd_create == NULL)
        return THRD_ERROR;
    struct errand *errand = errand_for(argument);
    if (errand == NULL)
        return real->thrd_create(thread, function, argument);
    errand->function.c11 = function;
    __sync_fetch_and_add(&process.threads, 1);
    int trouble = real->thrd_create(thread, run_c11, errand);
    if (trouble != 0) {
        __sync_fetch_and_sub(&process.threads, 1);
        free(errand);
    }
    return trouble;
}

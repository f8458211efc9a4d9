/* A process image starts, is copied by fork, and ends. */
#include "record.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* musl has neither of them; a reference that must be met would keep every musl program from starting. */
extern int on_exit(void (*function)(int, void *), void *argument) __attribute__((weak));
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *library)
    __attribute__((weak));
extern void *__dso_handle;
extern char **environ;

struct process process;

/* Stacks may be small, of threads and of signal handlers: one buffer for all lines of a process, one to read into. */
static char line[LINE_BYTES], scratch[LINE_BYTES];
static int busy, ended;

/* Another thread that is at it ends or replaces the process in a moment: ours need not. */
static bool take_buffers(void) { return __sync_lock_test_and_set(&busy, 1) == 0; }
static void give_buffers(void) { __sync_lock_release(&busy); }

static void add_process(struct text *text, int64_t time)
{
    add_field(text, time);
    add_who(text, process.pid, process.space);
    add_field(text, process.start);
    add_parent(text, process.ppid, process.parent_space, process.space);
    add_field(text, syscall(SYS_getpgid, 0));
    add_field(text, syscall(SYS_getsid, 0));
    add_field(text, syscall(SYS_getuid));
}

static bool write_start(void)
{
    struct text text;
    begin_line(&text, line, sizeof line, "S5");
    add_process(&text, process.start);
    add_word(&text, process.forked ? "\tfork" : "\texec");
    add_word(&text, identity);
    return append(line, end_line(&text, line));
}

/* The kernel counts these for each thread alone. */
static void add_up(int64_t *metrics, int64_t *events, const struct sums *running, bool waited)
{
    for (int i = 0; waited && i < IO_COUNTERS; i++)
        metrics[RCHAR + i] = process.ended.io[i] + running->io[i];
    metrics[TIME_WAITING] = process.ended.waiting + running->waiting;
    metrics[TIMESLICES] = process.ended.timeslices + running->timeslices;
    metrics[DELAYACCT_BLKIO_TIME] = process.ended.blkio + running->blkio;
    for (int i = 0; i < MAX_EVENTS; i++) {
        bool counted = process.ended.counted[i] || running->counted[i];
        events[i] = counted ? process.ended.events[i] + running->events[i] : MISSING;
    }
}

static void write_end(const char *how, int code, int signal)
{
    int64_t metrics[METRICS], events[MAX_EVENTS], time = now(), passed = (int64_t)(cycles() - process.cycles);
    struct sums running = { 0 };
    struct text text;
    bool waited = count_process(metrics, scratch, sizeof scratch);
    metrics[RDTSC_DURATION] = passed;
    if (process.threads > 1 || metrics[NUM_THREADS] > 1) {
        write_running_threads(how, line, sizeof line, &running);
        add_up(metrics, events, &running, waited);
    } else {
        read_events(this_thread(), events);
    }
    begin_line(&text, line, sizeof line, "E5");
    add_process(&text, time);
    add_word(&text, identity);
    add_char(&text, '\t');
    add_word(&text, how);
    add_field(&text, code);
    add_field(&text, signal);
    add_field(&text, process.threads + running.foreign);
    add_field(&text, process.ended.brief + running.brief);
    add_metrics(&text, metrics);
    add_events(&text, events);
    add_limits(&text, scratch, sizeof scratch);
    append(line, end_line(&text, line));
}

/* A program that has locked itself in since it started might be killed for what we do. */
static bool locked_in(void) { return syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != process.seccomp; }

/* In a child of vfork the memory is its parent's, who goes on. */
static bool ours(void) { return process.on && kernel_pid() == process.pid && !locked_in(); }

/* The process ends now, whatever happens after this. */
void end_process(const char *how, int code, int signal)
{
    if (!ours() || __sync_lock_test_and_set(&ended, 1) != 0)
        return;
    int kept = errno;
    if (take_buffers()) {
        write_end(how, code, signal);
        give_buffers();
    }
    errno = kept;
}

/* A child that was only forked to execute something else has nothing to tell, unless it did some work before. */
static bool did_work(void)
{
    return !process.forked || process.threads > 1 || cpu_clock(CLOCK_PROCESS_CPUTIME_ID) > 10 * 1000 * 1000;
}

/* Another program is about to replace this one. If that fails, this one goes on, and a later line counts. */
void leave_image(void)
{
    if (!ours() || !did_work() || !take_buffers())
        return;
    write_end("exec", MISSING, MISSING);
    give_buffers();
}

static void begin(pid_t parent, uint64_t parent_space)
{
    struct rusage usage;
    process.pid = kernel_pid();
    process.ppid = parent;
    process.parent_space = parent_space;
    process.start = now();
    process.cycles = cycles();
    process.seccomp = (int)syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0);
    process.rss_before = syscall(SYS_getrusage, RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
    process.threads = 1;
    process.alive = 0;
    process.ended = (struct sums){ 0 };
    process.io = (struct own_io){ 0 };
    busy = ended = 0;
    begin_first_thread();
    make_identity(scratch, sizeof scratch);
}

/* Who is about to fork: a copy of this process that was made by a system call of its own has another id than we know. */
static pid_t forker;

static void begin_fork(void) { forker = kernel_pid(); }

/* Nobody has reported the copy that forked us: who waits for it would count what we use once more. */
static void write_copy(pid_t copy, uint64_t space)
{
    struct text text;
    begin_line(&text, line, sizeof line, "S5");
    add_field(&text, now());
    add_who(&text, copy, space);
    add_field(&text, now());
    add_parent(&text, process.pid, process.space, space);
    add_field(&text, syscall(SYS_getpgid, copy));
    add_field(&text, syscall(SYS_getsid, copy));
    add_field(&text, syscall(SYS_getuid));
    add_word(&text, "\tcopy");
    add_word(&text, identity);
    append(line, end_line(&text, line));
}

static void begin_in_child(void)
{
    int kept = errno;
    if (process.on) {
        /* a parent in another namespace has no id in ours */
        bool outside = syscall(SYS_getppid) == 0, copied = forker != process.pid && !outside;
        pid_t parent = process.pid;
        uint64_t parent_space = process.space, space = outside || copied ? read_namespace() : process.space;
        if (copied) {
            write_copy(forker, space);
            parent = forker;
            parent_space = space;
        }
        process.forked = true;
        process.space = space;
        forget_system();
        /* it may have ended already: then the kernel names another one */
        begin(parent, parent_space);
        write_start();
    }
    errno = kept;
}

/*
 * What the program printed last is written after everything that exit calls, us included: it would be missing in our
 * numbers. As long as no other thread can hold a lock of stdio it may as well be written now.
 */
static void flush(void)
{
    if (ours() && process.threads == 1)
        fflush(NULL);
}

/* Registered before the loader's own, it is called after every destructor. */
static void at_exit(int status, void *unused)
{
    (void)unused;
    flush();
    end_process("exit", status & 255, 0);
}

/* Without on_exit nobody reports the exit code. */
__attribute__((destructor)) static void at_unload(void)
{
    if (on_exit != NULL)
        return;
    flush();
    end_process("exit", MISSING, 0);
}

static void watch_forks(void)
{
    if (__register_atfork != NULL) {
        __register_atfork(begin_fork, NULL, begin_in_child, &__dso_handle);
        return;
    }
    const struct real *real = real_functions();
    if (real->pthread_atfork != NULL)
        real->pthread_atfork(begin_fork, NULL, begin_in_child);
}

static long setting(const char *name, long otherwise)
{
    const char *value = getenv(name);
    int64_t number = MISSING;
    if (value != NULL)
        next_number(value, &number);
    return number == MISSING ? otherwise : (long)number;
}

/* Libraries may start threads before our turn comes: then we begin with the first of them. */
void begin_recording(void)
{
    static bool begun;
    if (begun)
        return;
    begun = true;
    remember_library();
    bool wanted = use_files(getenv("TACHO_RECORD")) && !turned_off(environ);
    if (wanted && is_own_script(scratch, sizeof scratch)) {
        /* its parent may have reported it */
        take_back(kernel_pid(), "own");
        wanted = false;
    }
    bool signals = setting("TACHO_RECORD_SIGNALS", 0) == 1;
    if (wanted) {
        process.thread_us = setting("TACHO_RECORD_THREAD_MS", 10) * 1000;
        choose_events(getenv("TACHO_RECORD_EVENTS"));
        remember_environment();
    }
    restore_environment();
    spare_container();
    if (!wanted)
        return;
    process.space = read_namespace();
    begin((pid_t)syscall(SYS_getppid), process.space);
    /* without the folder nobody reads what is written: the recording is over, or does not reach into this container */
    if (!write_start() && errno == ENOENT)
        return;
    process.on = true;
    if (on_exit != NULL)
        on_exit(at_exit, NULL);
    watch_forks();
    if (signals)
        catch_signals();
}

__attribute__((constructor)) static void at_start(int count, char **arguments)
{
    int kept = errno;
    remember_arguments(count, arguments);
    begin_recording();
    errno = kept;
}

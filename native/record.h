/*
 * libtacho-record.so, preloaded into the processes of a job, appends a line to a file of this node when a process image
 * starts, when it ends, and when one of its threads ends. docs/processes-recording.md describes the lines.
 *
 * It is a guest in other people's programs. Hence: no memory from malloc in its records, no stdio, no lock that could
 * make them wait, no descriptor left open (but those of perf events, which are checked before use), errno left as it
 * was. System calls are made directly: they are no cancellation points then, and nobody's wrapper counts them as the
 * program's own. Nothing is imported that glibc 2.17 does not have; what musl does not have is a weak reference.
 *
 *   record-text.c      a line is put together
 *   record-file.c      small files are read, a line is appended
 *   record-ahead.c     a text that is too long for a line goes ahead of it
 *   record-counters.c  what the kernel counted for a process or a thread
 *   record-events.c    perf events
 *   record-rank.c      which rank of a parallel program, of how many
 *   record-identity.c  which program, with which arguments, where
 *   record-namespace.c the namespace that a process id holds in
 *   record-process.c   start, fork and end of a process
 *   record-thread.c    start and end of threads
 *   record-thread-slots.c  what is counted of each thread
 *   record-end.c       the ways of ending that pass by the usual one: _exit, daemon…
 *   record-exec.c      a program takes the place of another, or is started in a child
 *   record-environment.c  the environment of other programs keeps the library
 *   record-wait.c      a child has ended
 *   record-system.c    the shells of system and popen
 *   record-reports.c   what a process reports of others
 *   record-signal.c    ends by a signal, if asked for
 *   record-next.c      the function that a wrapper stands in for
 */
#ifndef TACHO_RECORD_H
#define TACHO_RECORD_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

#define STEP_VARIABLES "SLURM_STEP_ID", "SLURM_STEPID"
#define TAG_VARIABLES "TACHO_TAGS", "PAPIEX_TAGS"

/* A line, its newlines included, fits into one page. */
enum { LINE_BYTES = 4096, IDENTITY_BYTES = 2600, MAX_EVENTS = 8 };

/* In the order of the fields of a line. A value that could not be read is MISSING: an empty field. */
enum metric {
    USERTIME, SYSTEMTIME, CUTIME, CSTIME, RSSMAX, MINFLT, MAJFLT, INBLOCK, OUTBLOCK, VOL_CTXSW, INVOL_CTXSW,
    RCHAR, WCHAR, SYSCR, SYSCW, READ_BYTES, WRITE_BYTES, CANCELLED_WRITE_BYTES,
    TIME_ONCPU, TIME_WAITING, TIMESLICES, DELAYACCT_BLKIO_TIME, GUEST_TIME, STARTTIME, PROCESSOR, NUM_THREADS,
    RDTSC_DURATION, CPU_CLOCK, METRICS
};
enum { MISSING = -1, IO_COUNTERS = CANCELLED_WRITE_BYTES - RCHAR + 1 };

struct event {
    int descriptor;
    uint64_t id; /* tells whether the descriptor is still ours */
};

/* What the kernel counts for each thread and does not add up for the process. */
struct sums {
    int64_t waiting, timeslices, blkio, io[IO_COUNTERS], events[MAX_EVENTS];
    bool counted[MAX_EVENTS]; /* was there a value of this event at all */
    unsigned brief, foreign;  /* threads without a line; threads that were not started through us */
};

/* What we read and wrote ourselves, which the kernel counts as the program's. */
struct own_io {
    int64_t rchar, wchar, syscr, syscw;
};

/* What is known of a thread of this process. */
struct thread {
    pid_t tid; /* 0: nobody has this slot */
    int64_t start;
    uint64_t cycles;
    struct own_io io;
    struct event events[MAX_EVENTS];
};

struct process {
    bool on;            /* lines are written */
    bool forked;        /* a copy of its parent that has not executed another program */
    pid_t pid;          /* that this memory belongs to: a child of vfork borrows it */
    uint64_t space;     /* the PID namespace that it holds in */
    pid_t ppid;         /* at the start: orphans keep it */
    uint64_t parent_space;
    int64_t start;
    uint64_t cycles;
    int seccomp;        /* how the kernel restricted system calls at the start */
    long rss_before;    /* peak memory of whatever had this pid before this image, kB */
    int64_t thread_us;  /* threads that live shorter are only counted */
    unsigned threads;   /* that there were in all */
    unsigned alive;     /* of them, those that run */
    struct sums ended;  /* of the threads that have ended */
    struct own_io io;
};

extern struct process process;

/* record-text.c */
struct text {
    char *at, *end;
};
void add_char(struct text *text, char c);
void add_word(struct text *text, const char *word);
void add_unsigned(struct text *text, uint64_t value);
void add_field(struct text *text, int64_t value);
size_t add_escaped(struct text *text, const char *bytes, size_t length);
void begin_line(struct text *text, char *buffer, size_t size, const char *kind);
size_t end_line(struct text *text, char *buffer);
void add_metrics(struct text *text, const int64_t *metrics);
const char *next_number(const char *at, int64_t *value);

/* record-file.c */
bool use_files(const char *list);
long read_some(int descriptor, void *buffer, size_t size);
int read_file(const char *path, char *buffer, size_t size);
void close_file(int descriptor);
bool append(const char *bytes, size_t length);

/* record-ahead.c */
struct ahead {
    pid_t pid;
    uint64_t space;
    int64_t start;
    char *line; /* to put a piece together in */
    size_t size;
    const char *field;
    struct text text;
};
void begin_ahead(struct ahead *to, const char *field);
void add_ahead(struct ahead *to, const char *bytes, size_t length);
void end_ahead(struct ahead *to);

/* record-counters.c */
bool count_process(int64_t *metrics, char *scratch, size_t size);
void add_limits(struct text *text, char *scratch, size_t size);
void count_this_thread(const struct thread *thread, int64_t *metrics);
void count_other_thread(pid_t tid, const struct own_io *own, int64_t *metrics);
void count_brief_thread(int64_t *metrics);

/* record-events.c */
void choose_events(const char *names);
bool any_events(void);
void open_events(struct thread *thread);
void close_events(struct thread *thread);
void read_events(struct thread *thread, int64_t *values);
void add_events(struct text *text, const int64_t *values);

/* record-rank.c */
enum { RANK_BYTES = 96 };
const char *variable(char *const *environment, const char *name);
const char *rank_of(char *const *environment, char *made);

/* record-identity.c */
extern char identity[];
void remember_arguments(int count, char **arguments);
void make_identity(char *scratch, size_t size);
bool is_own_script(char *scratch, size_t size);

/* record-namespace.c */
uint64_t read_namespace(void);
uint64_t caller_namespace(void);
void add_who(struct text *text, pid_t pid, uint64_t space);
void add_parent(struct text *text, pid_t parent, uint64_t space, uint64_t own);

/* record-process.c */
void begin_recording(void);
void end_process(const char *how, int code, int signal);
void leave_image(void);

/* record-environment.c */
struct added {
    char preload[1024];
    char what[40];
    bool hidden; /* the library cannot be seen from here */
};
void remember_library(void);
void remember_environment(void);
void restore_environment(void);
void spare_container(void);
bool turned_off(char *const *environment);
size_t entries_needed(char *const *environment, struct added *added);
char **complete_environment(char *const *environment, char **array, struct added *added);

/* record-system.c */
void forget_system(void);

/* record-reports.c */
bool may_report(void);
bool report_exec(const char *path, char *const *arguments, char *const *environment);
void report_spawn(int64_t time, pid_t child, const char *path, char *const *arguments, char *const *environment);
void report_end(pid_t child, int status, const struct rusage *used);
void take_back(pid_t pid, const char *why);

/* record-thread-slots.c */
struct thread *this_thread(void);
struct thread *take_slot(pid_t tid);
void leave_slot(void);
struct thread *slot_of(pid_t tid);
void clear_slots(void);

/* record-thread.c */
void begin_first_thread(void);
void write_running_threads(const char *how, char *buffer, size_t size, struct sums *sums);

/* record-signal.c */
void catch_signals(void);

/* record-next.c */
struct real {
    int (*pthread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    int (*pthread_key_create)(pthread_key_t *, void (*)(void *));
    int (*pthread_setspecific)(pthread_key_t, const void *);
    int (*pthread_atfork)(void (*)(void), void (*)(void), void (*)(void));
    int (*thrd_create)(pthread_t *, int (*)(void *), void *);
    int (*execve)(const char *, char *const[], char *const[]);
    int (*execvpe)(const char *, char *const[], char *const[]);
    int (*fexecve)(int, char *const[], char *const[]);
    int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                       char *const[], char *const[]);
    int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                        char *const[], char *const[]);
    void (*quick_exit)(int);
    pid_t (*wait4)(pid_t, int *, int, struct rusage *);
    pid_t (*waitpid)(pid_t, int *, int);
    int (*waitid)(idtype_t, id_t, siginfo_t *, int);
    int (*system)(const char *);
    FILE *(*popen)(const char *, const char *);
    int (*pclose)(FILE *);
};
const struct real *real_functions(void);

static inline int64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

static inline int64_t cpu_clock(clockid_t clock)
{
    struct timespec t;
    return clock_gettime(clock, &t) == 0 ? t.tv_sec * 1000000000LL + t.tv_nsec : MISSING;
}

/* Not from the C library, which may remember those of the parent. */
static inline pid_t kernel_pid(void) { return (pid_t)syscall(SYS_getpid); }
static inline pid_t kernel_tid(void) { return (pid_t)syscall(SYS_gettid); }

static inline uint64_t cycles(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return 0;
#endif
}

#endif

/* perf events, by the names of TACHO_RECORD_EVENTS. Where one is not to be had, its value is missing. */
#include "record.h"
#include <fcntl.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>

struct known {
    const char *name;  /* the kernel's, and the column's */
    const char *alias; /* the one of the program perf */
    uint32_t type;
    uint64_t config;
    bool in_kernel; /* happens there: it is counted where the machine allows to look into the kernel, else missing */
};

#define HARDWARE(name, alias) { #name, alias, PERF_TYPE_HARDWARE, name, false }
#define SOFTWARE(name, alias) { #name, alias, PERF_TYPE_SOFTWARE, name, false }
#define SCHEDULER(name, alias) { #name, alias, PERF_TYPE_SOFTWARE, name, true }
static const struct known known[] = {
    HARDWARE(PERF_COUNT_HW_CPU_CYCLES, "cycles"),
    HARDWARE(PERF_COUNT_HW_INSTRUCTIONS, "instructions"),
    HARDWARE(PERF_COUNT_HW_CACHE_REFERENCES, "cache-references"),
    HARDWARE(PERF_COUNT_HW_CACHE_MISSES, "cache-misses"),
    HARDWARE(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches"),
    HARDWARE(PERF_COUNT_HW_BRANCH_MISSES, "branch-misses"),
    HARDWARE(PERF_COUNT_HW_BUS_CYCLES, "bus-cycles"),
    HARDWARE(PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "stalled-cycles-frontend"),
    HARDWARE(PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "stalled-cycles-backend"),
    HARDWARE(PERF_COUNT_HW_REF_CPU_CYCLES, "ref-cycles"),
    SOFTWARE(PERF_COUNT_SW_TASK_CLOCK, "task-clock"),
    SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS, "page-faults"),
    SCHEDULER(PERF_COUNT_SW_CONTEXT_SWITCHES, "context-switches"),
    SCHEDULER(PERF_COUNT_SW_CPU_MIGRATIONS, "cpu-migrations"),
    SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS_MIN, "minor-faults"),
    SOFTWARE(PERF_COUNT_SW_PAGE_FAULTS_MAJ, "major-faults"),
    SOFTWARE(PERF_COUNT_SW_ALIGNMENT_FAULTS, "alignment-faults"),
    SOFTWARE(PERF_COUNT_SW_EMULATION_FAULTS, "emulation-faults"),
};
enum { KNOWN = sizeof known / sizeof *known };

static const struct known *chosen[MAX_EVENTS];
static int choices;
/* Our descriptors lie in this range, away from those that programs number themselves. */
static int lowest, highest;

static const struct known *event_named(const char *name, size_t length)
{
    for (int i = 0; i < KNOWN; i++) {
        const char *names[] = { known[i].name, known[i].alias };
        for (int j = 0; j < 2; j++)
            if (strlen(names[j]) == length && memcmp(names[j], name, length) == 0)
                return &known[i];
    }
    return NULL;
}

void choose_events(const char *names)
{
    struct rlimit limit;
    if (names == NULL || syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) != 0)
        return;
    uint64_t descriptors = limit.rlim_cur < 4096 ? limit.rlim_cur : 4096;
    lowest = (int)(descriptors / 2);
    highest = (int)(descriptors - descriptors / 4);
    while (*names != '\0' && choices < MAX_EVENTS) {
        size_t length = strcspn(names, ",; ");
        const struct known *event = event_named(names, length);
        if (event != NULL)
            chosen[choices++] = event;
        names += length + (names[length] != '\0');
    }
}

bool any_events(void) { return choices > 0; }

static int open_event(const struct known *event)
{
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = PERF_ATTR_SIZE_VER0;
    attributes.type = event->type;
    attributes.config = event->config;
    attributes.exclude_kernel = !event->in_kernel;
    attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    int descriptor = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor < 0)
        return -1;
    int moved = (int)syscall(SYS_fcntl, descriptor, F_DUPFD_CLOEXEC, lowest);
    syscall(SYS_close, descriptor);
    if (moved < highest)
        return moved;
    /* the program may need the rest itself */
    syscall(SYS_close, moved);
    return -1;
}

void open_events(struct thread *thread)
{
    for (int i = 0; i < choices; i++) {
        struct event *event = &thread->events[i];
        event->descriptor = open_event(chosen[i]);
        if (event->descriptor >= 0 && syscall(SYS_ioctl, event->descriptor, PERF_EVENT_IOC_ID, &event->id) != 0) {
            syscall(SYS_close, event->descriptor);
            event->descriptor = -1;
        }
    }
}

/* Programs close descriptors that they do not know, and get the same numbers again for their own files. */
static bool ours(const struct event *event)
{
    uint64_t id = 0;
    return event->descriptor >= 0 && syscall(SYS_ioctl, event->descriptor, PERF_EVENT_IOC_ID, &id) == 0 &&
           id == event->id;
}

void close_events(struct thread *thread)
{
    for (int i = 0; i < choices; i++) {
        if (ours(&thread->events[i]))
            syscall(SYS_close, thread->events[i].descriptor);
        thread->events[i].descriptor = -1;
    }
}

/* When more events are wanted than the processor can count at once, each is counted a part of the time. */
static int64_t scaled(uint64_t value, uint64_t enabled, uint64_t running)
{
    if (running == 0)
        return enabled == 0 ? (int64_t)value : MISSING;
    return running < enabled ? (int64_t)((double)value * (double)enabled / (double)running) : (int64_t)value;
}

void read_events(struct thread *thread, int64_t *values)
{
    for (int i = 0; i < choices; i++) {
        uint64_t read[3];
        values[i] = MISSING;
        if (ours(&thread->events[i]) && read_some(thread->events[i].descriptor, read, sizeof read) == sizeof read)
            values[i] = scaled(read[0], read[1], read[2]);
    }
}

void add_events(struct text *text, const int64_t *values)
{
    for (int i = 0; i < choices; i++) {
        if (values[i] == MISSING)
            continue;
        add_char(text, '\t');
        add_word(text, chosen[i]->name);
        add_char(text, '=');
        add_unsigned(text, (uint64_t)values[i]);
    }
}

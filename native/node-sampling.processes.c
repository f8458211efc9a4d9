/*
 * Processes of a job that only did more of the same, in C: of each that ran since the last tick its stat and io are read and
 * its row is written. A process that is not as JavaScript knew it (another name, a second thread, an end, memory that leapt,
 * a status that is due) is JavaScript's, and so are all others of that tick.
 * src/sources/process/schedules.ts has what both sides share.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node-sampling.h"

enum { TEXT_BYTES = 192, STAT_BYTES = 1024, BYTES = 1 << 18 };
/* What is known of each process. */
enum fact { START, NAME, STATUS_DUE, STATUS_RSS, STATE, FACTS };
enum readable { STAT, IO, READABLE };
/* Where among its numbers each one goes, as JavaScript gives them. */
enum place {
    PPID,
    THREADS,
    USER_MS,
    SYSTEM_MS,
    CHILDREN_USER_MS,
    CHILDREN_SYSTEM_MS,
    RSS,
    VIRTUAL,
    MINOR_FAULTS,
    MAJOR_FAULTS,
    CPU,
    WAIT_MS,
    RSS_PEAK,
    FIRST_IO,
    PLACES = FIRST_IO + 6
};
/* Of /proc/PID/stat, as proc(5) numbers them; the state is the third. */
enum field {
    STAT_PARENT = 4,
    STAT_MINOR = 10,
    STAT_MAJOR = 12,
    STAT_USER = 14,
    STAT_SYSTEM = 15,
    STAT_CHILDREN_USER = 16,
    STAT_CHILDREN_SYSTEM = 17,
    STAT_THREADS = 20,
    STAT_START = 22,
    STAT_VIRTUAL = 23,
    STAT_RESIDENT = 24,
    STAT_CPU = 39,
    STAT_FIELDS
};
/* Linux tells user space about 100 ticks a second. */
static const double TICK_MS = 10;
/* As LEAP_BYTES and LEAP_PART of src/sources/process/process.ts. */
static const double LEAP_BYTES = 1 << 20, LEAP_PART = 1.0 / 32;

static struct {
    struct shared files, counts, results, readable, facts, numbers, texts;
    /* the file whose last number is the newest process id of this node; below 0: nobody is looked at */
    int newest;
    int places[PLACES];
    uint8_t *decimals;
    size_t width;
    int out;
    /* What was read at this tick, and the states; taken over when all of it is written. */
    double *found;
    uint8_t *states;
    size_t room;
} processes = { .newest = -1, .out = -1 };

static char text[BYTES];

void set_process_output(int out) { processes.out = out; }

bool has_processes(void) { return processes.newest >= 0; }

bool was_process_started(void)
{
    char line[128];
    static char last[32];
    if (!has_processes())
        return false;
    ssize_t length = read_at(processes.newest, line, sizeof line - 1, 0);
    if (length <= 0)
        return true;
    line[length] = 0;
    const char *newest = strrchr(line, ' ');
    bool moved = newest == NULL || strncmp(newest, last, sizeof last - 1) != 0;
    if (newest != NULL)
        strncpy(last, newest, sizeof last - 1);
    return moved;
}

struct stat_text {
    int32_t name;
    char state;
    double fields[STAT_FIELDS];
};

/* False: the file was cut off, or is no stat. */
static bool parse_stat(const char *bytes, size_t length, struct stat_text *stat)
{
    /* a name may hold anything, brackets too; what follows it may not */
    const char *end = bytes + length, *open = memchr(bytes, '(', length), *close = end - 1;
    while (close > bytes && *close != ')')
        close--;
    if (open == NULL || close <= open || end - close < 5)
        return false;
    uint32_t hash = 0;
    for (const char *p = open + 1; p < close; p++)
        hash = hash * 31 + (unsigned char)*p;
    stat->name = (int32_t)hash;
    stat->state = close[2];
    const char *p = close + 4;
    for (int field = STAT_PARENT; field < STAT_FIELDS; field++) {
        double value = 0;
        for (; p < end && *p != ' ' && *p != '\n'; p++)
            if (*p >= '0' && *p <= '9')
                value = value * 10 + (*p - '0');
        stat->fields[field] = value;
        /* a number that touches the end may have lost digits */
        if (p == end)
            return false;
        p++;
    }
    return true;
}

/* What the process has done, into `found`; false: JavaScript has to look. */
static bool read_process(size_t i, double now, double page, double *found)
{
    char bytes[STAT_BYTES];
    struct stat_text stat;
    const int32_t *files = (const int32_t *)processes.readable.data + READABLE * i;
    const double *known = (const double *)processes.facts.data + FACTS * i;
    const int *at = processes.places;
    if (files[STAT] < 0 || files[IO] < 0 || now >= known[STATUS_DUE])
        return false;
    ssize_t length = read_at(files[STAT], bytes, sizeof bytes, 0);
    if (length <= 0 || (size_t)length == sizeof bytes || !parse_stat(bytes, (size_t)length, &stat))
        return false;
    const double *fields = stat.fields;
    double rss = fields[STAT_RESIDENT] * page;
    if (stat.name != (int32_t)known[NAME] || fields[STAT_START] != known[START] || fields[STAT_THREADS] != 1 ||
        fields[STAT_VIRTUAL] == 0 || stat.state == 'Z' || stat.state == 'X' ||
        fabs(rss - known[STATUS_RSS]) > fmax(LEAP_BYTES, rss * LEAP_PART))
        return false;
    found[at[PPID]] = fields[STAT_PARENT];
    found[at[THREADS]] = fields[STAT_THREADS];
    found[at[USER_MS]] = fields[STAT_USER] * TICK_MS;
    found[at[SYSTEM_MS]] = fields[STAT_SYSTEM] * TICK_MS;
    found[at[CHILDREN_USER_MS]] = fields[STAT_CHILDREN_USER] * TICK_MS;
    found[at[CHILDREN_SYSTEM_MS]] = fields[STAT_CHILDREN_SYSTEM] * TICK_MS;
    found[at[RSS]] = rss;
    found[at[VIRTUAL]] = fields[STAT_VIRTUAL];
    found[at[MINOR_FAULTS]] = fields[STAT_MINOR];
    found[at[MAJOR_FAULTS]] = fields[STAT_MAJOR];
    found[at[CPU]] = fields[STAT_CPU];
    found[at[WAIT_MS]] = floor(((const double *)processes.counts.data)[3 * i + 1] / 1e6);
    if (!(found[at[RSS_PEAK]] >= rss))
        found[at[RSS_PEAK]] = rss;
    processes.states[i] = (uint8_t)stat.state;

    length = read_at(files[IO], bytes, sizeof bytes, 0);
    if (length <= 0 || (size_t)length == sizeof bytes)
        return false;
    const char *p = bytes, *end = bytes + length;
    for (int part = FIRST_IO; part < PLACES; part++)
        found[at[part]] = next_number(&p, end);
    return p < end;
}

static bool has_changed(size_t i, const double *found)
{
    size_t size = processes.width * sizeof *found;
    const double *facts = (const double *)processes.facts.data + FACTS * i;
    const double *numbers = (const double *)processes.numbers.data + processes.width * i;
    return processes.states[i] != (uint8_t)facts[STATE] || memcmp(found, numbers, size) != 0;
}

/* The row of one process behind `to`; NULL: it cannot be written here. */
static char *put_row(char *to, size_t i, double time, const double *found)
{
    const char *words = (const char *)processes.texts.data + TEXT_BYTES * i;
    size_t length = strnlen(words, TEXT_BYTES);
    if ((size_t)(text + sizeof text - to) < length + (processes.width + 2) * NUMBER_BYTES)
        return NULL;
    to = put_whole(to, (uint64_t)time);
    memcpy(to, words, length);
    to += length;
    *to++ = (char)processes.states[i];
    for (size_t n = 0; n < processes.width; n++) {
        *to++ = ',';
        to = put_number(to, found[n], processes.decimals[n]);
        if (to == NULL)
            return NULL;
    }
    /* the CPUs that it may run on are said by JavaScript */
    *to++ = ',';
    *to++ = '\n';
    return to;
}

bool sample_processes(double time, double page, double *written, double *rows)
{
    size_t count = processes.files.length, width = processes.width;
    const int32_t *files = processes.files.data;
    uint8_t *results = processes.results.data;
    double *numbers = processes.numbers.data;
    char *to = text;
    *rows = *written = 0;
    size_t changed = schedules_that_changed(files, count, processes.counts.data, results);
    if (changed == 0)
        return true;
    if (processes.out < 0 || processes.readable.length < READABLE * count || processes.room < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        double *found = processes.found + width * i;
        if (files[i] < 0 || results[i] == 0)
            continue;
        memcpy(found, numbers + width * i, width * sizeof *found);
        if (results[i] != 1 || !read_process(i, time, page, found))
            return false;
        if (!has_changed(i, found))
            continue;
        to = put_row(to, i, time, found);
        if (to == NULL)
            return false;
        (*rows)++;
    }
    if (to > text && !append_whole(processes.out, text, (size_t)(to - text)))
        return false;
    *written = (double)(to - text);
    for (size_t i = 0; i < count; i++) {
        if (files[i] < 0 || results[i] == 0)
            continue;
        memcpy(numbers + width * i, processes.found + width * i, width * sizeof *numbers);
        ((double *)processes.facts.data)[FACTS * i + STATE] = processes.states[i];
        results[i] = 0;
    }
    return true;
}

/* setProcesses(newest, files, counts, results): whose schedstat is looked at; no arrays: nobody's. */
static napi_value set_processes(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    processes.newest = whole(&call, 0);
    share(&call, 1, &processes.files);
    share(&call, 2, &processes.counts);
    share(&call, 3, &processes.results);
    size_t count = processes.files.length;
    bool fits = processes.counts.length >= 3 * count && processes.results.length >= count;
    processes.width = 0;
    processes.room = 0;
    return number_of(env, call.failed || !fits ? -EINVAL : 0);
}

/* setProcessRows(readable, facts, numbers, texts, places, decimals): how those that ran are read and written. */
static napi_value set_process_rows(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    size_t count = processes.files.length, place_count = 0, width = 0;
    share(&call, 0, &processes.readable);
    share(&call, 1, &processes.facts);
    share(&call, 2, &processes.numbers);
    share(&call, 3, &processes.texts);
    const int32_t *places = array(&call, 4, &place_count);
    const uint8_t *decimals = array(&call, 5, &width);
    if (call.failed || place_count != PLACES || processes.readable.length < READABLE * count ||
        processes.facts.length < FACTS * count || processes.numbers.length < width * count ||
        processes.texts.length < TEXT_BYTES * count)
        return number_of(env, -EINVAL);
    for (int i = 0; i < PLACES; i++) {
        if (places[i] < 0 || (size_t)places[i] >= width)
            return number_of(env, -EINVAL);
        processes.places[i] = places[i];
    }
    for (size_t i = 0; i < width; i++)
        if (decimals[i] > 9)
            return number_of(env, -EINVAL);
    free(processes.decimals);
    free(processes.found);
    free(processes.states);
    processes.decimals = malloc(width);
    processes.found = calloc(width * count, sizeof *processes.found);
    processes.states = calloc(count, 1);
    if (processes.decimals == NULL || processes.found == NULL || processes.states == NULL)
        return number_of(env, -ENOMEM);
    memcpy(processes.decimals, decimals, width);
    processes.width = width;
    processes.room = count;
    return number_of(env, 0);
}

void add_processes(napi_env env, napi_value exports)
{
    add(env, exports, "setProcesses", set_processes);
    add(env, exports, "setProcessRows", set_process_rows);
}

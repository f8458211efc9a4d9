/*
 * Processes of a job that only did more of the same, in C: of each that ran since the last tick its stat and io are read and
 * its row is written, with its status now and then. A process that is not as JavaScript knew it (another name, user or CPUs,
 * a second thread, an end, a large one whose memory leapt) is JavaScript's, and so are all others of that tick.
 * src/sources/process/schedules.ts has what both sides share.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node-sampling.h"

enum { TEXT_BYTES = 192, PROC_BYTES = 8192, BYTES = 1 << 18 };
/* What is known of each process. */
enum fact { START, NAME, STATUS_DUE, STATUS_RSS, STATE, ALLOWED, FACTS };
/* What src/sources/process/process.ts goes by, too. */
enum limit { LEAP_BYTES, LEAP_PART, LARGE_BYTES, STATUS_US, LIMITS };
enum readable { STAT, IO, STATUS, READABLE };
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
    FIRST_STATUS = FIRST_IO + 6,
    PLACES = FIRST_STATUS + 8
};
/* Of /proc/PID/status, in the order of those places. Memory is in kB. */
static const struct {
    const char *word;
    double factor;
} STATUS_LINES[PLACES - FIRST_STATUS] = {
    { "Uid:", 1 },
    { "VmHWM:", 1024 },
    { "RssAnon:", 1024 },
    { "RssFile:", 1024 },
    { "RssShmem:", 1024 },
    { "VmSwap:", 1024 },
    { "voluntary_ctxt_switches:", 1 },
    { "nonvoluntary_ctxt_switches:", 1 },
};
static const char ALLOWED_LINE[] = "Cpus_allowed_list:";
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

static struct {
    struct shared files, counts, results, readable, facts, numbers, texts;
    /* the file whose last number is the newest process id of this node; below 0: nobody is looked at */
    int newest;
    int places[PLACES];
    double limits[LIMITS];
    uint8_t *decimals;
    size_t width;
    int out;
    /* What was read at this tick, and the states; taken over when all of it is written. */
    double *found;
    uint8_t *states, *has_status;
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

static int32_t hash_of(const char *from, const char *to)
{
    uint32_t hash = 0;
    for (; from < to; from++)
        hash = hash * 31 + (unsigned char)*from;
    return (int32_t)hash;
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
    stat->name = hash_of(open + 1, close);
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

/* The status into `found`; false: the user or the CPUs are others now, or the file was cut off. */
static bool read_status(int file, const double *known, double *found)
{
    char bytes[PROC_BYTES];
    const int *at = processes.places + FIRST_STATUS;
    ssize_t length = read_at(file, bytes, sizeof bytes, 0);
    if (length <= 0 || (size_t)length == sizeof bytes)
        return false;
    const char *end = bytes + length, *stop;
    double user = found[at[0]];
    int32_t allowed = 0;
    for (const char *line = bytes; line < end; line = stop + 1) {
        stop = memchr(line, '\n', (size_t)(end - line));
        if (stop == NULL)
            return false;
        if (strncmp(line, ALLOWED_LINE, sizeof ALLOWED_LINE - 1) == 0) {
            allowed = hash_of(line + sizeof ALLOWED_LINE - 1, stop);
            continue;
        }
        for (int i = 0; i < PLACES - FIRST_STATUS; i++) {
            size_t size = strlen(STATUS_LINES[i].word);
            if (strncmp(line, STATUS_LINES[i].word, size) != 0)
                continue;
            const char *p = line + size;
            found[at[i]] = next_number(&p, stop) * STATUS_LINES[i].factor;
            break;
        }
    }
    return found[at[0]] == user && allowed == (int32_t)known[ALLOWED];
}

/* What the process has done, into `found`; false: JavaScript has to look. */
static bool read_process(size_t i, double now, double page, double *found)
{
    char bytes[PROC_BYTES];
    struct stat_text stat;
    const int32_t *files = (const int32_t *)processes.readable.data + READABLE * i;
    const double *known = (const double *)processes.facts.data + FACTS * i;
    const int *at = processes.places;
    const double *limits = processes.limits;
    if (files[STAT] < 0 || files[IO] < 0 || files[STATUS] < 0)
        return false;
    ssize_t length = read_at(files[STAT], bytes, sizeof bytes, 0);
    if (length <= 0 || (size_t)length == sizeof bytes || !parse_stat(bytes, (size_t)length, &stat))
        return false;
    const double *fields = stat.fields;
    double rss = fields[STAT_RESIDENT] * page;
    if (stat.name != (int32_t)known[NAME] || fields[STAT_START] != known[START] || fields[STAT_THREADS] != 1 ||
        fields[STAT_VIRTUAL] == 0 || stat.state == 'Z' || stat.state == 'X')
        return false;
    bool leapt = fabs(rss - known[STATUS_RSS]) > fmax(limits[LEAP_BYTES], rss * limits[LEAP_PART]);
    /* what large ones share may have to be read now */
    if (leapt && fmax(rss, known[STATUS_RSS]) >= limits[LARGE_BYTES])
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
    processes.states[i] = (uint8_t)stat.state;

    length = read_at(files[IO], bytes, sizeof bytes, 0);
    if (length <= 0 || (size_t)length == sizeof bytes)
        return false;
    const char *p = bytes, *end = bytes + length;
    for (int part = FIRST_IO; part < FIRST_STATUS; part++)
        found[at[part]] = next_number(&p, end);
    if (p == end)
        return false;

    processes.has_status[i] = leapt || now >= known[STATUS_DUE] || known[STATUS_DUE] - now > limits[STATUS_US];
    if (processes.has_status[i] && !read_status(files[STATUS], known, found))
        return false;
    if (!(found[at[RSS_PEAK]] >= rss))
        found[at[RSS_PEAK]] = rss;
    return true;
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
        if (files[i] < 0 || results[i] == SCHEDULE_IDLE)
            continue;
        memcpy(found, numbers + width * i, width * sizeof *found);
        if (results[i] != SCHEDULE_RAN || !read_process(i, time, page, found))
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
        if (files[i] < 0 || results[i] == SCHEDULE_IDLE)
            continue;
        memcpy(numbers + width * i, processes.found + width * i, width * sizeof *numbers);
        double *known = (double *)processes.facts.data + FACTS * i;
        known[STATE] = processes.states[i];
        if (processes.has_status[i]) {
            known[STATUS_DUE] = time + processes.limits[STATUS_US];
            known[STATUS_RSS] = numbers[width * i + (size_t)processes.places[RSS]];
        }
        results[i] = SCHEDULE_DONE;
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

/* setProcessRows(readable, facts, numbers, texts, places, decimals, limits): how those that ran are read and written. */
static napi_value set_process_rows(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    size_t count = processes.files.length, place_count = 0, width = 0, limit_count = 0;
    share(&call, 0, &processes.readable);
    share(&call, 1, &processes.facts);
    share(&call, 2, &processes.numbers);
    share(&call, 3, &processes.texts);
    const int32_t *places = array(&call, 4, &place_count);
    const uint8_t *decimals = array(&call, 5, &width);
    const double *limits = array(&call, 6, &limit_count);
    if (call.failed || place_count != PLACES || limit_count != LIMITS || processes.readable.length < READABLE * count ||
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
    free(processes.has_status);
    processes.decimals = malloc(width);
    processes.found = calloc(width * count, sizeof *processes.found);
    processes.states = calloc(count, 1);
    processes.has_status = calloc(count, 1);
    if (processes.decimals == NULL || processes.found == NULL || processes.states == NULL ||
        processes.has_status == NULL)
        return number_of(env, -ENOMEM);
    memcpy(processes.decimals, decimals, width);
    memcpy(processes.limits, limits, sizeof processes.limits);
    processes.width = width;
    processes.room = count;
    return number_of(env, 0);
}

void add_processes(napi_env env, napi_value exports)
{
    add(env, exports, "setProcesses", set_processes);
    add(env, exports, "setProcessRows", set_process_rows);
}

/*
 * What an agent does at every tick, in C: reading files of the kernel, taking numbers out of them, writing numbers as text.
 * node-sampling.ticks.c does whole ticks with it.
 * Loaded into Node (process.dlopen). src/base/sampling.ts says what each function does, and does without where this is missing.
 * Calls of fs cost some ten microseconds each in a process that has slept for a second, and loops of JavaScript as much.
 */
#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "node-sampling.h"

static const double TWO_53 = 9007199254740992.0;

struct call call_of(napi_env env, napi_callback_info info)
{
    struct call call = { .env = env };
    size_t count = MOST_ARGUMENTS;
    call.failed = napi_get_cb_info(env, info, &count, call.values, NULL, NULL) != 0;
    return call;
}

int32_t whole(struct call *call, int at)
{
    int32_t value = 0;
    call->failed |= napi_get_value_int32(call->env, call->values[at], &value) != 0;
    return value;
}

void *array(struct call *call, int at, size_t *length)
{
    void *data = NULL;
    size_t count = 0;
    call->failed |= napi_get_typedarray_info(call->env, call->values[at], NULL, &count, &data, NULL, NULL) != 0;
    if (length != NULL)
        *length = count;
    return data;
}

napi_value number_of(napi_env env, int32_t value)
{
    napi_value made = NULL;
    napi_create_int32(env, value, &made);
    return made;
}

void let_go(napi_env env, struct shared *shared)
{
    if (shared->reference != NULL)
        napi_delete_reference(env, shared->reference);
    *shared = (struct shared){ 0 };
}

void share(struct call *call, int at, struct shared *shared)
{
    let_go(call->env, shared);
    shared->data = array(call, at, &shared->length);
    call->failed |= napi_create_reference(call->env, call->values[at], 1, &shared->reference) != 0;
}

ssize_t read_at(int fd, char *bytes, size_t size, off_t at)
{
    ssize_t got;
    do
        got = pread(fd, bytes, size, at);
    while (got < 0 && errno == EINTR);
    return got;
}

ssize_t read_whole(int fd, char *bytes, size_t size, bool single)
{
    size_t used = 0;
    while (used < size) {
        ssize_t got = read_at(fd, bytes + used, size - used, (off_t)used);
        if (got < 0)
            return -errno;
        used += (size_t)got;
        if (got == 0 || single)
            break;
    }
    return (ssize_t)used;
}

/* readFile(fd, bytes, single): its length, at most that of `bytes`; below 0: the error. */
static napi_value read_file(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    size_t size = 0;
    int fd = whole(&call, 0);
    char *bytes = array(&call, 1, &size);
    int single = whole(&call, 2);
    return number_of(env, call.failed ? -EINVAL : (int32_t)read_whole(fd, bytes, size, single != 0));
}

/* isRemoved(fd): 1: it has no name any more. */
static napi_value is_removed(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    struct stat found;
    int fd = whole(&call, 0);
    return number_of(env, !call.failed && fstat(fd, &found) == 0 && found.st_nlink == 0);
}

/* writeFile(fd, bytes, from, to): how many were written; below 0: the error. */
static napi_value write_file(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    size_t size = 0;
    int fd = whole(&call, 0);
    const char *bytes = array(&call, 1, &size);
    int32_t from = whole(&call, 2), to = whole(&call, 3);
    if (call.failed || from < 0 || to < from || (size_t)to > size)
        return number_of(env, -EINVAL);
    ssize_t written = write(fd, bytes + from, (size_t)(to - from));
    return number_of(env, written < 0 ? -errno : (int32_t)written);
}

bool append_whole(int fd, const char *bytes, size_t size)
{
    struct stat found;
    if (fd < 0 || fstat(fd, &found) != 0 || found.st_nlink == 0)
        return false;
    ssize_t written = write(fd, bytes, size);
    if (written == (ssize_t)size)
        return true;
    /* JavaScript tries again, and says why it cannot */
    if (written > 0 && ftruncate(fd, found.st_size) != 0)
        return false;
    return false;
}

/* One line of a file with a name and a number in each. */
struct line {
    int32_t length, first, last, place, factor, tail;
};

/* takeFields(lines, bytes, end, numbers, at): 1 when every line was where it was when the lines were learned. */
static napi_value take_fields(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    size_t ints = 0, size = 0, room = 0;
    const struct line *lines = array(&call, 0, &ints);
    const unsigned char *bytes = array(&call, 1, &size);
    int32_t end = whole(&call, 2);
    double *numbers = array(&call, 3, &room);
    int32_t at = whole(&call, 4), p = 0;
    size_t count = ints / 6;
    if (call.failed || end < 0 || (size_t)end > size || at < 0)
        return number_of(env, 0);
    for (size_t i = 0; i < count; i++) {
        const struct line *line = &lines[i];
        int32_t q = p + line->length;
        if (q >= end || bytes[p] != line->first || bytes[q - 1] != line->last || (bytes[q] != ' ' && bytes[q] != ':'))
            return number_of(env, 0);
        q++;
        while (q < end && bytes[q] == ' ')
            q++;
        double value = 0;
        for (; q < end && bytes[q] >= '0' && bytes[q] <= '9'; q++)
            value = value * 10 + (bytes[q] - '0');
        p = q + line->tail;
        if (p > end || bytes[p - 1] != '\n')
            return number_of(env, 0);
        if (line->place >= 0 && (size_t)(at + line->place) < room)
            numbers[at + line->place] = value * line->factor;
    }
    return number_of(env, p == end);
}

bool take_numbers(const double *form, size_t length, const char *bytes, size_t end, double *numbers, size_t room)
{
    enum { TARGET = 3 };
    const double *targets = form + 1;
    size_t count = length == 0 ? 0 : (length - 1) / TARGET, token = 0;
    if (length == 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        for (int which = 0; which < 2; which++) {
            double place = targets[TARGET * i + which];
            if (place >= 0 && place < (double)room)
                numbers[(size_t)place] = 0;
        }
    }
    uint32_t sum = 0;
    for (size_t p = 0; p < end; token++) {
        unsigned char c = 0;
        /* how far numbers are apart says nothing: they are put in columns */
        for (; p < end && ((c = (unsigned char)bytes[p]) < '0' || c > '9'); p++)
            if (c != ' ' || p == 0 || bytes[p - 1] != ' ')
                sum = sum * 31 + c;
        if (p == end)
            break;
        double value = 0;
        for (; p < end && (c = (unsigned char)bytes[p]) >= '0' && c <= '9'; p++)
            value = value * 10 + (c - '0');
        sum = sum * 31 + '0';
        if (token >= count)
            continue;
        const double *target = targets + TARGET * token;
        for (int which = 0; which < 2; which++)
            if (target[which] >= 0 && target[which] < (double)room)
                numbers[(size_t)target[which]] += target[2] < 0 ? value / -target[2] : value * target[2];
    }
    return sum == (uint32_t)form[0];
}

/* takeNumbers(form, bytes, end, numbers): 1 when the text has this form. */
static napi_value take_numbers_of(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    size_t length = 0, size = 0, room = 0;
    const double *form = array(&call, 0, &length);
    const char *bytes = array(&call, 1, &size);
    int32_t end = whole(&call, 2);
    double *numbers = array(&call, 3, &room);
    if (call.failed || end < 0 || (size_t)end > size)
        return number_of(env, 0);
    return number_of(env, take_numbers(form, length, bytes, (size_t)end, numbers, room));
}

char *put_whole(char *to, uint64_t value)
{
    char digits[20];
    int count = 0;
    do
        digits[count++] = (char)('0' + value % 10);
    while ((value /= 10) != 0);
    while (count > 0)
        *to++ = digits[--count];
    return to;
}

char *put_number(char *to, double value, int decimals)
{
    if (!isfinite(value))
        return to;
    double positive = value < 0 ? -value : value;
    if (positive >= TWO_53)
        return NULL;
    if (value < 0)
        *to++ = '-';
    uint64_t rest = (uint64_t)positive;
    if ((double)rest == positive)
        return put_whole(to, rest);
    static const double powers[] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9 };
    double product = positive * powers[decimals], below = floor(product);
    /* as Math.round */
    double scaled = product - below >= 0.5 ? below + 1 : below;
    if (!(scaled < TWO_53))
        return NULL;
    uint64_t power = (uint64_t)powers[decimals], all = (uint64_t)scaled, fraction = all % power;
    to = put_whole(to, all / power);
    if (fraction == 0)
        return to;
    while (fraction % 10 == 0) {
        fraction /= 10;
        decimals--;
    }
    *to = '.';
    for (int i = decimals; i > 0; i--) {
        to[i] = (char)('0' + fraction % 10);
        fraction /= 10;
    }
    return to + decimals + 1;
}

/* putNumbers(bytes, at, numbers, from, decimals): where the text ends; -1: one of them is too large for this. */
static napi_value put_numbers(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    size_t size = 0, room = 0, count = 0;
    char *bytes = array(&call, 0, &size);
    int32_t at = whole(&call, 1);
    const double *numbers = array(&call, 2, &room);
    int32_t from = whole(&call, 3);
    const uint8_t *decimals = array(&call, 4, &count);
    if (call.failed || at < 0 || from < 0 || (size_t)from + count > room || (size_t)at + count * NUMBER_BYTES > size)
        return number_of(env, -1);
    char *to = bytes + at;
    for (size_t i = 0; i < count; i++) {
        *to++ = ',';
        to = decimals[i] > 9 ? NULL : put_number(to, numbers[(size_t)from + i], decimals[i]);
        if (to == NULL)
            return number_of(env, -1);
    }
    return number_of(env, (int32_t)(to - bytes));
}

double next_number(const char **at, const char *end)
{
    const char *p = *at;
    double value = 0;
    while (p < end && (*p < '0' || *p > '9'))
        p++;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        value = value * 10 + (*p - '0');
    *at = p;
    return value;
}

size_t schedules_that_changed(const int32_t *files, size_t count, double *counts, uint8_t *results)
{
    size_t changed = 0;
    for (size_t i = 0; i < count; i++) {
        char text[128];
        double *last = counts + 3 * i;
        ssize_t length = files[i] < 0 ? -1 : read_at(files[i], text, sizeof text, 0);
        results[i] = SCHEDULE_UNKNOWN;
        if (length > 0) {
            const char *at = text, *end = text + length;
            double ran = next_number(&at, end), waited = next_number(&at, end), slices = next_number(&at, end);
            /* a kernel that does not count says 0 0 0 */
            if (slices != 0) {
                results[i] = ran != last[0] || slices != last[2] ? SCHEDULE_RAN : SCHEDULE_IDLE;
                last[0] = ran;
                last[1] = waited;
                last[2] = slices;
            }
        }
        changed += files[i] >= 0 && results[i] != SCHEDULE_IDLE;
    }
    return changed;
}

/*
 * lookAtSchedules(files, counts, results): of each file (a descriptor of /proc/PID/schedstat) its three numbers in `counts`;
 * the result is 0 when the first and the third are as they were, 1 when not, 2 when the file has to be read in another way.
 */
static napi_value look_at_schedules(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    size_t count = 0, room = 0, places = 0;
    const int32_t *files = array(&call, 0, &count);
    double *counts = array(&call, 1, &room);
    uint8_t *results = array(&call, 2, &places);
    if (call.failed || room < 3 * count || places < count)
        return number_of(env, -EINVAL);
    schedules_that_changed(files, count, counts, results);
    return number_of(env, 0);
}

void add(napi_env env, napi_value exports, const char *name, napi_callback function)
{
    napi_value made = NULL;
    if (napi_create_function(env, name, (size_t)-1, function, NULL, &made) == 0)
        napi_set_named_property(env, exports, name, made);
}

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env env, napi_value exports)
{
    add(env, exports, "readFile", read_file);
    add(env, exports, "isRemoved", is_removed);
    add(env, exports, "writeFile", write_file);
    add(env, exports, "takeFields", take_fields);
    add(env, exports, "takeNumbers", take_numbers_of);
    add(env, exports, "putNumbers", put_numbers);
    add(env, exports, "lookAtSchedules", look_at_schedules);
    add_rows(env, exports);
    add_cells(env, exports);
    add_memory(env, exports);
    add_processes(env, exports);
    add_ticks(env, exports);
    return exports;
}

/*
 * Rows of a CSV file of papiex, in C: whole numbers, texts with escapes, and threads behind their process. Whatever is not as
 * plain (a comment, an empty line, a number of many digits, what is wrong) is left to src/import/epmt/csv.ts, row by row.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "node-sampling.h"

/* Of the zlib in Node, as src/recording/read/text-pool.ts uses it for long texts. */
__attribute__((weak)) unsigned long crc32(unsigned long sum, const unsigned char *bytes, unsigned int length);

enum { MOST_CELLS = 1024, LONG_TEXT = 64, MOST_DIGITS = 16 };
/* Places in `state`, which both sides write. */
enum cell_state { FROM, LINE, THREADS, PROCESSES, EXPECTED, EMPTY, FILE_NUMBER, FULL, CELL_STATES };
/* What a column is: those behind TEXT are numbers that a row is judged by. Where one is missing, COUNTED ones are counted. */
enum cell { NUMBER, TEXT, TIME, COUNT, PID, MOMENT, TID, COUNTED = 16 };
/* So many threads of a process are more than a kernel has numbers for. */
static const double MOST_THREADS = 4294967296.0;
static const double EXACT = 9007199254740992.0;

/* Where the values of a column go; of texts also those that are there, each once (src/recording/read/text-pool.ts). */
struct column {
    double *numbers;
    uint32_t *codes;
    int32_t *slots, *hashes;
    uint32_t *ends, size, mask, most;
    unsigned char *bytes;
    size_t room;
    const unsigned char *last;
    size_t last_length;
    uint32_t last_code;
};

static int32_t pool_hash(const unsigned char *at, const unsigned char *to)
{
    return to - at > LONG_TEXT ? (int32_t)crc32(0, at, (unsigned int)(to - at)) : text_hash(at, to);
}

/* The code of a text, which is added if it is new; false: there is no room for it. */
static bool take_text(struct column *column, const unsigned char *from, const unsigned char *to)
{
    size_t length = (size_t)(to - from);
    /* many are the same as in the row before */
    if (column->last != NULL && length == column->last_length && memcmp(column->last, from, length) == 0)
        return true;
    int32_t hash = pool_hash(from, to), found;
    uint32_t slot = ((uint32_t)hash ^ ((uint32_t)hash >> 15)) & column->mask;
    for (; (found = column->slots[slot]) >= 0; slot = (slot + 1) & column->mask) {
        uint32_t start = column->ends[found];
        if (column->hashes[found] == hash && column->ends[found + 1] - start == length &&
            memcmp(column->bytes + start, from, length) == 0)
            break;
    }
    if (found < 0) {
        uint32_t start = column->ends[column->size];
        if (column->size >= column->most || (column->size + 1) * 2 > column->mask + 1 || column->room - start < length)
            return false;
        memcpy(column->bytes + start, from, length);
        found = (int32_t)column->size++;
        column->hashes[found] = hash;
        column->ends[found + 1] = start + (uint32_t)length;
        column->slots[slot] = found;
    }
    column->last = from;
    column->last_length = length;
    column->last_code = (uint32_t)found;
    return true;
}

/* The number at *at, which moves behind it; false: it has to be looked at more closely. */
static bool take_number(const unsigned char **at, double *value)
{
    const unsigned char *p = *at;
    bool negative = *p == '-';
    p += negative;
    const unsigned char *digits = p;
    uint64_t sum = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        sum = sum * 10 + (uint64_t)(*p - '0');
    if (p - digits > MOST_DIGITS || (double)sum >= EXACT || (p == digits && negative))
        return false;
    *value = p == digits ? NAN : negative ? -(double)sum : (double)sum;
    *at = p;
    return true;
}

/* Behind a text: a backslash escapes whatever follows, but for the end of the line. */
static const unsigned char *text_end(const unsigned char *p)
{
    for (; *p != ',' && *p != '\n'; p++)
        if (*p == '\\' && p[1] != '\n')
            p++;
    return p;
}

/* What is known of a row when all its cells were taken. */
struct row {
    bool lacks_time, lacks_pid, lacks_moment, lacks_tid;
    double count, empty;
};

/* The cells of the row at *at, which moves behind it. False: it is not plain; `full` has 1 + the column that has no room. */
static bool take_cells(const uint8_t *kinds, size_t cells, struct column *columns, const unsigned char **at, size_t thread,
                       size_t process, struct row *row, double *full)
{
    const unsigned char *p = *at;
    if (*p == '#' || *p == '\n' || *p == '\r')
        return false;
    for (size_t c = 0; c < cells; c++) {
        struct column *column = &columns[c];
        enum cell kind = kinds[c] & ~COUNTED;
        if (kind == TEXT) {
            const unsigned char *from = p;
            p = text_end(p);
            if (!take_text(column, from, p)) {
                *full = (double)c + 1;
                return false;
            }
            column->codes[process] = column->last_code;
        } else {
            const unsigned char *from = p;
            double value;
            if (!take_number(&p, &value))
                return false;
            column->numbers[thread] = value;
            bool lacks = p == from;
            row->empty += lacks && (kinds[c] & COUNTED) != 0;
            if (kind == TIME)
                row->lacks_time |= lacks;
            else if (kind == PID)
                row->lacks_pid |= lacks;
            else if (kind == MOMENT)
                row->lacks_moment |= lacks || value == 0;
            else if (kind == TID)
                row->lacks_tid |= lacks;
            else if (kind == COUNT)
                row->count = value;
            if (*p == '\r' && p[1] == '\n')
                p++;
        }
        if (*p++ != (c + 1 < cells ? ',' : '\n'))
            return false;
    }
    *at = p;
    return true;
}

static void *element(struct call *call, uint32_t *index, size_t *length)
{
    napi_value found = NULL;
    void *data = NULL;
    call->failed |= napi_get_element(call->env, call->values[3], (*index)++, &found) != 0 ||
                    napi_get_typedarray_info(call->env, found, NULL, length, &data, NULL, NULL) != 0;
    return data;
}

/*
 * readCells(bytes, state, kinds, arrays, sizes, first, file, line): the plain rows from `from` on; `bytes` end with a newline.
 * `arrays`: one for each column of numbers; codes, slots, hashes, ends and bytes for each of texts, of which there are `sizes`.
 */
static napi_value read_cells(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    size_t size = 0, states = 0, cells = 0, counts = 0, firsts = 0, files = 0, lines = 0, room = SIZE_MAX, length = 0;
    const unsigned char *bytes = array(&call, 0, &size);
    double *state = array(&call, 1, &states);
    const uint8_t *kinds = array(&call, 2, &cells);
    uint32_t *sizes = array(&call, 4, &counts), *first = array(&call, 5, &firsts), *file = array(&call, 6, &files),
             *line = array(&call, 7, &lines);
    if (call.failed || states < CELL_STATES || cells == 0 || cells > MOST_CELLS || counts < cells || crc32 == NULL)
        return number_of(env, -EINVAL);
    size_t at = (size_t)state[FROM], thread = (size_t)state[THREADS], process = (size_t)state[PROCESSES];
    if (at >= size || bytes[size - 1] != '\n' || process > thread)
        return number_of(env, -EINVAL);
    struct column *columns = calloc(cells, sizeof(struct column));
    if (columns == NULL)
        return number_of(env, -ENOMEM);
    uint32_t index = 0;
    for (size_t c = 0; c < cells && !call.failed; c++) {
        struct column *column = &columns[c];
        if (kinds[c] == TEXT) {
            size_t slots = 0, hashes = 0, ends = 0;
            column->codes = element(&call, &index, &length);
            column->slots = element(&call, &index, &slots);
            column->hashes = element(&call, &index, &hashes);
            column->ends = element(&call, &index, &ends);
            column->bytes = element(&call, &index, &column->room);
            column->mask = (uint32_t)slots - 1;
            column->most = hashes < ends ? (uint32_t)hashes : (uint32_t)ends - 1;
            column->size = sizes[c];
            call.failed |= sizes[c] > column->most || (slots & (slots - 1)) != 0 || slots == 0;
        } else
            column->numbers = element(&call, &index, &length);
        room = length < room ? length : room;
    }
    if (firsts <= room)
        room = firsts == 0 ? 0 : firsts - 1;
    room = files < room ? files : room;
    room = lines < room ? lines : room;
    state[FULL] = 0;
    const unsigned char *p = bytes + at;
    while (!call.failed && p < bytes + size && thread < room) {
        struct row row = { .count = NAN };
        const unsigned char *next = p;
        if (!take_cells(kinds, cells, columns, &next, thread, process, &row, &state[FULL]) || row.lacks_time)
            break;
        if (isnan(row.count)) {
            if (state[EXPECTED] == 0 || row.lacks_tid)
                break;
            state[EXPECTED]--;
        } else {
            if (state[EXPECTED] > 0 || row.count < 1 || row.count > MOST_THREADS || row.lacks_pid || row.lacks_moment)
                break;
            state[EXPECTED] = row.count - 1;
            first[process] = (uint32_t)thread;
            file[process++] = (uint32_t)state[FILE_NUMBER];
        }
        state[LINE]++;
        state[EMPTY] += row.empty;
        line[thread++] = (uint32_t)state[LINE];
        first[process] = (uint32_t)thread;
        p = next;
    }
    for (size_t c = 0; c < cells; c++)
        if (kinds[c] == TEXT)
            sizes[c] = columns[c].size;
    free(columns);
    state[FROM] = (double)(p - bytes);
    state[THREADS] = (double)thread;
    state[PROCESSES] = (double)process;
    return number_of(env, call.failed ? -EINVAL : 0);
}

void add_cells(napi_env env, napi_value exports) { add(env, exports, "readCells", read_cells); }

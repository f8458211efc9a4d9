/*
 * Rows of a table's text file, in C: numbers and texts that were there before. Whatever is not as plain (a quote, a new or long
 * text, a number of many digits, a line that is no row) is left to src/recording/read/csv-read.ts, row by row.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "node-sampling.h"

enum { MOST_CELLS = 1024, LONGEST_TEXT = 64, MOST_DIGITS = 16 };
/* Places in `state`, which both sides write. */
enum row_state { FROM, END, ROW, CAPACITY, ROW_STATES };
/* What is done with a cell. */
enum cell { SKIP_NUMBER, NUMBER, SKIP_TEXT, TEXT };
static const double EXACT = 9007199254740992.0;
static const double POWERS[MOST_DIGITS + 1] = { 1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7, 1e8,
                                                1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16 };

/* Where the values of a column go; of texts also those that are known (src/recording/read/text-pool.ts). */
struct column {
    double *numbers;
    uint32_t *codes;
    const int32_t *slots, *hashes;
    const uint32_t *ends;
    const char *bytes;
    uint32_t mask;
};

/* The code of a text that is known; -1: it is not. */
static int64_t code_of(const struct column *column, const unsigned char *from, const unsigned char *to)
{
    size_t length = (size_t)(to - from);
    int32_t hash = text_hash(from, to);
    uint32_t slot = ((uint32_t)hash ^ ((uint32_t)hash >> 15)) & column->mask;
    for (;; slot = (slot + 1) & column->mask) {
        int32_t found = column->slots[slot];
        if (found < 0)
            return -1;
        uint32_t start = column->ends[found];
        if (column->hashes[found] == hash && column->ends[found + 1] - start == length &&
            memcmp(column->bytes + start, from, length) == 0)
            return found;
    }
}

/* The number at *at, which moves behind it; false: it has to be looked at more closely. */
static bool take_number(const unsigned char **at, double *value)
{
    const unsigned char *p = *at;
    bool negative = *p == '-';
    if (*p == ',' || *p == '\n') {
        *value = NAN;
        return true;
    }
    p += negative;
    const unsigned char *digits = p, *point = NULL;
    uint64_t sum = 0;
    for (; (*p >= '0' && *p <= '9') || (*p == '.' && point == NULL); p++) {
        if (*p == '.')
            point = p;
        else
            sum = sum * 10 + (uint64_t)(*p - '0');
        if (p - digits > MOST_DIGITS)
            return false;
    }
    long count = p - digits - (point != NULL), places = point == NULL ? 0 : p - point - 1;
    if ((*p != ',' && *p != '\n') || count == 0 || count > MOST_DIGITS || (double)sum >= EXACT)
        return false;
    /* both exact in a double: the quotient is the nearest double */
    double positive = places > 0 ? (double)sum / POWERS[places] : (double)sum;
    *value = negative ? -positive : positive;
    *at = p;
    return true;
}

/* The row at *at, which moves behind it; false: it is not plain. */
static bool take_row(const uint8_t *kinds, size_t cells, const struct column *columns, const unsigned char **at, size_t row)
{
    const unsigned char *p = *at;
    for (size_t c = 0; c < cells; c++) {
        if (kinds[c] >= SKIP_TEXT) {
            const unsigned char *word = p;
            if (*p == '"')
                return false;
            while (*p != ',' && *p != '\n')
                p++;
            if (kinds[c] == TEXT) {
                int64_t code = p == word ? 0 : p - word > LONGEST_TEXT ? -1 : code_of(&columns[c], word, p);
                if (code < 0)
                    return false;
                columns[c].codes[row] = (uint32_t)code;
            }
        } else {
            double value;
            if (!take_number(&p, &value) || (c == 0 && !(value >= 0)))
                return false;
            if (kinds[c] == NUMBER)
                columns[c].numbers[row] = value;
        }
        if (*p++ != (c + 1 < cells ? ',' : '\n'))
            return false;
    }
    *at = p;
    return true;
}

static void *element(struct call *call, int of, uint32_t *index, size_t *length)
{
    napi_value list = call->values[of], found = NULL;
    void *data = NULL;
    call->failed |= napi_get_element(call->env, list, (*index)++, &found) != 0 ||
                    napi_get_typedarray_info(call->env, found, NULL, length, &data, NULL, NULL) != 0;
    return data;
}

/*
 * readRows(bytes, state, kinds, arrays): the plain rows from `from` to `end`, behind which there is nothing but a newline;
 * `state` has where it stopped. `arrays`: one for each number that is kept; codes, slots, hashes, ends and bytes for each text.
 */
static napi_value read_rows(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    struct column columns[MOST_CELLS];
    size_t size = 0, states = 0, cells = 0, length = 0;
    const unsigned char *bytes = array(&call, 0, &size);
    double *state = array(&call, 1, &states);
    const uint8_t *kinds = array(&call, 2, &cells);
    uint32_t index = 0;
    if (call.failed || states < ROW_STATES || cells == 0 || cells > MOST_CELLS)
        return number_of(env, -EINVAL);
    size_t from = (size_t)state[FROM], end = (size_t)state[END], row = (size_t)state[ROW], capacity = (size_t)state[CAPACITY];
    if (from >= end || end > size || bytes[end - 1] != '\n')
        return number_of(env, -EINVAL);
    for (size_t c = 0; c < cells; c++) {
        struct column *column = &columns[c];
        if (kinds[c] == NUMBER) {
            column->numbers = element(&call, 3, &index, &length);
        } else if (kinds[c] == TEXT) {
            column->codes = element(&call, 3, &index, &length);
            size_t slots = 0;
            column->slots = element(&call, 3, &index, &slots);
            column->mask = (uint32_t)slots - 1;
            column->hashes = element(&call, 3, &index, NULL);
            column->ends = element(&call, 3, &index, NULL);
            column->bytes = element(&call, 3, &index, NULL);
        } else
            continue;
        if (call.failed || length < capacity)
            return number_of(env, -EINVAL);
    }
    const unsigned char *at = bytes + from;
    while (row < capacity && at < bytes + end && take_row(kinds, cells, columns, &at, row))
        row++;
    state[FROM] = (double)(at - bytes);
    state[ROW] = (double)row;
    return number_of(env, 0);
}

void add_rows(napi_env env, napi_value exports) { add(env, exports, "readRows", read_rows); }

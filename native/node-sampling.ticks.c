/*
 * Whole ticks in C, on Node's own loop and without waking JavaScript: an agent whose node does what it did a second ago
 * has nothing to decide. Its tables are read by forms that JavaScript has learned, and appended to its files. JavaScript is
 * called for whatever is not as it was (another text, a process that is another now, a write that was refused, a tick that is late or
 * a clock that was set), and every few ticks anyway. src/agent/loop/quiet-ticks.ts is the other half.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "node-sampling.h"

/* Of libuv, which Node exports. */
size_t uv_handle_size(int);
int uv_timer_init(void *, void *);
int uv_timer_start(void *, void (*)(void *), uint64_t, uint64_t);
int uv_timer_stop(void *);
void uv_update_time(void *);
enum { UV_TIMER = 13 };

enum { MOST_TABLES = 32, MOST_FILES = 8, BYTES = 1 << 18 };

/* Places in `settings`, which JavaScript writes, and in `state`, which this writes. Times are epoch microseconds. */
enum setting {
    INTERVAL,
    UNTIL,
    DUE,
    CLOCK_AHEAD,
    WALL_AHEAD,
    WALL_TOLERANCE,
    PAGE_BYTES,
    MOST_RUNNABLE,
    RUNNABLE,
    BYTES_BEFORE,
    ROWS_BEFORE,
    TIME,
    SETTINGS
};
enum state { TICKS, LAST_TIME, MOST_RESIDENT, MOST_OWN, TICK_US, CPU_US, LOOKED, STATES };
/* Places of what the agent says of itself, in the order in which JavaScript gives them. */
enum own { OWN_CPU, OWN_RSS, OWN_BYTES, OWN_ROWS, OWN_TICK, OWN_LATE, OWNS };
/* What `tallies` has of each table; done: at this very tick. */
enum tally { WRITTEN_BYTES, WRITTEN_ROWS, DONE, TALLIES };

struct file {
    int fd;
    bool single;
    double *form;
    size_t length;
};

struct table {
    int out;
    struct shared numbers;
    int rows, width;
    uint8_t *decimals;
    /* What stands between the time and the numbers of each row, each ended by 0. */
    char *texts;
    size_t texts_length;
    struct file files[MOST_FILES];
    int file_count;
};

static struct {
    napi_env env;
    void *loop, *timer;
    napi_ref wake;
    struct shared settings, state, tallies;
    struct table tables[MOST_TABLES];
    int table_count;
    struct table own;
    int own_places[OWNS], statm;
} engine;

static char bytes[BYTES];
static char text[BYTES];

static double *settings(void) { return engine.settings.data; }
static double *state(void) { return engine.state.data; }
static double *tally(int table) { return (double *)engine.tallies.data + TALLIES * table; }

static double microseconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)(now.tv_nsec / 1000);
}

static void *copy(const void *data, size_t size)
{
    void *made = malloc(size == 0 ? 1 : size);
    if (made != NULL)
        memcpy(made, data, size);
    return made;
}

static void empty(struct table *table)
{
    for (int i = 0; i < table->file_count; i++)
        free(table->files[i].form);
    free(table->decimals);
    free(table->texts);
    let_go(engine.env, &table->numbers);
    *table = (struct table){ .out = -1 };
}

/* Appends the rows of a table to its file; false: JavaScript has to. */
static bool append(struct table *table, double time, double *written)
{
    const double *numbers = table->numbers.data;
    size_t most = (size_t)table->rows * ((size_t)table->width + 2) * NUMBER_BYTES + table->texts_length;
    if (table->out < 0 || most > sizeof text)
        return false;
    char *to = text;
    const char *words = table->texts;
    for (int row = 0; row < table->rows; row++) {
        to = put_whole(to, (uint64_t)time);
        size_t length = strlen(words);
        memcpy(to, words, length);
        to += length;
        words += length + 1;
        for (int i = 0; i < table->width && to != NULL; i++) {
            *to++ = ',';
            to = put_number(to, numbers[row * table->width + i], table->decimals[i]);
        }
        if (to == NULL)
            return false;
        *to++ = '\n';
    }
    *written = (double)(to - text);
    return append_whole(table->out, text, (size_t)(to - text));
}

static bool read_table(struct table *table)
{
    for (int i = 0; i < table->file_count; i++) {
        struct file *file = &table->files[i];
        ssize_t length = read_whole(file->fd, bytes, sizeof bytes, file->single);
        if (length <= 0 || (size_t)length == sizeof bytes ||
            !take_numbers(file->form, file->length, bytes, (size_t)length, table->numbers.data, table->numbers.length))
            return false;
    }
    return true;
}

/* Reads and writes the tables; how many JavaScript has to do itself. */
static int sample_tables(double time)
{
    int left = 0;
    for (int i = 0; i < engine.table_count; i++) {
        struct table *table = &engine.tables[i];
        double *of = tally(i), wrote = 0;
        of[DONE] = table->rows > 0 && read_table(table) && append(table, time, &wrote);
        if (of[DONE]) {
            of[WRITTEN_BYTES] += wrote;
            of[WRITTEN_ROWS] += table->rows;
        } else
            left++;
    }
    state()[LAST_TIME] = time;
    return left;
}

/* The processes of the job that ran; false: JavaScript has to look at them. */
static bool sample_job(double time)
{
    double *of = tally(MOST_TABLES + 1), written = 0, rows = 0;
    if (!has_processes())
        return true;
    bool done = sample_processes(time, settings()[PAGE_BYTES], &written, &rows);
    state()[LOOKED] = 1;
    if (done) {
        of[WRITTEN_BYTES] += written;
        of[WRITTEN_ROWS] += rows;
    }
    return done;
}

static bool say_own_cost(double time, double late)
{
    double *numbers = engine.own.numbers.data, *said = state(), wrote = 0;
    double written = settings()[BYTES_BEFORE], rows = settings()[ROWS_BEFORE], page = settings()[PAGE_BYTES];
    struct rusage used;
    char line[128], *at = line;
    ssize_t length = read_at(engine.statm, line, sizeof line - 1, 0);
    if (length <= 0 || getrusage(RUSAGE_SELF, &used) != 0)
        return false;
    line[length] = 0;
    /* its size, what of that is in memory, and what of that is of files */
    strtoul(at, &at, 10);
    unsigned long resident = strtoul(at, &at, 10), of_files = strtoul(at, &at, 10);
    for (int i = 0; i < MOST_TABLES + 2; i++) {
        written += tally(i)[WRITTEN_BYTES];
        rows += tally(i)[WRITTEN_ROWS];
    }
    said[CPU_US] = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e6 +
                   (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    said[MOST_RESIDENT] = fmax(said[MOST_RESIDENT], (double)resident * page);
    said[MOST_OWN] = fmax(said[MOST_OWN], ((double)resident - (double)of_files) * page);
    const double values[OWNS] = { said[CPU_US], (double)resident * page, written, rows, said[TICK_US], late };
    for (int i = 0; i < OWNS; i++)
        numbers[engine.own_places[i]] = values[i];
    if (!append(&engine.own, time, &wrote))
        return false;
    double *of = tally(engine.table_count);
    of[WRITTEN_BYTES] += wrote;
    of[WRITTEN_ROWS] += 1;
    return true;
}

/* The tick that is due at `due` belongs to JavaScript, all of it or what is left of it. */
static void wake(double now, double due)
{
    napi_env env = engine.env;
    napi_handle_scope scope;
    napi_value global, function, arguments[2], result, thrown;
    if (napi_open_handle_scope(env, &scope) != 0)
        return;
    if (napi_get_global(env, &global) == 0 && napi_get_reference_value(env, engine.wake, &function) == 0 &&
        napi_create_double(env, now, &arguments[0]) == 0 && napi_create_double(env, due, &arguments[1]) == 0 &&
        napi_make_callback(env, NULL, global, function, 2, arguments, &result) != 0 &&
        napi_get_and_clear_last_exception(env, &thrown) == 0)
        napi_fatal_exception(env, thrown);
    napi_close_handle_scope(env, scope);
}

static void schedule(void);

static void tick(void *timer)
{
    (void)timer;
    double steady = microseconds(CLOCK_MONOTONIC), due = settings()[DUE];
    double now = floor(steady + settings()[CLOCK_AHEAD]);
    /* a little early: it is still to come */
    if (now < due) {
        schedule();
        return;
    }
    double late = now - due, drift = microseconds(CLOCK_REALTIME) - steady - settings()[WALL_AHEAD];
    for (int i = 0; i < engine.table_count; i++)
        tally(i)[DONE] = 0;
    state()[LOOKED] = 0;
    if (now >= settings()[UNTIL] || late > settings()[INTERVAL] / 10 || fabs(drift) > settings()[WALL_TOLERANCE]) {
        wake(now, due);
        return;
    }
    int left = sample_tables(now);
    bool started = was_process_started();
    double runnable = 0;
    if (settings()[RUNNABLE] >= 0 && engine.table_count > 0)
        runnable = ((double *)engine.tables[0].numbers.data)[(int)settings()[RUNNABLE]];
    /* those that it knows are read here even when somebody else was started */
    bool done = sample_job(now);
    if (left > 0 || started || !done || runnable > settings()[MOST_RUNNABLE] || !say_own_cost(now, late)) {
        wake(now, due);
        return;
    }
    state()[TICKS]++;
    state()[TICK_US] = floor(microseconds(CLOCK_MONOTONIC) - steady);
    settings()[DUE] = due + settings()[INTERVAL];
    schedule();
}

static void schedule(void)
{
    double now = microseconds(CLOCK_MONOTONIC) + settings()[CLOCK_AHEAD];
    double wait = ceil((settings()[DUE] - now) / 1000);
    uv_update_time(engine.loop);
    uv_timer_start(engine.timer, tick, wait > 0 ? (uint64_t)wait : 0, 0);
}

static void stop(void *unused)
{
    (void)unused;
    if (engine.timer != NULL)
        uv_timer_stop(engine.timer);
}

/* beginTicks(settings, state, tallies, wake): 0, or below 0 when it cannot. */
static napi_value begin_ticks(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    engine.env = env;
    share(&call, 0, &engine.settings);
    share(&call, 1, &engine.state);
    share(&call, 2, &engine.tallies);
    call.failed |= engine.settings.length < SETTINGS || engine.state.length < STATES ||
                   engine.tallies.length < TALLIES * (MOST_TABLES + 2);
    if (engine.wake != NULL)
        napi_delete_reference(env, engine.wake);
    call.failed |= napi_create_reference(env, call.values[3], 1, &engine.wake) != 0;
    if (!call.failed && engine.timer == NULL) {
        engine.timer = calloc(1, uv_handle_size(UV_TIMER));
        call.failed |= engine.timer == NULL || napi_get_uv_event_loop(env, &engine.loop) != 0 ||
                       uv_timer_init(engine.loop, engine.timer) != 0;
        napi_add_env_cleanup_hook(env, stop, NULL);
    }
    return number_of(env, call.failed ? -EINVAL : 0);
}

static bool fill(struct call *call, struct table *table)
{
    size_t width = 0, length = 0;
    empty(table);
    table->out = whole(call, 1);
    share(call, 2, &table->numbers);
    table->rows = whole(call, 3);
    const uint8_t *decimals = array(call, 4, &width);
    const char *texts = array(call, 5, &length);
    table->width = (int)width;
    table->texts_length = length;
    if (call->failed || table->rows < 0 || (size_t)table->rows * width > table->numbers.length)
        return false;
    for (size_t i = 0; i < width; i++)
        if (decimals[i] > 9)
            return false;
    table->decimals = copy(decimals, width);
    table->texts = copy(texts, length);
    return table->decimals != NULL && table->texts != NULL;
}

/* setTable(index, out, numbers, rows, decimals, texts): a table of which setFile gives the files. */
static napi_value set_table(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    int index = whole(&call, 0);
    if (call.failed || index < 0 || index >= MOST_TABLES || index > engine.table_count)
        return number_of(env, -EINVAL);
    if (index == engine.table_count)
        engine.table_count++;
    bool filled = fill(&call, &engine.tables[index]);
    if (!filled)
        engine.tables[index].rows = 0;
    return number_of(env, filled ? 0 : -EINVAL);
}

/* setFile(index, fd, single, form): one more file of that table. */
static napi_value set_file(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    int index = whole(&call, 0);
    size_t length = 0;
    struct file file = { .fd = whole(&call, 1), .single = whole(&call, 2) != 0 };
    const double *form = array(&call, 3, &length);
    if (call.failed || index < 0 || index >= engine.table_count || engine.tables[index].file_count == MOST_FILES)
        return number_of(env, -EINVAL);
    file.form = copy(form, length * sizeof *form);
    file.length = file.form == NULL ? 0 : length;
    engine.tables[index].files[engine.tables[index].file_count++] = file;
    return number_of(env, 0);
}

/* setOutput(index, out): the table is written to another file from now on. -1: the agent's own, -2: that of processes. */
static napi_value set_output(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    int index = whole(&call, 0), out = whole(&call, 1);
    if (call.failed || index < -2 || index >= engine.table_count)
        return number_of(env, -EINVAL);
    if (index == -2)
        set_process_output(out);
    else
        *(index < 0 ? &engine.own.out : &engine.tables[index].out) = out;
    return number_of(env, 0);
}

/* setOwn(statm, out, numbers, rows, decimals, texts, places): the table in which the agent says what it costs. */
static napi_value set_own(napi_env env, napi_callback_info info)
{
    struct call call = call_of(env, info);
    size_t count = 0;
    engine.statm = whole(&call, 0);
    const int32_t *places = array(&call, 6, &count);
    if (call.failed || count < OWNS || !fill(&call, &engine.own))
        return number_of(env, -EINVAL);
    for (int i = 0; i < OWNS; i++) {
        if (places[i] < 0 || places[i] >= engine.own.width)
            return number_of(env, -EINVAL);
        engine.own_places[i] = places[i];
    }
    return number_of(env, 0);
}

/* dropTables(): forgets all tables. */
static napi_value drop_tables(napi_env env, napi_callback_info info)
{
    (void)info;
    for (int i = 0; i < engine.table_count; i++)
        empty(&engine.tables[i]);
    engine.table_count = 0;
    return number_of(env, 0);
}

/* sampleTables(): the tables of a tick of JavaScript's, at the time that is set; how many are left to it. */
static napi_value sample_tables_now(napi_env env, napi_callback_info info)
{
    (void)info;
    return number_of(env, sample_tables(settings()[TIME]));
}

/* steady(): the clock that never jumps, in microseconds. */
static napi_value steady_now(napi_env env, napi_callback_info info)
{
    napi_value made = NULL;
    (void)info;
    napi_create_double(env, microseconds(CLOCK_MONOTONIC), &made);
    return made;
}

static napi_value arm_ticks(napi_env env, napi_callback_info info)
{
    (void)info;
    settings()[WALL_AHEAD] = microseconds(CLOCK_REALTIME) - microseconds(CLOCK_MONOTONIC);
    schedule();
    return number_of(env, 0);
}

static napi_value disarm_ticks(napi_env env, napi_callback_info info)
{
    (void)info;
    stop(NULL);
    return number_of(env, 0);
}

void add_ticks(napi_env env, napi_value exports)
{
    add(env, exports, "beginTicks", begin_ticks);
    add(env, exports, "setTable", set_table);
    add(env, exports, "setFile", set_file);
    add(env, exports, "setOutput", set_output);
    add(env, exports, "setOwn", set_own);
    add(env, exports, "dropTables", drop_tables);
    add(env, exports, "sampleTables", sample_tables_now);
    add(env, exports, "steady", steady_now);
    add(env, exports, "armTicks", arm_ticks);
    add(env, exports, "disarmTicks", disarm_ticks);
}

/* What the parts of the module sampling.node share: Node's interface for such modules, and what every tick needs. */
#ifndef TACHO_NODE_SAMPLING_H
#define TACHO_NODE_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Of Node's interface for such modules, which stays as it is: it is declared here, as machines have no headers of Node. */
typedef struct napi_env_ *napi_env;
typedef struct napi_value_ *napi_value;
typedef struct napi_ref_ *napi_ref;
typedef struct napi_handle_scope_ *napi_handle_scope;
typedef struct napi_callback_info_ *napi_callback_info;
typedef napi_value (*napi_callback)(napi_env, napi_callback_info);
int napi_get_cb_info(napi_env, napi_callback_info, size_t *, napi_value *, napi_value *, void **);
int napi_create_function(napi_env, const char *, size_t, napi_callback, void *, napi_value *);
int napi_set_named_property(napi_env, napi_value, const char *, napi_value);
int napi_get_value_int32(napi_env, napi_value, int32_t *);
int napi_get_typedarray_info(napi_env, napi_value, int *, size_t *, void **, napi_value *, size_t *);
int napi_get_element(napi_env, napi_value, uint32_t, napi_value *);
int napi_create_int32(napi_env, int32_t, napi_value *);
int napi_create_double(napi_env, double, napi_value *);
int napi_create_reference(napi_env, napi_value, uint32_t, napi_ref *);
int napi_delete_reference(napi_env, napi_ref);
int napi_get_reference_value(napi_env, napi_ref, napi_value *);
int napi_open_handle_scope(napi_env, napi_handle_scope *);
int napi_close_handle_scope(napi_env, napi_handle_scope);
int napi_get_global(napi_env, napi_value *);
int napi_make_callback(napi_env, void *, napi_value, napi_value, size_t, const napi_value *, napi_value *);
int napi_get_and_clear_last_exception(napi_env, napi_value *);
int napi_fatal_exception(napi_env, napi_value);
int napi_get_uv_event_loop(napi_env, void **);
int napi_add_env_cleanup_hook(napi_env, void (*)(void *), void *);

enum { MOST_ARGUMENTS = 8 };

/* The arguments of a call: whole numbers and typed arrays; a call that has others fails. */
struct call {
    napi_env env;
    napi_value values[MOST_ARGUMENTS];
    bool failed;
};

struct call call_of(napi_env env, napi_callback_info info);
int32_t whole(struct call *call, int at);
void *array(struct call *call, int at, size_t *length);
napi_value number_of(napi_env env, int32_t value);
void add(napi_env env, napi_value exports, const char *name, napi_callback function);

/* A typed array that is kept where it is. */
struct shared {
    napi_ref reference;
    void *data;
    size_t length;
};
void share(struct call *call, int at, struct shared *shared);
void let_go(napi_env env, struct shared *shared);

ssize_t read_at(int fd, char *bytes, size_t size, off_t at);
/* Its length, at most `size`; below 0: the error. `single`: the kernel gives it in one piece. */
ssize_t read_whole(int fd, char *bytes, size_t size, bool single);
/* How a text looks around its numbers, and where these go (src/sources/form.ts); false: the text looks otherwise. */
bool take_numbers(const double *form, size_t length, const char *bytes, size_t end, double *numbers, size_t room);
char *put_whole(char *to, uint64_t value);
/* What is no finite number is missing. NULL: it is too large for this. */
char *put_number(char *to, double value, int decimals);
/* The most bytes of a number: 16 digits, a sign, a point, and the comma before it. */
enum { NUMBER_BYTES = 26 };

/* The next number of a text; *at moves behind it. */
double next_number(const char **at, const char *end);
/* All of it, or nothing: never half a line. False: it was refused, or the file has been taken away. */
bool append_whole(int fd, const char *bytes, size_t size);

/* What a look at a process tells (src/sources/process/schedules.ts); done: its row of this tick is written. */
enum schedule { SCHEDULE_IDLE, SCHEDULE_RAN, SCHEDULE_UNKNOWN, SCHEDULE_DONE };

/* Looks at schedstat of many; how many of them have run, or have to be looked at in another way. */
size_t schedules_that_changed(const int32_t *files, size_t count, double *counts, uint8_t *results);

bool has_processes(void);
/* Whether one was started on this node since the last look. */
bool was_process_started(void);
/* Reads those that ran, and writes their rows; false: JavaScript has to look at them, and nothing was written. */
bool sample_processes(double time, double page, double *written, double *rows);
void set_process_output(int out);

void add_rows(napi_env env, napi_value exports);
void add_cells(napi_env env, napi_value exports);
void add_memory(napi_env env, napi_value exports);
void add_processes(napi_env env, napi_value exports);
void add_ticks(napi_env env, napi_value exports);

/* As hashOf of text-pool.ts, of texts of up to 64 bytes. */
static inline int32_t text_hash(const unsigned char *at, const unsigned char *to)
{
    uint32_t hash = 0x811c9dc5;
    for (; to - at >= 4; at += 4) {
        uint32_t word = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
        hash = (hash ^ word) * 0x9e3779b1;
        hash ^= hash >> 15;
    }
    for (; at < to; at++)
        hash = (hash ^ *at) * 0x01000193;
    return (int32_t)hash;
}

#endif

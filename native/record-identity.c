/*
 * Which process image this is: its rank, step, tags, working directory, program, names and arguments, as all of its lines have them.
 * A text that is too long for a line is sent ahead, and "\c" stands in its place.
 */
#include "record.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

extern char **environ;

char identity[IDENTITY_BYTES];
static struct text made;
static const char continued[] = "\\c";

/* Room that the arguments, which come last, leave to the others. */
enum { ONE_TEXT = 480, ONE_NAME = 256, ONE_STEP = 32 };

static struct ahead begin_sending(const char *field)
{
    /* only one thread runs when a process starts: no other can be using it, and stacks may be small */
    static char line[LINE_BYTES];
    struct ahead to = {
        .pid = process.pid, .space = process.space, .start = process.start, .line = line, .size = sizeof line
    };
    begin_ahead(&to, field);
    return to;
}

static void add_within(size_t room_for, const char *field, const char *bytes, size_t length)
{
    add_char(&made, '\t');
    struct text room = { made.at, made.at + room_for };
    if (add_escaped(&room, bytes, length) == length) {
        made.at = room.at;
        return;
    }
    struct ahead to = begin_sending(field);
    add_ahead(&to, bytes, length);
    end_ahead(&to);
    add_word(&made, continued);
}

static void add_text(const char *field, const char *bytes, size_t length)
{
    add_within(ONE_TEXT, field, bytes, length);
}

static void add_variable(size_t room, const char *field, const char *const *names)
{
    const char *value = NULL;
    for (; *names != NULL && (value == NULL || *value == '\0'); names++)
        value = getenv(*names);
    add_within(room, field, value == NULL ? "" : value, value == NULL ? 0 : strlen(value));
}

static void add_directory(char *scratch, size_t size)
{
    long length = syscall(SYS_getcwd, scratch, size);
    /* the length includes the zero; a folder that cannot be reached from / has no name */
    add_text("directory", scratch, length > 1 && scratch[0] == '/' ? (size_t)length - 1 : 0);
}

/* Without its folders. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* The name of the file, which may be another than the name that it was called by. */
static char file_name[ONE_NAME];

static void add_program(char *scratch, size_t size)
{
    long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", scratch, size - 1);
    scratch[length > 0 ? length : 0] = '\0';
    add_text("path", scratch, strlen(scratch));
    const char *name = last_part(scratch);
    size_t fits = strlen(name) < sizeof file_name ? strlen(name) : sizeof file_name - 1;
    memcpy(file_name, name, fits);
    file_name[fits] = '\0';
}

static bool is_this_program(const char *path)
{
    struct stat one, other;
    return syscall(SYS_newfstatat, AT_FDCWD, path, &one, 0) == 0 &&
           syscall(SYS_newfstatat, AT_FDCWD, "/proc/self/exe", &other, 0) == 0 && one.st_dev == other.st_dev &&
           one.st_ino == other.st_ino;
}

/*
 * The name that the program was called by, if it is one of its file: by a link, or of a program that is many (busybox,
 * the wrappers of MPI). The kernel remembers what it was asked to execute; of a script that is the script, and the first
 * argument is the interpreter's path. Empty: the name of the file.
 */
static const char *called_by(const char *first)
{
    const char *executed = (const char *)getauxval(AT_EXECFN);
    const char *name = last_part(first[0] == '-' ? first + 1 : first);
    if (*name == '\0' || strcmp(name, file_name) == 0)
        return "";
    if (executed != NULL && strcmp(name, last_part(executed)) == 0)
        return name;
    return strchr(first, '/') != NULL && is_this_program(first) ? name : "";
}

/* `first` is the first argument, as far as it is known. */
static void add_names(const char *first)
{
    const char *name = called_by(first);
    add_within(ONE_NAME, "argv0", first, strlen(first));
    add_within(ONE_NAME, "exename", name, strlen(name));
}

/* Where the kernel has put the arguments, if we were told. */
static struct {
    const char *bytes;
    size_t length;
} in_memory;

extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* glibc passes them to what it calls at the start, musl does not. They lie in one piece, as the kernel puts them. */
void remember_arguments(int count, char **arguments)
{
    if (gnu_get_libc_version == NULL || count < 1 || arguments == NULL || arguments[0] == NULL)
        return;
    const char *last = arguments[count - 1];
    if (last == NULL || last < arguments[0])
        return;
    in_memory.bytes = arguments[0];
    in_memory.length = (size_t)(last - arguments[0]) + strlen(last) + 1;
}

struct source {
    int descriptor;
    const char *at;
    size_t left;
};

static struct source open_arguments(void)
{
    struct source source = { -1, in_memory.bytes, in_memory.length };
    if (source.at == NULL)
        source.descriptor = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
    return source;
}

static size_t next_piece(struct source *source, char *buffer, size_t size)
{
    if (source->at == NULL) {
        long length = source->descriptor < 0 ? 0 : read_some(source->descriptor, buffer, size);
        return length > 0 ? (size_t)length : 0;
    }
    size_t length = source->left < size ? source->left : size;
    memcpy(buffer, source->at, length);
    source->at += length;
    source->left -= length;
    return length;
}

/* How much of a piece still belongs to the first argument, which is the program itself. */
static size_t skip_program(bool *inside, const char *bytes, size_t length)
{
    const char *zero = *inside ? memchr(bytes, '\0', length) : NULL;
    size_t skipped = !*inside ? 0 : zero == NULL ? length : (size_t)(zero - bytes) + 1;
    *inside = *inside && zero == NULL;
    return skipped;
}

/* They lie one behind the other, and keep the zeros that end them: so it remains known where each begins. */
static void add_arguments(char *scratch, size_t size)
{
    bool inside = true;
    struct source source = open_arguments();
    size_t piece = size - 1, length = next_piece(&source, scratch, piece);
    scratch[length] = '\0';
    add_names(scratch);
    size_t skipped = skip_program(&inside, scratch, length);
    add_char(&made, '\t');
    struct text room = { made.at, identity + sizeof identity - 1 };
    if (length < piece && add_escaped(&room, scratch + skipped, length - skipped) == length - skipped) {
        made.at = room.at;
    } else {
        struct ahead to = begin_sending("args");
        do {
            add_ahead(&to, scratch + skipped, length - skipped);
            length = next_piece(&source, scratch, piece);
            skipped = skip_program(&inside, scratch, length);
        } while (length > 0);
        end_ahead(&to);
        add_word(&made, continued);
    }
    close_file(source.descriptor);
}

void make_identity(char *scratch, size_t size)
{
    static const char *const steps[] = { STEP_VARIABLES, NULL }, *const tags[] = { TAG_VARIABLES, NULL };
    char made_rank[RANK_BYTES];
    const char *rank = rank_of(environ, made_rank);
    made.at = identity;
    made.end = identity + sizeof identity - 1;
    add_text("rank", rank == NULL ? "" : rank, rank == NULL ? 0 : strlen(rank));
    add_variable(ONE_STEP, "step", steps);
    add_variable(ONE_TEXT, "tags", tags);
    add_directory(scratch, size);
    add_program(scratch, size);
    add_arguments(scratch, size);
    *made.at = '\0';
}

/* Tacho's own scripts, run in a job, are none of its processes. Only what has such a name is looked into. */
bool is_own_script(char *scratch, size_t size)
{
    static const struct {
        const char *name, *begins;
    } scripts[] = { { "tacho", "#!/bin/sh\n# Starts Tacho " },
                    { "tacho-task-prolog.sh", "#!/bin/sh\n# Tacho's TaskProlog for Slurm: " } };
    const char *executed = (const char *)getauxval(AT_EXECFN);
    for (size_t i = 0; executed != NULL && i < sizeof scripts / sizeof scripts[0]; i++) {
        if (strcmp(last_part(executed), scripts[i].name) != 0)
            continue;
        read_file(executed, scratch, size);
        return strncmp(scratch, scripts[i].begins, strlen(scripts[i].begins)) == 0;
    }
    return false;
}

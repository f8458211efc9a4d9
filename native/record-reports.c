/*
 * What a process reports of others: which program it, or a child, is about to become, and how a child ended. A program
 * that cannot speak for itself (static, of another architecture, without our library) is known by this alone.
 *
 * A child of vfork has its parent's memory, and other threads go on meanwhile: everything here lies on the stack.
 */
#include "record.h"
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* Stacks may be small: two of these must find room. */
enum { REPORT_BYTES = 2048, SHORT_BYTES = 512 };

/* A process that has locked itself in since it started might be killed for what we do. */
bool may_report(void)
{
    return process.on && syscall(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) == process.seccomp;
}

/* Who a line is about; long texts go ahead of it. */
struct about {
    pid_t pid;
    uint64_t space;
    int64_t start;
};

/* `zero` is 1 where the zeros that end the texts belong to them. */
static void send_texts(const struct about *about, const char *field, char *const *texts, size_t zero)
{
    char line[REPORT_BYTES];
    struct ahead to = { .pid = about->pid, .space = about->space, .start = about->start, .line = line, .size = sizeof line };
    begin_ahead(&to, field);
    for (; *texts != NULL; texts++)
        add_ahead(&to, *texts, strlen(*texts) + zero);
    end_ahead(&to);
}

static void add_reported(struct text *text, const struct about *about, const char *field, const char *bytes, size_t room)
{
    add_char(text, '\t');
    if (bytes == NULL)
        return;
    size_t length = strlen(bytes);
    struct text trial = { text->at, text->at + room };
    if (add_escaped(&trial, bytes, length) == length) {
        text->at = trial.at;
        return;
    }
    char *const texts[] = { (char *)bytes, NULL };
    send_texts(about, field, texts, 0);
    add_word(text, "\\c");
}

static const char *first_of(char *const *environment, const char *const *names)
{
    const char *value = NULL;
    for (; *names != NULL && (value == NULL || *value == '\0'); names++)
        value = variable(environment, *names);
    return value;
}

/* All but the first, which is the program itself; each with the zero that ends it. */
static void add_reported_arguments(struct text *text, const struct about *about, char *const *arguments)
{
    bool fits = true;
    add_char(text, '\t');
    struct text trial = *text;
    char *const *first = arguments == NULL || arguments[0] == NULL ? NULL : arguments + 1;
    for (char *const *each = first; fits && each != NULL && *each != NULL; each++) {
        size_t length = strlen(*each) + 1;
        fits = add_escaped(&trial, *each, length) == length;
    }
    if (fits) {
        *text = trial;
        return;
    }
    send_texts(about, "args", first, 1);
    add_word(text, "\\c");
}

struct who {
    pid_t pid;
    uint64_t space;
};

/* `path` is what the kernel is asked to execute, as whoever asks names it. */
static void write_report(const char *how, int64_t time, struct who who, struct who parent, const char *path,
                 char *const *arguments, char *const *environment)
{
    static const char *const steps[] = { STEP_VARIABLES, NULL };
    static const char *const tags[] = { TAG_VARIABLES, NULL };
    char line[REPORT_BYTES], folder[SHORT_BYTES], rank[RANK_BYTES];
    struct about about = { who.pid, who.space, time };
    struct text text;
    long length = syscall(SYS_getcwd, folder, sizeof folder);
    begin_line(&text, line, sizeof line, "S5");
    add_field(&text, time);
    add_who(&text, who.pid, who.space);
    add_field(&text, time);
    add_parent(&text, parent.pid, parent.space, who.space);
    add_field(&text, syscall(SYS_getpgid, who.pid));
    add_field(&text, syscall(SYS_getsid, who.pid));
    add_field(&text, syscall(SYS_getuid));
    add_word(&text, how);
    add_reported(&text, &about, "rank", rank_of(environment, rank), 2 * RANK_BYTES);
    add_reported(&text, &about, "step", first_of(environment, steps), 32);
    add_reported(&text, &about, "tags", first_of(environment, tags), 256);
    add_reported(&text, &about, "directory", length > 1 && folder[0] == '/' ? folder : NULL, 256);
    add_reported(&text, &about, "path", path, 256);
    add_reported(&text, &about, "argv0", arguments == NULL ? NULL : arguments[0], 128);
    add_char(&text, '\t');
    add_reported_arguments(&text, &about, arguments);
    append(line, end_line(&text, line));
}

/* The last report of this process does not count. */
void take_back(pid_t pid, const char *why)
{
    char line[SHORT_BYTES];
    struct text text;
    int kept = errno;
    begin_line(&text, line, sizeof line, "N2");
    add_field(&text, now());
    add_who(&text, pid, caller_namespace());
    add_char(&text, '\t');
    add_word(&text, why);
    append(line, end_line(&text, line));
    errno = kept;
}

/* This process, or a child that borrows its memory, is about to become another program. False: nothing was reported. */
bool report_exec(const char *path, char *const *arguments, char *const *environment)
{
    if (!may_report())
        return false;
    int kept = errno;
    pid_t pid = kernel_pid();
    if (turned_off(environment)) {
        take_back(pid, "off");
        return false;
    }
    struct who who = { pid, process.space }, parent = { process.ppid, process.parent_space };
    if (pid != process.pid) {
        who.space = caller_namespace();
        pid_t above = (pid_t)syscall(SYS_getppid);
        /* a parent in another namespace has no id in ours: it is who made this copy of its memory */
        parent = above == 0 ? (struct who){ process.pid, process.space } : (struct who){ above, who.space };
    }
    write_report("\ttold", now(), who, parent, path, arguments, environment);
    errno = kept;
    return true;
}

/* A child was started as another program at once. */
void report_spawn(int64_t time, pid_t child, const char *path, char *const *arguments, char *const *environment)
{
    int kept = errno;
    uint64_t space = caller_namespace();
    if (may_report() && turned_off(environment))
        take_back(child, "off");
    else if (may_report())
        write_report("\tspawn", time, (struct who){ child, space }, (struct who){ kernel_pid(), space }, path, arguments, environment);
    errno = kept;
}

static int64_t microseconds(struct timeval t) { return t.tv_sec * 1000000LL + t.tv_usec; }

/* The peak memory that the kernel has of a child begins with that of the process it was forked from. */
static int64_t own_peak(const struct rusage *of_child)
{
    struct rusage usage;
    bool more = syscall(SYS_getrusage, RUSAGE_SELF, &usage) == 0 && of_child->ru_maxrss > usage.ru_maxrss;
    return more ? of_child->ru_maxrss : MISSING;
}

/* A child has ended, and this process has asked how. `used` is with what its own children used that it waited for. */
void report_end(pid_t child, int status, const struct rusage *used)
{
    if (!may_report())
        return;
    int kept = errno;
    char line[SHORT_BYTES];
    struct text text;
    begin_line(&text, line, sizeof line, "W2");
    add_field(&text, now());
    add_who(&text, child, caller_namespace());
    add_field(&text, kernel_pid());
    add_field(&text, status);
    add_field(&text, used == NULL ? MISSING : microseconds(used->ru_utime));
    add_field(&text, used == NULL ? MISSING : microseconds(used->ru_stime));
    add_field(&text, used == NULL ? MISSING : own_peak(used));
    add_field(&text, used == NULL ? MISSING : used->ru_minflt);
    add_field(&text, used == NULL ? MISSING : used->ru_majflt);
    add_field(&text, used == NULL ? MISSING : used->ru_inblock);
    add_field(&text, used == NULL ? MISSING : used->ru_oublock);
    add_field(&text, used == NULL ? MISSING : used->ru_nvcsw);
    add_field(&text, used == NULL ? MISSING : used->ru_nivcsw);
    append(line, end_line(&text, line));
    errno = kept;
}

/*
 * launch guard VERB COUNT UNRECORDED NODE [ARGUMENT...]
 *
 * Stands above Node while Tacho works in a job: what happens to Node must not happen to the job. The last COUNT arguments
 * are those of the verb, or for `run` its command (0: it is Node that decides whether there is one).
 *
 * run     Node is a child of ours, and so is the command, which we start when Node asks for it on the channel that
 *         TACHO_GUARD names. Whoever ends Node, the command runs to its end, and its end is ours. Node is asked once more,
 *         after it, to complete the recording (TACHO_ENDED, TACHO_ENDED_WHY).
 * agent   Node is a child of ours.
 * others  Node takes our place.
 *
 * Below a small memory limit Node is not started beside the job's own programs; where little is left it is ended before
 * the kernel has to choose.
 *
 * Node says "recording BYTES 0" and asks "start BYTES COUNT", each in a line with BYTES of texts behind it that a zero ends
 * each: the folder; COUNT words of the command, then its environment. It hears what launch.c reports. "try BYTES COUNT" asks
 * for a program beside it, whose end it hears in a line "tried STATUS". "done 0 0" says that it has nothing left to do, and
 * kills itself: to put itself away would take it longer. "up 0 0" says that it runs (see hold_stderr).
 */
#include "launch.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const long long MIB = 1 << 20;
/* Below such a limit nothing is sampled: Node and its samples take up to 45 MB. */
static const long long SAMPLED_LIMIT = 128;
/* With less than this left, no Node is started that stays; or that ends soon. */
static const long long ROOM_TO_STAY = 96, ROOM_TO_VISIT = 48;
/* With less than this left, Node gives way: the kernel takes about 15 ms to free its memory. */
static const long long GIVE_WAY = 48;
/* No program is taken to fill memory faster than this, in MiB a millisecond. */
static const long long FILLED_IN_MS = 4;

static const int watched[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ, SIGALRM,
                               SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT, SIGPIPE, SIGCHLD };

static sigset_t usual;
static int signals = -1, channel = -1;
static char **node_words;
static struct command command;
static pid_t node;
static int node_status;
static int usr1_waits;
static int is_done;
static pid_t tried;
/* Nobody has tried yet whether Node starts here; what it says on stderr before it is up goes to `early`. */
static int is_untried, is_up, early = -1;
/* Node could start, but not take its stderr. */
enum { NO_STDERR = 97 };
/* Why the command is not recorded, or no longer; NULL: it is. */
static const char *why;
static char why_text[256];
static char recording[4200];

static void use_usual_signals(void) { sigprocmask(SIG_SETMASK, &usual, NULL); }

static void say(const char *what, const char *reason)
{
    dprintf(2, reason == NULL ? "tacho: %s\n" : "tacho: %s: %s\n", what, reason);
}

static const char *signal_name(int number)
{
    static char text[32];
    switch (number) {
    case SIGKILL: return "SIGKILL";
    case SIGTERM: return "SIGTERM";
    case SIGABRT: return "SIGABRT";
    case SIGSEGV: return "SIGSEGV";
    case SIGBUS: return "SIGBUS";
    case SIGTRAP: return "SIGTRAP";
    }
    snprintf(text, sizeof text, "signal %d", number);
    return text;
}

/* The end of Node that nobody asked for: the kernel's, kill -9, a fault of its own. */
static int is_crash(int status)
{
    if (!WIFSIGNALED(status))
        return 0;
    switch (WTERMSIG(status)) {
    case SIGKILL: case SIGABRT: case SIGSEGV: case SIGBUS: case SIGILL: case SIGFPE: case SIGTRAP: case SIGSYS: return 1;
    }
    return 0;
}

static int has_name(const char *variable, const char *name)
{
    size_t length = strlen(name);
    return strncmp(variable, name, length) == 0 && variable[length] == '=';
}

/* The environment that Tacho was called with: what the launcher script set for Node is taken back. */
static char **users_environment(void)
{
    static const char aside[] = "TACHO_ASIDE_";
    static const char *const set[] = { "TACHO_OWN", "TACHO_ARENAS", "TACHO_DESCRIPTORS", "NODE_COMPILE_CACHE" };
    int count = 0, kept = 0, arenas = getenv("TACHO_ARENAS") != NULL;
    while (environ[count] != NULL)
        count++;
    char **theirs = malloc((size_t)(count + 1) * sizeof *theirs);
    for (int i = 0; theirs != NULL && i < count; i++) {
        int is_ours = arenas && has_name(environ[i], "MALLOC_ARENA_MAX");
        for (size_t each = 0; each < sizeof set / sizeof *set; each++)
            is_ours |= has_name(environ[i], set[each]);
        if (!is_ours)
            theirs[kept++] = environ[i] + (strncmp(environ[i], aside, sizeof aside - 1) == 0 ? sizeof aside - 1 : 0);
    }
    if (theirs != NULL)
        theirs[kept] = NULL;
    return theirs == NULL ? environ : theirs;
}

/* What the launcher script had used when Tacho was installed, as /proc/self/stat has it; NULL: it was there. */
static char *installed;

/*
 * CPU time of this process since the launcher script began, with what it waited for; that shell had used TACHO_OWN before.
 * Where it has installed Tacho first, that is no cost of recording: it had used `installed` when that was over.
 */
static long long own_microseconds(void)
{
    struct rusage used;
    long long all = 0, before[4] = { 0 };
    for (int i = 0; i < 2; i++) {
        getrusage(i == 0 ? RUSAGE_SELF : RUSAGE_CHILDREN, &used);
        all += (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000LL + used.ru_utime.tv_usec + used.ru_stime.tv_usec;
    }
    const char *stat = installed != NULL ? installed : getenv("TACHO_OWN"), *rest = stat == NULL ? NULL : strrchr(stat, ')');
    if (rest != NULL && sscanf(rest, ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld %lld", &before[0], &before[1],
                               &before[2], &before[3]) == 4)
        all -= (before[0] + before[1] + before[2] + before[3]) * (1000000 / sysconf(_SC_CLK_TCK));
    return all < 0 ? 0 : all;
}

/* A file in memory; older kernels have none. */
static int open_early(void)
{
#ifdef SYS_memfd_create
    return (int)syscall(SYS_memfd_create, "stderr", 1 /* close on exec */);
#else
    return -1;
#endif
}

/*
 * In a container Node may be of another machine, or lack its C library: trying that first takes 5 ms. So it has to say that it is
 * up, and its stderr is a file in memory until then. The third number of TACHO_GUARD is the descriptor of the real one, which
 * native/node-up.c puts in its place, or 1: it has it already.
 */
static int hold_stderr(void)
{
    int real = early < 0 ? -1 : fcntl(2, F_DUPFD, 3);
    return real >= 0 && dup2(early, 2) == 2 ? real : 1;
}

static void start_node(void)
{
    static char named[96];
    int ends[2] = { -1, -1 };
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0) {
        channel = high(ends[0]);
    }
    pid_t self = getpid();
    /* of the command, once it has gone, wait4 reports */
    long long used = command.ended ? 0 : own_microseconds();
    if (is_untried)
        early = open_early();
    node = fork();
    if (node == 0) {
        /* who kills us means Tacho */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != self)
            _exit(126);
        /* where memory runs out, Node gives way to the job */
        int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
        if (score >= 0 && write(score, "1000", 4) < 0)
            errno = 0;
        use_usual_signals();
        /* those that only an application knows */
        for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
            signal(number, SIG_IGN);
        /* Node keeps those below 16 from what it starts */
        int report_to = fcntl(ends[1], F_DUPFD, 3);
        snprintf(named, sizeof named, is_untried ? "TACHO_GUARD=%d %lld %d" : "TACHO_GUARD=%d %lld", report_to, used, hold_stderr());
        putenv(named);
        putenv("TACHO_OWN=1");
        execv(node_words[0], node_words);
        if (early >= 0)
            dprintf(2, "%s: %s\n", node_words[0], errno == ENOENT ? "not found" : strerror(errno));
        _exit(126);
    }
    if (node < 0) {
        node = 0;
        node_status = SIGKILL;
    }
    if (ends[1] >= 0)
        close(ends[1]);
}

static void notify_node(const char *text)
{
    if (channel >= 0 && send(channel, text, strlen(text), MSG_NOSIGNAL) < 0)
        errno = 0;
}

static void run_command(char **words, char **environment)
{
    char line[64];
    start_command(&command, words, environment, use_usual_signals);
    if (command.failed != 0)
        snprintf(line, sizeof line, "failed %d\n", command.failed);
    else
        snprintf(line, sizeof line, "started %d %lld\n", (int)command.pid, command.start);
    notify_node(line);
    if (command.failed != 0) {
        if (command.pid > 0)
            waitpid(command.pid, NULL, 0);
        command.pid = 0;
    } else if (usr1_waits)
        kill(command.pid, SIGUSR1);
}

/* A program that Node wants to know the end of; we are small, and have a copy sooner than Node. */
static void try_program(char **words, char **environment)
{
    tried = fork();
    if (tried < 0)
        notify_node("tried -1\n");
    if (tried != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    use_usual_signals();
    int nothing = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(nothing, fd);
    execve(words[0], words, environment);
    _exit(126);
}

/* Whether all of it has come; Node writes it at once, and may be killed meanwhile. */
static int receive(char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t got = read(channel, bytes, size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return 0;
        bytes += got;
        size -= (size_t)got;
    }
    return 1;
}

static void hear_node(void)
{
    char line[64];
    size_t used = 0, size = 0;
    int count = 0;
    do {
        if (used + 1 == sizeof line || !receive(line + used, 1)) {
            close(channel);
            channel = -1;
            return;
        }
    } while (line[used++] != '\n');
    line[used] = '\0';
    char what[16] = "", *bytes = NULL, **texts = NULL;
    if (command.ended && strcmp(line, "done 0 0\n") == 0)
        is_done = 1;
    if (strcmp(line, "up 0 0\n") == 0)
        is_up = 1;
    if (sscanf(line, "%15s %zu %d", what, &size, &count) == 3 && size > 0 && count >= 0 && (bytes = malloc(size)) != NULL &&
        receive(bytes, size))
        texts = texts_of(bytes, size);
    /* the command is started once */
    if (command.pid != 0 && strcmp(what, "try") != 0)
        return;
    if (texts != NULL && strcmp(what, "recording") == 0)
        snprintf(recording, sizeof recording, "%s", bytes);
    int is_start = strcmp(what, "start") == 0, is_trial = strcmp(what, "try") == 0;
    char **words = texts != NULL && count > 0 && (is_start || is_trial) ? malloc((size_t)(count + 1) * sizeof *words) : NULL;
    if (words == NULL)
        return;
    memcpy(words, texts, (size_t)count * sizeof *words);
    words[count] = NULL;
    restore_arguments(words, node_words);
    restore_environment(texts + count, environ);
    if (is_start)
        run_command(words, texts + count);
    else
        try_program(words, texts + count);
    free(words);
    free(texts);
    free(bytes);
}

static void reap(void)
{
    int status;
    struct rusage used;
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &used)) > 0;) {
        if (pid == command.pid && !command.ended) {
            note_end(&command, status, &used);
            notify_node(command.report);
        } else if (pid == tried) {
            char line[32];
            snprintf(line, sizeof line, "tried %d\n", status);
            notify_node(line);
        } else if (pid == node) {
            node_status = status;
            node = 0;
        }
    }
}

/* What a terminal sends reaches the whole group; what is sent to us alone is passed on. */
static void pass_on(const struct signalfd_siginfo *info)
{
    int number = (int)info->ssi_signo;
    int runs = command.pid > 0 && !command.ended;
    if (info->ssi_code == SI_KERNEL || number == SIGPIPE)
        return;
    if (!runs && !command.ended && number == SIGUSR1)
        usr1_waits = 1;
    else if (runs)
        kill(command.pid, number);
    else if (node > 0)
        kill(node, number);
}

/* How long memory can wait to be looked at, in milliseconds; ends Node where too little is left. */
static int watch_memory(void)
{
    long long left = node > 0 && !command.ended && why == NULL ? room() : -1;
    if (left < 0)
        return -1;
    left = left / MIB - GIVE_WAY;
    if (left < 0) {
        snprintf(why_text, sizeof why_text, "less than %lld MiB of the job's memory limit were left", GIVE_WAY);
        why = why_text;
        kill(node, SIGKILL);
        return -1;
    }
    long long wait = left / FILLED_IN_MS;
    return wait < 2 ? 2 : wait > 1000 ? 1000 : (int)wait;
}

/* Until Node has gone; or the command. */
static void watch(int for_node)
{
    while (for_node ? node > 0 : command.pid > 0 && !command.ended) {
        struct pollfd polled[2] = { { .fd = signals, .events = POLLIN }, { .fd = channel, .events = POLLIN } };
        int ready = poll(polled, channel >= 0 ? 2 : 1, watch_memory());
        if (ready <= 0)
            continue;
        if (channel >= 0 && polled[1].revents != 0)
            hear_node();
        struct signalfd_siginfo info;
        if (polled[0].revents == 0 || read(signals, &info, sizeof info) != (ssize_t)sizeof info)
            continue;
        if (info.ssi_signo == SIGCHLD)
            reap();
        else
            pass_on(&info);
    }
    if (node > 0 || channel < 0)
        return;
    /* what Node asked for before it was killed */
    fcntl(channel, F_SETFL, O_NONBLOCK);
    while (channel >= 0)
        hear_node();
}

/* Ends as the other has ended: a shell should see these signals; others would dump our own core, or cannot be caught. */
static int end_as(int status)
{
    static const int raised[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM };
    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    for (size_t i = 0; i < sizeof raised / sizeof *raised; i++) {
        if (raised[i] != WTERMSIG(status))
            continue;
        struct rlimit none = { 0, 0 };
        sigset_t only;
        setrlimit(RLIMIT_CORE, &none);
        sigemptyset(&only);
        sigaddset(&only, raised[i]);
        raise(raised[i]);
        sigprocmask(SIG_UNBLOCK, &only, NULL);
    }
    return 128 + WTERMSIG(status);
}

static void note_why(const char *what)
{
    snprintf(why_text, sizeof why_text, "Tacho's recorder was ended by %s", what);
    why = why_text;
}

/* The command without Node; its words are the last of our own. */
static void run_alone(char **words)
{
    say("the command runs, but is not sampled", why);
    run_command(words, users_environment());
    watch(0);
}

/* What Node said before it was up: passed on, or its first line as why it does not start. */
static void report_early(int is_why)
{
    char text[200] = "";
    if (early < 0 || lseek(early, 0, SEEK_SET) < 0)
        return;
    ssize_t got = read(early, text, sizeof text - 1);
    if (is_why && got > 0) {
        text[strcspn(text, "\n")] = '\0';
        snprintf(why_text, sizeof why_text, "Node does not start here: %s", text);
    } else
        for (; got > 0 && write(2, text, (size_t)got) > 0; got = read(early, text, sizeof text))
            ;
    close(early);
    early = -1;
}

/* Node completes the recording, or makes one without samples, when the command has gone. */
static void complete_recording(void)
{
    char ended[512];
    is_untried = 0;
    report_early(0);
    if (room() >= 0 && room() < ROOM_TO_VISIT * MIB) {
        say(recording[0] == '\0' ? "the command was not recorded" : "the recording is not complete", why);
        return;
    }
    snprintf(ended, sizeof ended, "%d %lld %s", (int)command.pid, command.start, command.report);
    setenv("TACHO_ENDED", ended, 1);
    setenv("TACHO_ENDED_WHY", why, 1);
    if (recording[0] != '\0')
        setenv("TACHO_ENDED_RECORDING", recording, 1);
    start_node();
    watch(1);
}

/* The command in our place, as where the launcher script finds that Node does not start. */
static int run_unrecorded(char **words, const char *script)
{
    int count = 0;
    while (words[count] != NULL)
        count++;
    char *instead[count + 6];
    memcpy(instead, (char *[]){ "sh", (char *)script, (char *)why, "run", "--" }, 5 * sizeof *instead);
    memcpy(instead + 5, words, (size_t)(count + 1) * sizeof *words);
    use_usual_signals();
    execve("/bin/sh", instead, users_environment());
    return 126;
}

static int run(char **words, const char *unrecorded)
{
    if (words == NULL || why == NULL) {
        why = NULL;
        start_node();
        watch(1);
        if (is_untried && !is_up && WIFEXITED(node_status) && command.pid == 0 && words != NULL) {
            is_untried = 0;
            if (WEXITSTATUS(node_status) != NO_STDERR) {
                snprintf(why_text, sizeof why_text, "Node does not start here: exit code %d", WEXITSTATUS(node_status));
                why = why_text;
                report_early(1);
                return run_unrecorded(words, unrecorded);
            }
            early = -1;
            start_node();
            watch(1);
        }
        report_early(0);
        if (command.ended) {
            if (!is_done && is_crash(node_status)) {
                note_why(signal_name(WTERMSIG(node_status)));
                say("the report is missing", why);
            }
            /* Ctrl-C while the report is written ends a script, too */
            int ctrl_c = WIFSIGNALED(node_status) && WTERMSIG(node_status) == SIGINT;
            return end_as(ctrl_c ? node_status : command.status);
        }
        if (!is_crash(node_status) || (command.pid == 0 && words == NULL))
            return end_as(node_status);
        if (why == NULL)
            note_why(signal_name(WTERMSIG(node_status)));
    }
    if (command.pid == 0)
        run_alone(words);
    else {
        say("the command goes on, and is no longer recorded", why);
        watch(0);
    }
    if (command.failed != 0) {
        dprintf(2, "tacho: cannot run %s: %s\n", words[0], strerror(command.failed));
        return command.failed == ENOENT ? 127 : 126;
    }
    complete_recording();
    return end_as(command.status);
}

static int is_too_small(int stays)
{
    long long limit = smallest_limit(), left = room(), needed = stays ? ROOM_TO_STAY : ROOM_TO_VISIT;
    if (stays && limit >= 0 && limit < SAMPLED_LIMIT * MIB)
        snprintf(why_text, sizeof why_text, "the memory limit of the job is %.1f MiB; sampling begins at %lld MiB",
                 (double)limit / (double)MIB, SAMPLED_LIMIT);
    else if (left >= 0 && left < needed * MIB)
        snprintf(why_text, sizeof why_text, "%.1f MiB of the job's memory limit are left, and Tacho needs %lld MiB",
                 (double)left / (double)MIB, needed);
    else
        return 0;
    why = why_text;
    return 1;
}

int guard(char **argv)
{
    int words = 0, count = argv[0] == NULL || argv[1] == NULL ? 0 : atoi(argv[1]);
    /* asked whether this program runs here */
    if (argv[0] == NULL)
        return 0;
    if (argv[1] == NULL || argv[2] == NULL || argv[3] == NULL)
        return 2;
    installed = getenv("TACHO_INSTALLED");
    if (installed != NULL) {
        installed = strdup(installed);
        unsetenv("TACHO_INSTALLED");
    }
    is_untried = getenv("TACHO_UNTRIED") != NULL;
    unsetenv("TACHO_UNTRIED");
    char *verb = argv[0], *unrecorded = argv[2];
    node_words = argv + 3;
    while (node_words[words] != NULL)
        words++;
    char **last = count > 0 && count < words ? node_words + words - count : NULL;
    find_limits();
    int stays = strcmp(verb, "run") == 0 || strcmp(verb, "agent") == 0;
    int refused = is_too_small(stays);
    if (!stays && refused) {
        char *instead[words + 5];
        instead[0] = "sh";
        instead[1] = unrecorded;
        instead[2] = (char *)why;
        for (int i = 0; i <= count; i++)
            instead[3 + i] = last == NULL ? NULL : last[i];
        execv("/bin/sh", instead);
    }
    if (!stays) {
        /* of a job that begins, nothing may be sampled */
        if (is_too_small(1))
            setenv("TACHO_UNSAMPLED", why, 1);
        execv(node_words[0], node_words);
        return 126;
    }
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof watched / sizeof *watched; i++)
        sigaddset(&blocked, watched[i]);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        sigaddset(&blocked, number);
    sigprocmask(SIG_BLOCK, &blocked, &usual);
    signals = high(signalfd(-1, &blocked, SFD_CLOEXEC));
    if (strcmp(verb, "run") == 0)
        return run(last, unrecorded);
    if (refused) {
        say("not recorded", why);
        return 1;
    }
    start_node();
    watch(1);
    if (why != NULL)
        say("recording has ended", why);
    return end_as(node_status);
}

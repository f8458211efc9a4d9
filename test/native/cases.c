/*
 * cases NAME [ARGUMENT...]
 *
 * A program that does one thing that programs do, by its name: the ways to end, to start others, to have threads, and
 * to treat descriptors. Tests run it with libtacho-record.so and look at what was recorded.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static char **words;

static int number(int i) { return words[i] == NULL ? 0 : atoi(words[i]); }

/* Uses the CPU for so many milliseconds, by this thread's own clock. */
static void burn(long milliseconds)
{
    struct timespec begin, t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    while ((t.tv_sec - begin.tv_sec) * 1000000000LL + (t.tv_nsec - begin.tv_nsec) < milliseconds * 1000000LL);
}

/* Ends */
static int case_exit(void) { return number(0); }
static int case__exit(void) { _exit(number(0)); }
static int case__Exit(void) { _Exit(number(0)); }
static int case_quick_exit(void) { quick_exit(number(0)); }
static int case_raw_exit(void) { return (int)syscall(SYS_exit_group, number(0)); }
static int case_raise(void)
{
    raise(number(0));
    pause();
    return 0;
}
static int case_abort(void) { abort(); }
static void say_goodbye(void) { burn(30); }
static int case_atexit(void)
{
    atexit(say_goodbye);
    return 0;
}

/* What it uses */
static int case_burn(void)
{
    burn(number(0));
    return 0;
}
static int case_memory(void)
{
    size_t bytes = (size_t)number(0) << 20;
    char *memory = malloc(bytes);
    memset(memory, 1, bytes);
    if (words[1] == NULL)
        return memory[bytes - 1] - 1;
    return execlp(words[1], words[1], "small", (char *)NULL);
}
static int case_write(void)
{
    static char zeros[1000];
    int file = open(words[0], O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < 100; i++)
        if (write(file, zeros, sizeof zeros) < 0)
            return 1;
    lseek(file, 0, SEEK_SET);
    while (read(file, zeros, 500) > 0)
        ;
    return 0;
}
/* What stdio holds is written by exit, after everything else. */
static int case_print(void)
{
    for (int i = 0; i < 300; i++)
        printf("0123456789\n");
    return 0;
}

/* Children */
static int wait_for_all(void)
{
    while (wait(NULL) > 0 || errno == EINTR)
        ;
    return 0;
}
static int case_fork_exit(void)
{
    if (fork() == 0) {
        burn(20);
        exit(9);
    }
    return wait_for_all();
}
static int case_fork__exit(void)
{
    if (fork() == 0)
        _exit(9);
    return wait_for_all();
}
static int case_fork_killed(void)
{
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    usleep(20000);
    kill(child, SIGKILL);
    return wait_for_all();
}
static int case_fork_exec(void)
{
    if (fork() == 0) {
        execl("/bin/true", "true", "child", (char *)NULL);
        _exit(1);
    }
    return wait_for_all();
}
static int case_fork_work_exec(void)
{
    if (fork() == 0) {
        burn(30);
        execl("/bin/true", "true", "child", (char *)NULL);
    }
    return wait_for_all();
}
static int case_vfork_exec(void)
{
    if (vfork() == 0) {
        execl("/bin/true", "true", "child", (char *)NULL);
        _exit(1);
    }
    return wait_for_all();
}
static int case_vfork_exit(void)
{
    if (vfork() == 0)
        _exit(11);
    return wait_for_all();
}
static int case_spawn(void)
{
    pid_t child;
    char *arguments[] = { "true", "child", NULL };
    posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ);
    return wait_for_all();
}
/* The words are a program and its arguments. */
static int case_fork_exec_this(void)
{
    if (fork() == 0) {
        execv(words[0], words);
        _exit(1);
    }
    return wait_for_all();
}
static int case_vfork_exec_this(void)
{
    if (vfork() == 0) {
        execve(words[0], words, environ);
        _exit(1);
    }
    return wait_for_all();
}
static int case_spawn_this(void)
{
    pid_t child;
    posix_spawn(&child, words[0], NULL, NULL, words, environ);
    return wait_for_all();
}
static int case_spawnp_this(void)
{
    pid_t child;
    posix_spawnp(&child, words[0], NULL, NULL, words, environ);
    return wait_for_all();
}
static int case_system_this(void) { return system(words[0]); }
static int case_burn_and_exit(void)
{
    burn(number(0));
    return number(1);
}
/* Answers with the signal that ended the child, as the kind of wait says it. */
static int case_wait_for_killed(void)
{
    struct rusage used;
    siginfo_t info = { 0 };
    int status = 0;
    pid_t child = fork(), found = 0;
    if (child == 0) {
        burn(20);
        kill(getpid(), SIGKILL);
    }
    if (strcmp(words[0], "wait") == 0)
        found = wait(&status);
    else if (strcmp(words[0], "waitpid") == 0)
        found = waitpid(child, &status, 0);
    else if (strcmp(words[0], "wait3") == 0)
        found = wait3(&status, 0, &used);
    else if (strcmp(words[0], "wait4") == 0)
        found = wait4(child, &status, 0, &used);
    else if (waitid(P_PID, child, &info, WEXITED) == 0) {
        found = info.si_pid;
        status = info.si_status;
    }
    return found == child ? WTERMSIG(status) : 98;
}
static int case_system(void) { return system("/bin/true child"); }
/* The shell kills itself. What did the caller see, of it and of the signals of keys? */
static int case_killed_shells(void)
{
    int status[3];
    struct sigaction now;
    FILE *streams[2];
    status[0] = system("kill -9 $$");
    streams[0] = popen("read line; kill -9 $$", "w");
    streams[1] = popen("read line; kill -15 $$", "w");
    for (int i = 0; i < 2; i++) {
        fputs("go\n", streams[i]);
        status[1 + i] = pclose(streams[i]);
    }
    sigaction(SIGINT, NULL, &now);
    printf("%d %d %d %s\n", status[0], status[1], status[2], now.sa_handler == SIG_DFL ? "default" : "changed");
    return 0;
}
/* system as its users know it: exit codes, no such command, an option as a command, errno, SIGCHLD, the empty question. */
static int case_system_answers(void)
{
    sigset_t before, after;
    sigprocmask(SIG_SETMASK, NULL, &before);
    errno = 77;
    int asked = system(NULL) != 0, code = WEXITSTATUS(system("exit 5")), kept = errno;
    int missing = WEXITSTATUS(system("no-such-command-at-all 2>/dev/null"));
    int option = WEXITSTATUS(system("-x 2>/dev/null"));
    sigprocmask(SIG_SETMASK, NULL, &after);
    signal(SIGCHLD, SIG_IGN);
    int reaped = system("exit 6"), why = errno;
    printf("%d %d %d %d %d %d %d %d\n", asked, code, kept, missing, option, memcmp(&before, &after, 8), reaped, why == ECHILD);
    return 0;
}
static void *call_system(void *unused) { return (void *)(long)WEXITSTATUS(system("sleep 0.05; kill -INT $PPID; exit 3")); }
static int case_systems_at_once(void)
{
    pthread_t threads[4];
    void *code;
    int sum = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, call_system, NULL);
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], &code);
        sum += (int)(long)code;
    }
    return sum;
}
static int case_popen(void)
{
    char line[100];
    FILE *child = popen("/bin/echo child", "r");
    if (fgets(line, sizeof line, child) == NULL)
        return 1;
    return pclose(child);
}
static int end_raw(void *unused)
{
    (void)unused;
    syscall(SYS_exit_group, 7);
    return 0;
}
static int case_clone(void)
{
    char *stack = malloc(65536);
    pid_t child = clone(end_raw, stack + 65536, SIGCHLD, NULL);
    waitpid(child, NULL, 0);
    return 0;
}
static int case_orphan(void)
{
    if (fork() == 0) {
        usleep(50000);
        exit(12);
    }
    return 0;
}
static int case_daemon(void)
{
    if (daemon(0, 0) != 0)
        return 1;
    burn(20);
    return 15;
}
static int case_daemon_closing(void)
{
    if (daemon(0, 0) != 0)
        return 1;
    for (int i = 0; i < 2000; i++)
        close(i);
    burn(20);
    return 16;
}

/* Other programs in its place */
static int case_exec(void) { return execlp("true", "true", "next", (char *)NULL); }
static int case_execle(void)
{
    char *few[] = { "LANG=C", NULL };
    return execle("/bin/true", "true", "next", (char *)NULL, few);
}
static int case_exec_missing(void)
{
    execl("/no/such/program", "x", (char *)NULL);
    return 13;
}
static int case_exec_text(void)
{
    execl(words[0], "x", (char *)NULL);
    return 14;
}
static int case_errno(void)
{
    errno = 77;
    if (fork() == 0)
        _exit(errno == 77 ? 0 : 1);
    int status;
    wait(&status);
    return WEXITSTATUS(status);
}

/* Threads */
static void *work(void *milliseconds)
{
    burn((long)milliseconds);
    return NULL;
}
static void *work_and_leave(void *milliseconds)
{
    burn((long)milliseconds);
    pthread_exit(NULL);
}
/* Waits until so many threads are left, those that have ended and only wait for the others not counted. */
static void wait_for_threads(int left)
{
    int alive;
    do {
        DIR *tasks = opendir("/proc/self/task");
        struct dirent *task;
        usleep(1000);
        for (alive = 0; (task = readdir(tasks)) != NULL;) {
            char name[300], text[100] = "", state = 'Z';
            snprintf(name, sizeof name, "/proc/self/task/%s/stat", task->d_name);
            FILE *stat = task->d_name[0] == '.' ? NULL : fopen(name, "r");
            if (stat == NULL)
                continue;
            if (fgets(text, sizeof text, stat) != NULL && strrchr(text, ')') != NULL)
                state = strrchr(text, ')')[2];
            alive += state != 'Z';
            fclose(stat);
        }
        closedir(tasks);
    } while (alive > left);
}
static void *work_alone(void *milliseconds)
{
    wait_for_threads(1);
    burn((long)milliseconds);
    return NULL;
}
static void *sleep_on(void *unused)
{
    for (;;)
        pause();
    return unused;
}
static void *burn_on(void *unused)
{
    for (;;)
        burn(5);
    return unused;
}
static void *exec_now(void *unused)
{
    execl("/bin/echo", "echo", "from a thread", (char *)NULL);
    return unused;
}
static void *exit_now(void *unused)
{
    burn(20);
    exit(21);
    return unused;
}
static int case_threads(void)
{
    pthread_t threads[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, i % 2 ? work_and_leave : work, (void *)(20 * (i + 1)));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
static int c11_work(void *milliseconds)
{
    burn((long)milliseconds);
    return 5;
}
static int case_c11_thread(void)
{
    thrd_t thread;
    int answer = 0;
    if (thrd_create(&thread, c11_work, (void *)30) != thrd_success)
        return 1;
    thrd_join(thread, &answer);
    return answer;
}
static int case_many_threads(void)
{
    for (int i = 0; i < number(0); i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0)
            return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
static int case_cancel(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, sleep_on, NULL);
    usleep(30000);
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    return 0;
}
static int case_running(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, burn_on, NULL);
    burn(60);
    return 0;
}
static int case_detached(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work, (void *)20);
    pthread_detach(thread);
    wait_for_threads(1);
    return 0;
}
static int case_first_leaves(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, work_alone, (void *)30);
    pthread_exit(NULL);
}
static int case_alone(void)
{
    wait_for_threads(1);
    return 0;
}
static int case_thread_execs(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exec_now, NULL);
    for (;;)
        pause();
}
static int case_thread_exits(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, exit_now, NULL);
    for (;;)
        pause();
}
static int case_small_stack(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16384);
    if (pthread_create(&thread, &attributes, work, (void *)20) != 0)
        return 18;
    pthread_join(thread, NULL);
    return 0;
}
static int case_thread_forks(void)
{
    case_many_threads();
    return case_fork_exit();
}

/* Descriptors and limits */
static int case_reuse_descriptors(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    for (rlim_t i = 3; i < limit.rlim_cur && i < 4096; i++)
        close((int)i);
    int mine = open("/dev/null", O_RDONLY);
    for (rlim_t i = 3; i < limit.rlim_cur && i < 4096; i++)
        dup2(mine, (int)i);
    return mine == 3 ? 0 : 1;
}
/* The lowest descriptor that is free: 3, as long as nobody else has one. */
static int case_first_descriptor(void) { return open("/dev/null", O_RDONLY); }
static int case_file_limit(void)
{
    struct rlimit limit = { 100, 100 };
    setrlimit(RLIMIT_FSIZE, &limit);
    return 0;
}

/* Many threads at once that start threads, fork and exec, until the process ends in the middle of it. */
static void *be_busy(void *depth)
{
    for (long i = 0; i < 20; i++) {
        pthread_t thread;
        if ((long)depth > 0 && pthread_create(&thread, NULL, be_busy, (void *)((long)depth - 1)) == 0)
            pthread_detach(thread);
        if (i % 10 == 3 && fork() == 0) {
            if (i == 13)
                execl("/bin/true", "true", "busy", (char *)NULL);
            /* exit would wait for locks that other threads held in the parent */
            _exit(0);
        }
    }
    return NULL;
}
static int case_turmoil(void)
{
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, be_busy, (void *)1);
    pthread_join(threads[0], NULL);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} cases[] = {
    { "exit", case_exit }, { "_exit", case__exit }, { "_Exit", case__Exit }, { "quick_exit", case_quick_exit },
    { "raw_exit", case_raw_exit }, { "raise", case_raise }, { "abort", case_abort }, { "atexit", case_atexit },
    { "burn", case_burn }, { "memory", case_memory }, { "write", case_write }, { "print", case_print },
    { "fork_exit", case_fork_exit }, { "fork__exit", case_fork__exit }, { "fork_killed", case_fork_killed },
    { "fork_exec", case_fork_exec }, { "fork_work_exec", case_fork_work_exec }, { "vfork_exec", case_vfork_exec },
    { "vfork_exit", case_vfork_exit }, { "spawn", case_spawn }, { "system", case_system }, { "popen", case_popen },
    { "killed_shells", case_killed_shells }, { "system_answers", case_system_answers },
    { "systems_at_once", case_systems_at_once },
    { "fork_exec_this", case_fork_exec_this }, { "vfork_exec_this", case_vfork_exec_this },
    { "spawn_this", case_spawn_this }, { "spawnp_this", case_spawnp_this }, { "system_this", case_system_this },
    { "burn_and_exit", case_burn_and_exit }, { "wait_for_killed", case_wait_for_killed },
    { "clone", case_clone }, { "orphan", case_orphan }, { "daemon", case_daemon },
    { "daemon_closing", case_daemon_closing }, { "exec", case_exec }, { "execle", case_execle },
    { "exec_missing", case_exec_missing }, { "exec_text", case_exec_text }, { "errno", case_errno },
    { "c11_thread", case_c11_thread }, { "threads", case_threads }, { "many_threads", case_many_threads },
    { "cancel", case_cancel },
    { "running", case_running }, { "alone", case_alone }, { "detached", case_detached }, { "first_leaves", case_first_leaves },
    { "thread_execs", case_thread_execs }, { "thread_exits", case_thread_exits }, { "small_stack", case_small_stack },
    { "thread_forks", case_thread_forks }, { "reuse_descriptors", case_reuse_descriptors },
    { "first_descriptor", case_first_descriptor }, { "file_limit", case_file_limit },
    { "turmoil", case_turmoil },
};

int main(int argc, char **argv)
{
    words = argv + 2;
    for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            return cases[i].run();
    fprintf(stderr, "there is no case %s\n", argc > 1 ? argv[1] : "");
    return 99;
}

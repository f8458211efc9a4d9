/*
 * Jobs of known size. Each prints what it knows of itself as one JSON object.
 *
 *   job in FOLDER... -- COMMAND...   moves itself into these cgroups, then becomes the command
 *   job spin SECONDS [THREADS]       uses so much CPU time, in each thread
 *   job fork N SECONDS               N children one after the other, each uses so much CPU time
 *   job spawn N SECONDS              the same with posix_spawn of itself
 *   job chain N SECONDS              becomes itself N times by exec, using so much before each
 *   job orphan SECONDS               a grandchild that nobody waits for works, and ends before the job does
 *   job killed SECONDS               a child works, and is ended by signal 9
 *   job hold MEBIBYTES SECONDS       fills so much memory and keeps it
 *   job share MEBIBYTES N SECONDS    N children read the memory that their parent shares with them
 *   job leak MEBIBYTES SECONDS       takes so much memory each second
 *   job write FILE MEBIBYTES         writes so much, in pieces of 64 KiB
 *   job read FILE                    reads all of it, in pieces of 64 KiB
 *   job touch FILE                   drops it from the cache, maps it and looks at each page
 *   job nap N                        sleeps N times for a millisecond
 *   job clock SECONDS                sleeps, and tells when it began and ended
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double seconds_in(struct timeval time) { return (double)time.tv_sec + (double)time.tv_usec / 1e6; }

/* How long its main thread was ready to run, and had no CPU. */
static double waited_seconds(void)
{
    unsigned long long ran = 0, waited = 0;
    FILE *file = fopen("/proc/self/schedstat", "r");
    if (file == NULL || fscanf(file, "%llu %llu", &ran, &waited) != 2)
        waited = 0;
    if (file != NULL)
        fclose(file);
    return (double)waited / 1e9;
}

/* What it read and wrote by system calls, as the kernel counts it. */
struct transfers { unsigned long long read, written, read_calls, write_calls; };

static struct transfers transfers_so_far(void)
{
    struct transfers moved = { 0, 0, 0, 0 };
    FILE *file = fopen("/proc/self/io", "r");
    if (file == NULL || fscanf(file, "rchar: %llu wchar: %llu syscr: %llu syscw: %llu", &moved.read, &moved.written,
                            &moved.read_calls, &moved.write_calls) != 4)
        moved = (struct transfers){ 0, 0, 0, 0 };
    if (file != NULL)
        fclose(file);
    return moved;
}

static void burn(clockid_t clock, double seconds)
{
    double until = seconds_of(clock) + seconds;
    while (seconds_of(clock) < until)
        for (volatile int i = 0; i < 20000; i++)
            ;
}

static void *burn_thread(void *seconds)
{
    burn(CLOCK_THREAD_CPUTIME_ID, *(double *)seconds);
    return NULL;
}

static void pause_for(double seconds)
{
    struct timespec left = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };
    while (nanosleep(&left, &left) != 0)
        ;
}

static char *fill(size_t bytes, int shared)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        exit(3);
    for (size_t i = 0; i < bytes; i += 4096)
        memory[i] = 1;
    return memory;
}

static int into(int count, char **words)
{
    int i = 2;
    for (; i < count && strcmp(words[i], "--") != 0; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/cgroup.procs", words[i]);
        int file = open(path, O_WRONLY);
        if (file < 0 || write(file, "0", 1) != 1) {
            perror(path);
            return 3;
        }
        close(file);
    }
    execvp(words[i + 1], words + i + 1);
    perror(words[i + 1]);
    return 3;
}

int main(int count, char **words)
{
    const char *verb = count > 1 ? words[1] : "";
    double first = count > 2 ? atof(words[2]) : 0, second = count > 3 ? atof(words[3]) : 0;
    double began = seconds_of(CLOCK_REALTIME);
    if (strcmp(verb, "in") == 0)
        return into(count, words);
    if (strcmp(verb, "spin") == 0) {
        pthread_t threads[64];
        int more = (int)second - 1;
        for (int i = 0; i < more; i++)
            pthread_create(&threads[i], NULL, burn_thread, &first);
        burn(CLOCK_THREAD_CPUTIME_ID, first);
        for (int i = 0; i < more; i++)
            pthread_join(threads[i], NULL);
    } else if (strcmp(verb, "fork") == 0) {
        for (int i = 0; i < (int)first; i++) {
            pid_t child = fork();
            if (child == 0) {
                burn(CLOCK_PROCESS_CPUTIME_ID, second);
                _exit(0);
            }
            waitpid(child, NULL, 0);
        }
    } else if (strcmp(verb, "spawn") == 0) {
        for (int i = 0; i < (int)first; i++) {
            char *spin[] = { words[0], "quiet", words[3], NULL };
            pid_t child;
            if (posix_spawn(&child, words[0], NULL, NULL, spin, environ) == 0)
                waitpid(child, NULL, 0);
        }
    } else if (strcmp(verb, "quiet") == 0) {
        burn(CLOCK_PROCESS_CPUTIME_ID, first);
        return 0;
    } else if (strcmp(verb, "chain") == 0) {
        burn(CLOCK_PROCESS_CPUTIME_ID, second);
        if (first > 1) {
            char left[16];
            snprintf(left, sizeof left, "%d", (int)first - 1);
            char *next[] = { words[0], "chain", left, words[3], NULL };
            execv(words[0], next);
            return 3;
        }
    } else if (strcmp(verb, "orphan") == 0) {
        int done[2];
        if (pipe(done) != 0)
            return 3;
        pid_t child = fork();
        if (child == 0) {
            if (fork() != 0)
                _exit(0);
            setsid();
            burn(CLOCK_PROCESS_CPUTIME_ID, first);
            exit(0);
        }
        close(done[1]);
        waitpid(child, NULL, 0);
        char byte;
        /* ends when the grandchild has closed its end by ending itself */
        while (read(done[0], &byte, 1) > 0)
            ;
    } else if (strcmp(verb, "killed") == 0) {
        pid_t child = fork();
        if (child == 0) {
            burn(CLOCK_PROCESS_CPUTIME_ID, first);
            raise(SIGKILL);
        }
        waitpid(child, NULL, 0);
    } else if (strcmp(verb, "hold") == 0) {
        fill((size_t)first << 20, 0);
        pause_for(second);
    } else if (strcmp(verb, "share") == 0) {
        size_t bytes = (size_t)first << 20;
        char *memory = fill(bytes, 1);
        for (int i = 0; i < (int)second; i++)
            if (fork() == 0) {
                volatile char sum = 0;
                for (size_t k = 0; k < bytes; k += 4096)
                    sum += memory[k];
                pause_for(atof(words[4]));
                exit(0);
            }
        while (wait(NULL) > 0)
            ;
    } else if (strcmp(verb, "leak") == 0) {
        double start = seconds_of(CLOCK_MONOTONIC), now;
        size_t taken = 0;
        while ((now = seconds_of(CLOCK_MONOTONIC) - start) < second) {
            size_t due = (size_t)(now * first * 1048576.0) & ~(size_t)4095;
            if (due > taken) {
                fill(due - taken, 0);
                taken = due;
            }
            pause_for(0.02);
        }
    } else if (strcmp(verb, "write") == 0) {
        static char piece[65536];
        int file = open(words[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
        for (long i = 0; i < (long)second * 16; i++)
            if (file < 0 || write(file, piece, sizeof piece) != (ssize_t)sizeof piece)
                return 3;
        fsync(file);
        close(file);
    } else if (strcmp(verb, "read") == 0) {
        static char piece[65536];
        int file = open(words[2], O_RDONLY);
        while (file >= 0 && read(file, piece, sizeof piece) > 0)
            ;
        close(file);
    } else if (strcmp(verb, "touch") == 0) {
        int file = open(words[2], O_RDONLY);
        off_t bytes = lseek(file, 0, SEEK_END);
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        char *mapped = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, file, 0);
        if (mapped == MAP_FAILED || madvise(mapped, (size_t)bytes, MADV_RANDOM) != 0)
            return 3;
        volatile char sum = 0;
        for (off_t i = 0; i < bytes; i += 4096)
            sum += mapped[i];
    } else if (strcmp(verb, "nap") == 0) {
        for (int i = 0; i < (int)first; i++)
            pause_for(0.001);
    } else if (strcmp(verb, "clock") == 0) {
        pause_for(first);
    } else {
        fprintf(stderr, "job: no such verb\n");
        return 2;
    }
    double waited = waited_seconds();
    struct transfers moved = transfers_so_far();
    struct rusage own, children;
    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    printf("{\"cpu\":%.6f,\"user\":%.6f,\"system\":%.6f,\"waited\":%.6f,\"minor\":%ld,\"major\":%ld,"
           "\"switches\":%ld,\"forced\":%ld,\"children\":%.6f,\"children_user\":%.6f,\"rss\":%ld,"
           "\"read\":%llu,\"read_calls\":%llu,\"write_calls\":%llu,\"began\":%.6f,\"ended\":%.6f}\n",
        seconds_in(own.ru_utime) + seconds_in(own.ru_stime), seconds_in(own.ru_utime), seconds_in(own.ru_stime),
        waited, own.ru_minflt, own.ru_majflt, own.ru_nvcsw, own.ru_nivcsw,
        seconds_in(children.ru_utime) + seconds_in(children.ru_stime), seconds_in(children.ru_utime),
        own.ru_maxrss * 1024L, moved.read, moved.read_calls, moved.write_calls, began, seconds_of(CLOCK_REALTIME));
    return 0;
}

/* What the parts of the launcher (launch.c) share. */
#ifndef TACHO_LAUNCH_H
#define TACHO_LAUNCH_H

#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

/* launch-bytes.c */
char *read_of_parent(const char *name, size_t *length);
char **texts_of(char *bytes, size_t length);
int is_marked(char **texts);
void restore_arguments(char **words, char **given);
void restore_environment(char **environment, char **given);

/* launch-command.c */
struct command {
    pid_t pid;
    long long start; /* epoch microseconds */
    long long begin; /* on the monotonic clock */
    int failed;      /* errno, where it could not be executed */
    int ended;
    int status;
    char report[256];
};
long long now(clockid_t clock);
int start_command(struct command *command, char **words, char **environment, void (*prepare)(void));
void note_end(struct command *command, int status, const struct rusage *used);

/* launch-memory.c: of the memory limits that this process is below. Bytes; -1: there is none. */
void find_limits(void);
long long smallest_limit(void);
long long room(void);
int high(int fd);

/* launch-guard.c */
int guard(char **argv);

/* launch-same.c */
int same(char **lists);

#endif

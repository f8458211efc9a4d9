/*
 * Node has read arguments and environment as UTF-8, and what is none has become this mark in what it hands on. The kernel
 * and the guard still have the bytes that were given.
 */
#include "launch.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char mark[] = "\xef\xbf\xbd";

/* A file of /proc about our parent: texts, each ended by a zero. NULL: cannot be read. */
char *read_of_parent(const char *name, size_t *length)
{
    char path[64], *bytes = NULL;
    size_t size = 0, used = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)getppid(), name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t got = 1; file >= 0 && got > 0; used += got > 0 ? (size_t)got : 0) {
        if (size - used < 65536) {
            char *more = realloc(bytes, size += 1 << 20);
            if (more == NULL)
                break;
            bytes = more;
        }
        got = read(file, bytes + used, size - used - 1);
    }
    if (file >= 0)
        close(file);
    if (bytes != NULL)
        bytes[used] = '\0';
    *length = used;
    return bytes;
}

/* The texts in these bytes, each ended by a zero. */
char **texts_of(char *bytes, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += bytes[i] == '\0';
    char **texts = malloc((count + 1) * sizeof *texts);
    if (texts == NULL)
        return NULL;
    char *at = bytes;
    for (size_t i = 0; i < count; i++, at += strlen(at) + 1)
        texts[i] = at;
    texts[count] = NULL;
    return texts;
}

/* Are they the same but for what is not ASCII? */
static int alike(const char *one, const char *other)
{
    for (;; one++, other++) {
        while (*one & 0x80)
            one++;
        while (*other & 0x80)
            other++;
        if (*one != *other || *one == '\0')
            return *one == *other;
    }
}

int is_marked(char **texts)
{
    for (; *texts != NULL; texts++)
        if (strstr(*texts, mark) != NULL)
            return 1;
    return 0;
}

/* The command is the last of what was given. */
void restore_arguments(char **words, char **given)
{
    int count = 0, have = 0;
    while (words[count] != NULL)
        count++;
    while (given[have] != NULL)
        have++;
    for (int i = count - 1, from = have - 1; i >= 0 && from >= 0; i--, from--)
        if (strstr(words[i], mark) != NULL && alike(words[i], given[from]))
            words[i] = given[from];
}

void restore_environment(char **environment, char **given)
{
    for (char **each = environment; *each != NULL; each++) {
        if (strstr(*each, mark) == NULL)
            continue;
        for (char **at = given; *at != NULL; at++) {
            if (!alike(*each, *at))
                continue;
            *each = *at;
            break;
        }
    }
}

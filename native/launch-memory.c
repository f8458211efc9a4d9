/* The memory limits of the cgroups that this process is in, and how much is left below them. */
#include "launch.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct level {
    long long limit;
    int usage, stat;
    int version;
};
static struct level levels[16];
static int count;

/* Those of the first three that are closed stay so for the command. */
int high(int fd)
{
    if (fd < 0 || fd >= 20)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, 20);
    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

static int open_in(const char *folder, const char *name)
{
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return high(open(path, O_RDONLY | O_CLOEXEC));
}

static ssize_t text_of(int file, char *text, size_t size)
{
    ssize_t got = pread(file, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return got;
}

/* A number in a file; -1: it is not there, or is a word (max). */
static long long number_of(int file)
{
    char text[64];
    if (file < 0 || text_of(file, text, sizeof text) <= 0 || text[0] < '0' || text[0] > '9')
        return -1;
    return atoll(text);
}

/* The cgroup and all above it; the path of a container's may be that of the machine, and then only the mount is there. */
static void find_levels(const char *mount, char *path, int version)
{
    char folder[4096];
    for (;;) {
        snprintf(folder, sizeof folder, "%s%s", mount, strcmp(path, "/") == 0 ? "" : path);
        int file = open_in(folder, version == 1 ? "memory.limit_in_bytes" : "memory.max");
        long long limit = number_of(file);
        if (file >= 0)
            close(file);
        /* without a limit version 1 has a number that no machine reaches */
        if (limit >= 0 && limit < 1LL << 50 && count < (int)(sizeof levels / sizeof *levels)) {
            struct level *level = &levels[count++];
            level->limit = limit;
            level->version = version;
            level->usage = open_in(folder, version == 1 ? "memory.usage_in_bytes" : "memory.current");
            level->stat = open_in(folder, "memory.stat");
        }
        char *last = strrchr(path, '/');
        if (last == NULL || strcmp(path, "/") == 0 || *path == '\0')
            return;
        *last = '\0';
    }
}

void find_limits(void)
{
    char text[8192], *rest = text;
    int file = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    text_of(file, text, sizeof text);
    close(file);
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        strsep(&line, ":");
        char *controllers = line == NULL ? NULL : strsep(&line, ":");
        if (controllers == NULL || line == NULL)
            continue;
        if (*controllers == '\0')
            find_levels("/sys/fs/cgroup", line, 2);
        for (char *name; (name = strsep(&controllers, ",")) != NULL;)
            if (strcmp(name, "memory") == 0)
                find_levels("/sys/fs/cgroup/memory", line, 1);
    }
}

long long smallest_limit(void)
{
    long long smallest = -1;
    for (int i = 0; i < count; i++)
        if (smallest < 0 || levels[i].limit < smallest)
            smallest = levels[i].limit;
    return smallest;
}

/* What the kernel gives back by itself: pages of files. */
static long long file_cache(const struct level *level)
{
    static const char *const names[2][2] = { { "\ntotal_inactive_file ", "\ntotal_active_file " },
                                             { "\ninactive_file ", "\nactive_file " } };
    char text[8192];
    long long bytes = 0;
    if (level->stat < 0 || text_of(level->stat, text, sizeof text) <= 0)
        return 0;
    for (int i = 0; i < 2; i++) {
        const char *at = strstr(text, names[level->version - 1][i]);
        bytes += at == NULL ? 0 : atoll(strchr(at, ' '));
    }
    return bytes;
}

/* The files' pages are only asked for where little seems to be left: the kernel adds them up for the answer. */
static const long long PLENTY = 1LL << 30;

long long room(void)
{
    long long least = -1;
    for (int i = 0; i < count; i++) {
        long long used = number_of(levels[i].usage);
        if (used < 0)
            continue;
        long long left = levels[i].limit - used;
        if (left < PLENTY)
            left += file_cache(&levels[i]);
        if (left < 0)
            left = 0;
        if (least < 0 || left < least)
            least = left;
    }
    return least;
}

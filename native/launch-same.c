/*
 * launch same LIST...
 *
 * Whether files and folders are what they were: each line of a LIST is PATH SIZE TIME, as `find -printf '%p %s %T@\n'` has
 * written it in this folder. Exit code 0: all of them are.
 */
#include "launch.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int is_same(const char *path, const char *size_and_time)
{
    char now[96];
    struct stat found;
    if (stat(path, &found) != 0)
        return 0;
    snprintf(now, sizeof now, "%lld %lld.%09ld0", (long long)found.st_size, (long long)found.st_mtim.tv_sec,
             found.st_mtim.tv_nsec);
    return strcmp(now, size_and_time) == 0;
}

int same(char **lists)
{
    char line[4200];
    int count = 0;
    for (; *lists != NULL; lists++) {
        FILE *list = fopen(*lists, "re");
        if (list == NULL)
            return 1;
        while (fgets(line, sizeof line, list) != NULL) {
            char *time = strrchr(line, ' '), *size = time;
            while (size != NULL && size > line && *--size != ' ')
                ;
            line[strcspn(line, "\n")] = '\0';
            if (size == NULL || size == line)
                return 1;
            *size = '\0';
            if (!is_same(line, size + 1))
                return 1;
            count++;
        }
        fclose(list);
    }
    return count == 0;
}

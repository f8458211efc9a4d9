/* level MEBIBYTES SECONDS: fills a table in the first fifth of the time, and works on it with one thread for the rest. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    if (count < 3)
        return 2;
    size_t bytes = (size_t)atol(words[1]) << 20, filled = 0;
    double start = now(), seconds = atof(words[2]);
    char *table = malloc(bytes);
    volatile unsigned sum = 0;
    while (now() - start < seconds) {
        size_t due = (size_t)((now() - start) / (seconds / 5) * (double)bytes);
        if (due > bytes)
            due = bytes;
        if (due > filled) {
            memset(table + filled, 1, due - filled);
            filled = due;
        }
        for (size_t i = 0; i < filled; i += 64)
            sum += (unsigned char)table[i];
    }
    return 0;
}

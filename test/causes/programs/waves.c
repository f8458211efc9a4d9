/* waves MEBIBYTES TIMES: takes so much memory and gives it back, so many times, each time for half a second. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int count, char **words)
{
    size_t bytes = (size_t)atol(words[1]) << 20;
    for (int i = 0; count > 2 && i < atoi(words[2]); i++) {
        char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return 3;
        memset(memory, 1, bytes);
        usleep(500000);
        munmap(memory, bytes);
        usleep(500000);
    }
    return 0;
}

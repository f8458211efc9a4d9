/* A library that starts threads when it is loaded, as numerical libraries do. */
#include <pthread.h>
#include <unistd.h>

static void *wait_a_while(void *unused)
{
    usleep(50000);
    return unused;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    for (int i = 0; i < 3; i++)
        pthread_create(&thread, NULL, wait_a_while, NULL);
}

/*
 * With --disable-sigusr1 Node keeps SIGUSR1 blocked, and its own listeners never hear of it. Loaded into a Node process
 * (process.dlopen), this lets the signal through to them; the debugger stays off. Node looks for this one name.
 */
#include <signal.h>

__attribute__((visibility("default"))) void *napi_register_module_v1(void *environment, void *exports)
{
    (void)environment;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_UNBLOCK, &set, 0);
    return exports;
}

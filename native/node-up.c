/* Says to the guard that Node runs, and takes the stderr that it has kept for Node (launch-guard.c). Loaded by process.dlopen. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) void *napi_register_module_v1(void *env, void *exports)
{
    (void)env;
    const char *guard = getenv("TACHO_GUARD");
    int channel = 0, kept = 0;
    if (guard == NULL || sscanf(guard, "%d %*d %d", &channel, &kept) != 2)
        return exports;
    if (kept > 2) {
        dup2(kept, 2);
        close(kept);
    }
    if (write(channel, "up 0 0\n", 7) < 0)
        return NULL;
    return exports;
}

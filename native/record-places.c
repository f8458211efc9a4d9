/*
 * The places where threads keep what is known of them, so that another one can tell it when the process ends. A thread
 * takes a place with one atomic step and leaves it with another: there is no lock that a signal, a fork or a long wait
 * could leave taken, and the memory of a place never goes away.
 */
#include "record.h"

enum { PLACES = 2048 };

static struct thread places[PLACES];
static unsigned used;  /* places behind this were never taken */
static unsigned hint;  /* the lowest that is probably free */

/* A thread that found all places taken keeps to itself; one that was not started through us shares this. */
static __thread struct thread own;
static struct thread stranger;
static __thread struct thread *mine;

struct thread *this_thread(void) { return mine != NULL ? mine : &stranger; }

static struct thread *free_place(pid_t tid, unsigned from)
{
    for (unsigned i = from; i < PLACES; i++) {
        if (places[i].tid != 0 || !__sync_bool_compare_and_swap(&places[i].tid, 0, tid))
            continue;
        hint = i + 1;
        for (unsigned before = used; before <= i;)
            before = __sync_val_compare_and_swap(&used, before, i + 1);
        return &places[i];
    }
    return NULL;
}

struct thread *take_place(pid_t tid)
{
    mine = free_place(tid, hint);
    if (mine == NULL)
        mine = free_place(tid, 0);
    if (mine == NULL) {
        mine = &own;
        mine->tid = tid;
    }
    return mine;
}

void leave_place(void)
{
    struct thread *place = mine;
    mine = NULL;
    if (place == NULL)
        return;
    if (place >= places && place < places + PLACES && (unsigned)(place - places) < hint)
        hint = (unsigned)(place - places);
    __sync_lock_release(&place->tid);
}

/* NULL: that thread has none. */
struct thread *place_of(pid_t tid)
{
    for (unsigned i = 0; i < used; i++)
        if (places[i].tid == tid)
            return &places[i];
    return NULL;
}

/* After a fork only the thread that called it is left; what the others had open is the parent's. */
void clear_places(void)
{
    for (unsigned i = 0; i < used; i++) {
        if (places[i].tid != 0)
            close_events(&places[i]);
        places[i].tid = 0;
    }
    used = hint = 0;
    mine = NULL;
}

/*
 * Slots in which threads keep what was counted of them, so that another one can write it when the process ends. A thread
 * takes a slot with one atomic step and leaves it with another: there is no lock that a signal, a fork or a long wait
 * could leave taken, and the memory of a slot never goes away.
 */
#include "record.h"

enum { SLOTS = 2048 };

static struct thread slots[SLOTS];
static unsigned used;  /* slots behind this were never taken */
static unsigned hint;  /* the lowest that is probably free */

/* A thread that found all slots taken keeps to itself; one that was not started through us shares this. */
static __thread struct thread own;
static struct thread stranger;
static __thread struct thread *mine;

struct thread *this_thread(void) { return mine != NULL ? mine : &stranger; }

static struct thread *free_slot(pid_t tid, unsigned from)
{
    for (unsigned i = from; i < SLOTS; i++) {
        if (slots[i].tid != 0 || !__sync_bool_compare_and_swap(&slots[i].tid, 0, tid))
            continue;
        hint = i + 1;
        for (unsigned before = used; before <= i;)
            before = __sync_val_compare_and_swap(&used, before, i + 1);
        return &slots[i];
    }
    return NULL;
}

struct thread *take_slot(pid_t tid)
{
    mine = free_slot(tid, hint);
    if (mine == NULL)
        mine = free_slot(tid, 0);
    if (mine == NULL) {
        mine = &own;
        mine->tid = tid;
    }
    return mine;
}

void leave_slot(void)
{
    struct thread *slot = mine;
    mine = NULL;
    if (slot == NULL)
        return;
    if (slot >= slots && slot < slots + SLOTS && (unsigned)(slot - slots) < hint)
        hint = (unsigned)(slot - slots);
    __sync_lock_release(&slot->tid);
}

/* NULL: that thread has none. */
struct thread *slot_of(pid_t tid)
{
    for (unsigned i = 0; i < used; i++)
        if (slots[i].tid == tid)
            return &slots[i];
    return NULL;
}

/* After a fork only the thread that called it is left; what the others had open is the parent's. */
void clear_slots(void)
{
    for (unsigned i = 0; i < used; i++) {
        if (slots[i].tid != 0)
            close_events(&slots[i]);
        slots[i].tid = 0;
    }
    used = hint = 0;
    mine = NULL;
}

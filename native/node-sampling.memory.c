/* Gives memory back that an agent needs at its start alone. */
#define _GNU_SOURCE
#include "node-sampling.h"
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

/* Of the program itself, which comes first: what nobody can write to is read from its file again when it is needed. */
static int drop_parts(struct dl_phdr_info *program, size_t size, void *data)
{
    (void)size;
    (void)data;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &program->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || (part->p_flags & PF_W) != 0)
            continue;
        uintptr_t begin = program->dlpi_addr + part->p_vaddr;
        uintptr_t from = (begin + page - 1) / page * page, to = (begin + part->p_memsz) / page * page;
        if (from < to)
            madvise((void *)from, to - from, MADV_DONTNEED);
    }
    return 1;
}

/* dropProgram(): parts of Node's program file that are in memory. */
static napi_value drop_program(napi_env env, napi_callback_info info)
{
    (void)info;
    return number_of(env, dl_iterate_phdr(drop_parts, NULL));
}

/* trimHeap(): what malloc keeps for later. */
static napi_value trim_heap(napi_env env, napi_callback_info info)
{
    (void)info;
    return number_of(env, malloc_trim(0));
}

void add_memory(napi_env env, napi_value exports)
{
    add(env, exports, "dropProgram", drop_program);
    add(env, exports, "trimHeap", trim_heap);
}

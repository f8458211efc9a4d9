/*
 * The functions that ours stand in for: the next ones of their name in the order in which the loader searches.
 * dlsym would find them; but before glibc 2.34 that lies in a library which many programs do not load.
 */
#include "record.h"
#include <elf.h>
#include <link.h>
#include <string.h>

struct library {
    const ElfW(Sym) *symbols;
    const char *names;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    const ElfW(Half) *versions;
};

struct wanted {
    const char *name;
    size_t place; /* in struct real */
};

struct search {
    const struct wanted *wanted;
    size_t count;
    bool behind_us;
    char *real;
};

/* glibc puts addresses in place of the offsets in the file, musl does not. */
static const void *address(const struct dl_phdr_info *info, ElfW(Addr) value)
{
    return (const void *)(value < info->dlpi_addr ? value + info->dlpi_addr : value);
}

static struct library tables(const struct dl_phdr_info *info, const ElfW(Dyn) *entry)
{
    struct library library = { 0 };
    for (; entry->d_tag != DT_NULL; entry++) {
        const void *at = address(info, entry->d_un.d_ptr);
        switch (entry->d_tag) {
        case DT_SYMTAB: library.symbols = at; break;
        case DT_STRTAB: library.names = at; break;
        case DT_GNU_HASH: library.gnu_hash = at; break;
        case DT_HASH: library.sysv_hash = at; break;
        case DT_VERSYM: library.versions = at; break;
        }
    }
    return library;
}

/* Is symbol number i a function of this name, in the version that is linked to today? */
static bool matches(const struct library *library, uint32_t i, const char *name)
{
    const ElfW(Sym) *symbol = &library->symbols[i];
    enum { OLD_VERSION = 0x8000 };
    return symbol->st_shndx != SHN_UNDEF && (symbol->st_info & 15) == STT_FUNC &&
           (library->versions == NULL || (library->versions[i] & OLD_VERSION) == 0) &&
           strcmp(library->names + symbol->st_name, name) == 0;
}

/* 0 is never a symbol. */
static uint32_t by_gnu_hash(const struct library *library, const char *name)
{
    const uint32_t *table = library->gnu_hash;
    uint32_t buckets = table[0], first = table[1], bloom = table[2];
    const uint32_t *bucket = (const uint32_t *)((const ElfW(Addr) *)(const void *)(table + 4) + bloom);
    const uint32_t *chain = bucket + buckets;
    uint32_t hash = 5381;
    for (const char *c = name; *c != '\0'; c++)
        hash = hash * 33 + (unsigned char)*c;
    uint32_t i = bucket[hash % buckets];
    if (i < first)
        return 0;
    for (;; i++) {
        if ((chain[i - first] | 1) == (hash | 1) && matches(library, i, name))
            return i;
        if (chain[i - first] & 1)
            return 0;
    }
}

static uint32_t by_sysv_hash(const struct library *library, const char *name)
{
    uint32_t count = library->sysv_hash[1];
    for (uint32_t i = 1; i < count; i++)
        if (matches(library, i, name))
            return i;
    return 0;
}

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
    struct search *search = data;
    const ElfW(Dyn) *dynamic = NULL;
    bool us = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        ElfW(Addr) begin = info->dlpi_addr + part->p_vaddr, here = (ElfW(Addr))&look;
        if (part->p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)begin;
        if (part->p_type == PT_LOAD && here >= begin && here < begin + part->p_memsz)
            us = true;
    }
    if (us || !search->behind_us || dynamic == NULL) {
        search->behind_us |= us;
        return 0;
    }
    struct library library = tables(info, dynamic);
    if (library.symbols == NULL || library.names == NULL)
        return 0;
    for (size_t w = 0; w < search->count; w++) {
        void **place = (void **)(void *)(search->real + search->wanted[w].place);
        const char *name = search->wanted[w].name;
        if (*place != NULL)
            continue;
        uint32_t i = library.gnu_hash != NULL    ? by_gnu_hash(&library, name)
                     : library.sysv_hash != NULL ? by_sysv_hash(&library, name)
                                                 : 0;
        if (i != 0)
            *place = (void *)(info->dlpi_addr + library.symbols[i].st_value);
    }
    return 0;
}

#define WANTED(name) { #name, offsetof(struct real, name) }
static const struct wanted of_threads[] = {
    WANTED(pthread_create), WANTED(pthread_key_create), WANTED(pthread_setspecific), WANTED(pthread_atfork),
    WANTED(thrd_create),
};
static const struct wanted others[] = {
    WANTED(execve), WANTED(execvpe), WANTED(fexecve), WANTED(posix_spawn), WANTED(posix_spawnp), WANTED(quick_exit),
    WANTED(wait4),  WANTED(waitpid), WANTED(waitid),  WANTED(system),      WANTED(popen),        WANTED(pclose),
};

static void find(const struct wanted *wanted, size_t count, struct real *real)
{
    struct search search = { .wanted = wanted, .count = count, .real = (char *)real };
    dl_iterate_phdr(look, &search);
}

/*
 * All at once, at the latest when the first thread is started: the search takes a lock of the loader, and a child that
 * is forked while another thread holds that would wait for ever.
 */
const struct real *real_functions(void)
{
    static struct real real;
    static bool found;
    if (!found) {
        find(others, sizeof others / sizeof *others, &real);
        found = true;
    }
    /* older programs without threads may load libpthread later */
    if (real.pthread_create == NULL)
        find(of_threads, sizeof of_threads / sizeof *of_threads, &real);
    return &real;
}

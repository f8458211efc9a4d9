/*
 * The environment that a program is started with keeps our library: programs that replace LD_PRELOAD, or start others
 * with an empty environment, would lose what comes after. TACHO_RECORD_ADDED names what was added; where the library
 * starts with it, the environment becomes again what the caller gave. TACHO_RECORD_OFF says that nothing is wanted.
 * In a root where the library is not to be seen (chroot, a container) it is left out instead: the loader would say so on
 * the standard error of every program there.
 */
#include "record.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

extern char **environ;

enum { MOST_ENTRIES = 1000, ENTRY_BYTES = 320 };

static const char no_order[] = "ASAN_OPTIONS=verify_asan_link_order=0";
/* What is added as it is: where lines go, and the settings. */
static char kept[4][ENTRY_BYTES];
static const char *const names[4] = { "TACHO_RECORD=", "TACHO_RECORD_THREAD_MS=", "TACHO_RECORD_EVENTS=",
                                      "TACHO_RECORD_SIGNALS=" };
static char library[256];

static bool begins(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

/* The whole entry, behind whose name is its value; NULL: there is none. */
static char *entry_of(char *const *environment, const char *name)
{
    for (; environment != NULL && *environment != NULL; environment++)
        if (begins(*environment, name))
            return *environment;
    return NULL;
}

/* Where our library stands among others; NULL: it does not. */
static const char *place_in(const char *list)
{
    size_t length = strlen(library);
    for (const char *at = list; length > 0 && (at = strstr(at, library)) != NULL; at++) {
        bool first = at == list || at[-1] == ':' || at[-1] == ' ';
        if (first && (at[length] == '\0' || at[length] == ':' || at[length] == ' '))
            return at;
    }
    return NULL;
}

/* By its own name: another name is a site's choice, and is not kept. */
void remember_library(void)
{
    const char *list = getenv("LD_PRELOAD"), *found = list == NULL ? NULL : strstr(list, "/libtacho-record");
    if (found == NULL)
        return;
    while (found > list && found[-1] != ':' && found[-1] != ' ')
        found--;
    size_t length = strcspn(found, ": ");
    if (length >= sizeof library)
        return;
    memcpy(library, found, length);
    library[length] = '\0';
}

static void remove_entry(const char *name)
{
    for (char **each = environ; each != NULL && *each != NULL;) {
        if (!begins(*each, name)) {
            each++;
            continue;
        }
        for (char **next = each; *next != NULL; next++)
            next[0] = next[1];
    }
}

/* What was added goes again; before the program begins. */
static void restore(const char *added)
{
    for (; *added != '\0'; added++) {
        char *list = *added == 'l' ? getenv("LD_PRELOAD") : NULL;
        char *place = list == NULL ? NULL : (char *)place_in(list);
        if (place != NULL)
            place[place > list ? -1 : 0] = '\0';
        if (*added == 'L')
            remove_entry("LD_PRELOAD=");
        if (*added == 'A')
            remove_entry("ASAN_OPTIONS=");
        if (*added >= '0' && *added < '4')
            remove_entry(names[*added - '0']);
    }
    remove_entry("TACHO_RECORD_ADDED=");
}

void remember_environment(void)
{
    for (int i = 0; i < 4; i++) {
        const char *entry = entry_of(environ, names[i]);
        if (entry != NULL && strlen(entry) < ENTRY_BYTES)
            memcpy(kept[i], entry, strlen(entry) + 1);
    }
}

void restore_environment(void)
{
    const char *added = getenv("TACHO_RECORD_ADDED");
    if (added != NULL)
        restore(added);
}

/* Takes our library out of a list that has it, with the separator behind it or else the one before it. */
static void take_out(char *list)
{
    char *place = (char *)place_in(list), *rest = place + strlen(library);
    if (*rest != '\0')
        rest++;
    else if (place > list)
        place--;
    memmove(place, rest, strlen(rest) + 1);
}

/* Launchers of containers that are written in Go hand on what they were given, and ask no C library: it goes here. */
void spare_container(void)
{
    const char *executed = (const char *)getauxval(AT_EXECFN), *slash = executed == NULL ? NULL : strrchr(executed, '/');
    const char *program = slash == NULL ? "" : slash + 1;
    if (strcmp(program, "apptainer") != 0 && strcmp(program, "singularity") != 0)
        return;
    char *list = getenv("LD_PRELOAD");
    if (list != NULL && place_in(list) != NULL) {
        take_out(list);
        if (*list == '\0')
            remove_entry("LD_PRELOAD=");
    }
    library[0] = '\0';
}

/* What starts there is not to be recorded. */
bool turned_off(char *const *environment)
{
    return entry_of(environment, "TACHO_RECORD_OFF=") != NULL || entry_of(environment, "TACHO_OWN=") != NULL;
}

/* From the root that this process has now. */
static bool can_be_read(const char *path)
{
    int kept = errno;
    bool can = syscall(SYS_faccessat, AT_FDCWD, path, R_OK) == 0;
    errno = kept;
    return can;
}

/* Entries that an array with what is missing, or without what cannot be seen, needs; 0: it is as it should be. */
size_t entries_needed(char *const *environment, struct added *added)
{
    size_t count = 0;
    if (library[0] == '\0')
        return 0;
    const char *list = entry_of(environment, "LD_PRELOAD="), *file = entry_of(environment, names[0]);
    bool has = list != NULL && place_in(list + strlen("LD_PRELOAD=")) != NULL;
    bool wanted = process.on && !turned_off(environment);
    if (!has && !wanted)
        return 0;
    bool seen = can_be_read(library);
    if (has ? seen && (file != NULL || !wanted) : !seen)
        return 0;
    added->hidden = !seen;
    while (environment != NULL && environment[count] != NULL)
        count++;
    bool fits = count < MOST_ENTRIES && (list == NULL ? 0 : strlen(list)) + strlen(library) + 16 < sizeof added->preload;
    return fits ? count + 8 : 0;
}

/* The same without our library. */
static char **without_library(char *const *environment, char **array, struct added *added)
{
    char **at = array;
    const size_t name = strlen("LD_PRELOAD=");
    for (char *const *each = environment; *each != NULL; each++) {
        *at = *each;
        if (!begins(*each, "LD_PRELOAD=") || place_in(*each + name) == NULL) {
            at++;
            continue;
        }
        strcpy(added->preload, *each);
        take_out(added->preload + name);
        *at = added->preload;
        at += added->preload[name] != '\0';
    }
    *at = NULL;
    return array;
}

/* Writes the array; its texts are in `added`, the library's own, or those that were given. */
char **complete_environment(char *const *environment, char **array, struct added *added)
{
    if (added->hidden)
        return without_library(environment, array, added);
    char **at = array;
    const char *list = entry_of(environment, "LD_PRELOAD=");
    struct text preload = { added->preload, added->preload + sizeof added->preload - 1 };
    struct text what = { added->what, added->what + sizeof added->what - 1 };
    add_word(&what, "TACHO_RECORD_ADDED=");
    char **place = NULL;
    for (char *const *each = environment; each != NULL && *each != NULL; each++) {
        if (*each == list)
            place = at;
        if (!begins(*each, "TACHO_RECORD_ADDED="))
            *at++ = *each;
    }
    if (list == NULL || place_in(list + strlen("LD_PRELOAD=")) == NULL) {
        add_word(&preload, list == NULL ? "LD_PRELOAD=" : list);
        add_word(&preload, list == NULL || list[strlen("LD_PRELOAD=")] == '\0' ? "" : ":");
        add_word(&preload, library);
        *preload.at = '\0';
        *(place != NULL ? place : at++) = added->preload;
        add_char(&what, list == NULL ? 'L' : 'l');
    }
    for (int i = 0; i < 4; i++) {
        if (kept[i][0] == '\0' || entry_of(environment, names[i]) != NULL)
            continue;
        *at++ = kept[i];
        add_char(&what, (char)('0' + i));
    }
    /* programs made with -fsanitize=address insist on coming first */
    if (entry_of(environment, "ASAN_OPTIONS=") == NULL) {
        *at++ = (char *)no_order;
        add_char(&what, 'A');
    }
    *what.at = '\0';
    *at++ = added->what;
    *at = NULL;
    return array;
}

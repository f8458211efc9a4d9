/*
 * Which rank of a parallel program a process is: "3/4:1452605441", the rank, how many ranks its launcher started, and what
 * the launcher calls them together, as far as it says. A batch script of Slurm has a rank, but nobody counts it.
 */
#include "record.h"
#include <string.h>

static const struct {
    const char *rank, *sizes[2], *world;
} launchers[] = {
    { "PMIX_RANK", { "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS" }, "PMIX_NAMESPACE" },
    { "OMPI_COMM_WORLD_RANK", { "OMPI_COMM_WORLD_SIZE", NULL }, "PMIX_NAMESPACE" },
    { "PMI_RANK", { "PMI_SIZE", "SLURM_STEP_NUM_TASKS" }, "PMI_JOBID" },
    { "SLURM_PROCID", { "SLURM_STEP_NUM_TASKS", NULL }, NULL },
};

/* Longer numbers are none, and longer names are left out. */
enum { LONGEST_NUMBER = 9, LONGEST_WORLD = 64 };

const char *variable(char *const *environment, const char *name)
{
    size_t length = strlen(name);
    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
            return *environment + length + 1;
    return NULL;
}

static bool is_number(const char *value)
{
    size_t digits = value == NULL ? 0 : strspn(value, "0123456789");
    return digits > 0 && digits <= LONGEST_NUMBER && value[digits] == '\0';
}

/* The text that lines have; `made` has room for RANK_BYTES. NULL: there is no rank. */
const char *rank_of(char *const *environment, char *made)
{
    for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
        const char *rank = variable(environment, launchers[i].rank);
        if (rank == NULL || *rank == '\0')
            continue;
        const char *size = NULL;
        for (size_t k = 0; k < 2 && !is_number(size) && launchers[i].sizes[k] != NULL; k++)
            size = variable(environment, launchers[i].sizes[k]);
        if (!is_number(rank) || !is_number(size))
            return rank;
        const char *world = launchers[i].world == NULL ? NULL : variable(environment, launchers[i].world);
        struct text text = { made, made + RANK_BYTES - 1 };
        add_word(&text, rank);
        add_char(&text, '/');
        add_word(&text, size);
        if (world != NULL && *world != '\0' && strlen(world) <= LONGEST_WORLD) {
            add_char(&text, ':');
            add_word(&text, world);
        }
        *text.at = '\0';
        return made;
    }
    return NULL;
}

/*
 * ranks WORK [RANK=WORK…] [duty=SHARE] [die=RANK:SIGNAL] [exit=RANK:CODE]: each rank uses WORK seconds of CPU time, the named ranks
 * as much as is said of them, waits for the others, and prints what the kernel says that it used. With a duty of 0.4 it
 * sleeps for the rest of the time. RANK dies, or ends, after its work.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static double seconds(struct timeval t) { return t.tv_sec + t.tv_usec / 1e6; }

static struct rusage used(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

static double cpu(void)
{
    struct rusage usage = used();
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/* Waits without using a CPU, as a program that sleeps between two looks does: MPI itself would use one. */
static void wait_for_all(void)
{
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done)
        usleep(20000);
}

int main(int count, char **arguments)
{
    int rank, size, dies = -1, by = SIGSEGV, ends = -1, code = 0;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double work = count > 1 ? atof(arguments[1]) : 1, duty = 1;
    for (int i = 2; i < count; i++) {
        int named;
        double own;
        if (sscanf(arguments[i], "%d=%lf", &named, &own) == 2 && named == rank)
            work = own;
        sscanf(arguments[i], "duty=%lf", &duty);
        sscanf(arguments[i], "die=%d:%d", &dies, &by);
        sscanf(arguments[i], "exit=%d:%d", &ends, &code);
    }
    volatile double sum = 0;
    for (double start = cpu(), before = start; before - start < work;) {
        for (int i = 0; i < 1000000; i++)
            sum += i;
        double after = cpu();
        usleep((useconds_t)((after - before) * (1 / duty - 1) * 1e6));
        before = after;
    }
    if (rank == dies)
        raise(by);
    if (rank == ends)
        exit(code);
    wait_for_all();
    MPI_Finalize();
    struct rusage usage = used();
    printf("rank %d of %d user %.6f system %.6f kibibytes %ld\n", rank, size, seconds(usage.ru_utime),
           seconds(usage.ru_stime), usage.ru_maxrss);
    return 0;
}

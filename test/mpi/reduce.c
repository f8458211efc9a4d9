/*
 * reduce WORK [RANK=SHARE…] [abort=RANK]: each rank uses WORK seconds of CPU time in pieces of 5 ms, the named ranks so much
 * of each piece, and after each piece all of them wait for each other inside MPI, as solvers do. RANK aborts at a third.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **words)
{
    int rank, aborts = -1;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double work = count > 1 ? atof(words[1]) : 1, share = 1, sum = 0;
    for (int i = 2; i < count; i++) {
        int named;
        double own;
        if (sscanf(words[i], "%d=%lf", &named, &own) == 2 && named == rank)
            share = own;
        sscanf(words[i], "abort=%d", &aborts);
    }
    int pieces = (int)(work / 0.005);
    for (int piece = 0; piece < pieces; piece++) {
        double until = cpu() + 0.005 * share, own = piece;
        while (cpu() < until)
            for (volatile int i = 0; i < 5000; i++)
                ;
        if (rank == aborts && piece == pieces / 3)
            abort();
        MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return sum < 0;
}

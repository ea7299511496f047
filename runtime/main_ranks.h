/*
 * Ranks of a command line, by MPI: mpicc compiles the program, mpirun -n N starts it.
 *
 * All ranks do the same, with the same words, and choose the same tokens; the first one alone is heard.
 *
 * Needs model_ranks.h.
 */
#include <mpi.h>

static int mpi_gather(void *of, float *all, const int64_t *begin)
{
        const $model_ranks *r = of;
        int count[RANKS_MOST], at[RANKS_MOST];
        for (int i = 0; i < r->ranks; i++) {
                at[i] = (int)begin[i];
                count[i] = (int)(begin[i + 1] - begin[i]);
        }
        return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, at, MPI_FLOAT, MPI_COMM_WORLD) != MPI_SUCCESS;
}

/* The model becomes one of the ranks; or NULL and *error. */
static $model *join_ranks($model *m, int *error)
{
        static $model_ranks ranks = {.gather = mpi_gather};
        ranks.of = &ranks;
        MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
        MPI_Comm_size(MPI_COMM_WORLD, &ranks.ranks);
        void *scratch = m ? malloc($model_join_scratch()) : NULL;
        if (m)
                *error = scratch ? $model_join(m, &ranks, scratch) : $MODEL_ERROR_MEMORY;
        if (*error) { /* the others can't go on without this one */
                fprintf(stderr, "rank %d: %s\n", ranks.rank, $model_error(*error));
                MPI_Abort(MPI_COMM_WORLD, 3);
        }
        if (ranks.rank > 0 && !freopen("/dev/null", "w", stderr))
                *error = $MODEL_ERROR_FILE;
        return m;
}

static int asks_for_help(char **argv)
{
        for (int i = 1; argv[i]; i++)
                if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
                        return 1;
        return 0;
}

/* Only the first rank's words are read from standard input by mpirun: they are for all, or for none. */
static void refuse_input(char **argv)
{
        for (int i = 1; argv[i]; i++)
                if (!strcmp(argv[i], "-")) {
                        fprintf(stderr, "%s: -: one rank alone has standard input; a file or a word is for all\n", argv[0]);
                        MPI_Abort(MPI_COMM_WORLD, 2);
                }
}

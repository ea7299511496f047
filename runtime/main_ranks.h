/*
 * Ranks of a command line, by MPI: mpicc compiles the program, mpirun -n N starts it.
 *
 * All ranks run with the same arguments, but for the weight file and the threads, and choose the same tokens; only the first one prints.
 *
 * Needs model_ranks.h.
 */
#include <mpi.h>

/* A message that was sent, and may not have been received yet. */
typedef struct MpiSent MpiSent;
struct MpiSent {
        MpiSent *next;
        MPI_Request request;
        float x[];
};

typedef struct {
        $model_ranks ranks;
        MPI_Comm one_stage, number; /* the ranks of this stage; those of this number of all stages */
        MpiSent *sent;              /* the oldest one last */
        int under_way;
        Ranks *own_link;
} MpiRanks;

enum { MPI_UNDER_WAY = 64 }; /* for each stage: maximum number of messages under way */

static int mpi_gather(void *of, float *all, const int64_t *begin)
{
        const MpiRanks *r = of;
        int count[MAX_RANKS], at[MAX_RANKS];
        for (int i = 0; i < r->ranks.ranks; i++) {
                at[i] = (int)begin[i];
                count[i] = (int)(begin[i + 1] - begin[i]);
        }
        return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, count, at, MPI_FLOAT, r->one_stage) != MPI_SUCCESS;
}

/* Frees the buffers of completed sends; if MPI_UNDER_WAY are incomplete, waits for the oldest. */
static int mpi_end_sent(MpiRanks *r)
{
        MpiSent **at = &r->sent;
        while (*at) {
                MpiSent *sent = *at;
                const int wait = !sent->next && r->under_way >= MPI_UNDER_WAY * r->ranks.stages;
                int done = 1;
                if ((wait ? MPI_Wait(&sent->request, MPI_STATUS_IGNORE) : MPI_Test(&sent->request, &done, MPI_STATUS_IGNORE)) != MPI_SUCCESS)
                        return 1;
                if (!done) {
                        at = &sent->next;
                        continue;
                }
                *at = sent->next;
                free(sent);
                r->under_way--;
        }
        return 0;
}

static int mpi_send(void *of, const float *x, int64_t n, int stage)
{
        MpiRanks *r = of;
        MpiSent *sent = mpi_end_sent(r) ? NULL : malloc(sizeof *sent + (size_t)n * sizeof *x);
        if (!sent)
                return 1;
        memcpy(sent->x, x, (size_t)n * sizeof *x);
        sent->next = r->sent;
        r->sent = sent;
        r->under_way++;
        return MPI_Isend(sent->x, (int)n, MPI_FLOAT, stage, 0, r->number, &sent->request) != MPI_SUCCESS;
}

static int mpi_receive(void *of, float *x, int64_t n, int stage)
{
        const MpiRanks *r = of;
        return MPI_Recv(x, (int)n, MPI_FLOAT, stage, 0, r->number, MPI_STATUS_IGNORE) != MPI_SUCCESS;
}

static void take_out(char **argv, int at, int words)
{
        for (int k = at; argv[k]; k++)
                argv[k] = argv[k + words - 1] ? argv[k + words] : NULL;
}

/* Parses --check-ranks, and removes it from argv. */
static int take_check(char **argv)
{
        int check = 0;
        for (int i = 1; argv[i]; i++)
                if (!strcmp(argv[i], "--check-ranks")) {
                        check = 1;
                        take_out(argv, i--, 1);
                }
        return check;
}

/* Parses --stages S, and removes it from argv: consecutive processes form a stage. */
static int take_stages(char **argv)
{
        int stages = 1, size = 1;
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        for (int i = 1; argv[i]; i++) {
                if (strcmp(argv[i], "--stages"))
                        continue;
                stages = (int)option_number(argv, i, 1, size);
                take_out(argv, i, 2);
                if (size % stages) {
                        terminal_print(stderr, "%s: --stages %d: %d processes can't be divided into that many stages of the same size\n", argv[0],
                                       stages, size);
                        MPI_Abort(MPI_COMM_WORLD, 2);
                }
        }
        return stages;
}

static int stages_asked = 1, check_asked;

static void make_stages(MpiRanks *r)
{
        int rank = 0, size = 1;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        r->ranks.stages = stages_asked;
        r->ranks.ranks = size / stages_asked;
        r->ranks.stage = rank / r->ranks.ranks;
        r->ranks.rank = rank % r->ranks.ranks;
        MPI_Comm_split(MPI_COMM_WORLD, r->ranks.stage, r->ranks.rank, &r->one_stage);
        MPI_Comm_split(MPI_COMM_WORLD, r->ranks.rank, r->ranks.stage, &r->number);
}

#if !HAS_WEIGHTS_INSIDE
/* Prints the rank whose share the weight file has. */
static void say_share(const $model *m, const $model_ranks *r)
{
        const uint64_t *head = share_head(m);
        const unsigned place[2] = {(unsigned)head[RANK_FILE_PLACE], (unsigned)(head[RANK_FILE_PLACE] >> 32)};
        const unsigned stage[2] = {(unsigned)head[RANK_FILE_STAGE], (unsigned)(head[RANK_FILE_STAGE] >> 32)};
        terminal_print(stderr, "it is rank %d of %d, of stage %d of %d; the file is that of rank %u of %u, of stage %u of %u\n", r->rank, r->ranks,
                r->stage, r->stages, place[0], place[1], stage[0], stage[1]);
}
#endif

static MpiRanks mpi_ranks = {.ranks = {.gather = mpi_gather, .send = mpi_send, .receive = mpi_receive}};

/* Waits until the others have received all messages; after an error they may wait for messages that never come. */
static void leave_ranks(void)
{
        const Ranks *r = mpi_ranks.own_link;
        if (r && r->error) {
                if (r->differs)
                        terminal_print(stderr, "after %s[%lld] ranks have different values: a machine or a link is broken\n", r->differs,
                                       (long long)r->differs_at);
                fflush(stderr);
                MPI_Abort(MPI_COMM_WORLD, 3);
        }
        for (MpiSent *sent = mpi_ranks.sent; sent; sent = mpi_ranks.sent) {
                (void)MPI_Wait(&sent->request, MPI_STATUS_IGNORE);
                mpi_ranks.sent = sent->next;
                free(sent);
        }
        MPI_Finalize();
}

/* Makes the model, from this file of weights, one of the ranks; NULL and *error if that fails. */
static $model *join_ranks($model *m, const char *weights, int *error)
{
        MpiRanks *all = &mpi_ranks;
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        all->ranks.of = all;
        make_stages(all);
        all->ranks.check = check_asked;
        void *scratch = m ? malloc($model_join_scratch()) : NULL;
        if (m)
                *error = scratch ? $model_join(m, &all->ranks, scratch) : $MODEL_ERROR_MEMORY;
        all->own_link = *error ? NULL : scratch;
        if (*error) { /* the others can't continue without this one */
                const int file = *error == $MODEL_ERROR_FILE || *error == $MODEL_ERROR_WEIGHTS;
                terminal_print(stderr, "rank %d: %s%s%s\n", rank, file ? weights : "", file ? ": " : "", $model_error(*error));
#if !HAS_WEIGHTS_INSIDE
                if (*error == $MODEL_ERROR_SHARE)
                        say_share(m, &all->ranks);
#endif
                MPI_Abort(MPI_COMM_WORLD, 3);
        }
        if (rank > 0 && !freopen("/dev/null", "w", stderr))
                *error = $MODEL_ERROR_FILE;
        return m;
}

/* Ends all ranks unless they have the same arguments, except for the program, -w FILE and --threads K. */
static void refuse_other_arguments(char **argv)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        int rank = 0;
        for (int i = 1; argv[i]; i++) {
                if ((!strcmp(argv[i], "-w") || !strcmp(argv[i], "--threads")) && argv[i + 1]) {
                        i++;
                        continue;
                }
                for (const char *c = argv[i]; *c; c++)
                        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
                hash = (hash ^ 0x100) * UINT64_C(0x100000001b3);
        }
        const uint64_t own[2] = {hash, ~hash};
        uint64_t largest[2];
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (MPI_Allreduce(own, largest, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS && largest[0] == ~largest[1])
                return;
        if (rank == 0)
                terminal_print(stderr, "%s: all ranks need the same arguments, except for -w and --threads\n", argv[0]);
        MPI_Abort(MPI_COMM_WORLD, 2);
}

static int asks_for_help(char **argv)
{
        for (int i = 1; argv[i]; i++)
                if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
                        return 1;
        return 0;
}

/* mpirun passes standard input only to the first rank, and all ranks need the same input. */
static void refuse_input(char **argv)
{
        for (int i = 1; argv[i]; i++)
                if (!strcmp(argv[i], "-")) {
                        terminal_print(stderr, "%s: -: only rank 0 can read standard input; use a file or an argument\n", argv[0]);
                        MPI_Abort(MPI_COMM_WORLD, 2);
                }
}

/* The weight file of one rank: the parts of a packed file that it reads, at the same offsets, with holes
 * between (runtime/rank_file.h). */
#define _DEFAULT_SOURCE /* ftruncate */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "packed_file_private.h"
#include "../../runtime/rank_file.h"

/* Copies n bytes to the same offset in the other file. */
static bool copy_bytes(WrittenFile *to, const PackedFile *from, int64_t at, int64_t n)
{
        const char *bytes = (const char *)from->mapped + at;
        for (int64_t done = 0; done < n;) {
                const ssize_t put = pwrite(fileno(to->file), bytes + done, (size_t)(n - done), at + done);
                if (put < 0 && errno != EINTR) {
                        to->error = strerror(errno);
                        return false;
                }
                done += put > 0 ? put : 0;
        }
        return true;
}

static bool rank_write_head(WrittenFile *to, const PackedFile *from, const Plan *p, RankPlace place)
{
        uint64_t head[PACKED_HEAD / sizeof(uint64_t)];
        memcpy(head, from->mapped, sizeof head);
        memcpy(head, RANK_FILE_MARK, sizeof *head);
        head[RANK_FILE_SHARDING] = sharding_hash(p);
        head[RANK_FILE_PLACE] = (uint64_t)place.rank | (uint64_t)place.ranks << 32;
        head[RANK_FILE_STAGE] = (uint64_t)place.stage | (uint64_t)place.stages << 32;
        head[RANK_FILE_SAMPLE] = weights_sample(from->weights, FLOATS(p->bytes.weights));
        const PackedFile page = {.mapped = head, .size = sizeof head};
        return copy_bytes(to, &page, 0, sizeof head);
}

bool output_rank_file(WrittenFile *o, const char *path, const Plan *p, const PackedFile *from,
                      RankPlace place)
{
        ByteRange *range;
        const int64_t tail = PACKED_HEAD + p->bytes.weights;
        if (!output_begin(o, path))
                return false;
        if (ftruncate(fileno(o->file), (off_t)from->size)) {
                o->error = strerror(errno);
                return false;
        }
        const int n = rank_ranges(p, place, &range);
        int64_t all = 0, done = 0;
        for (int i = 0; i < n; i++)
                all += range[i].end - range[i].begin;
        bool good =
                rank_write_head(o, from, p, place) && copy_bytes(o, from, tail, (int64_t)from->size - tail);
        for (int i = 0; i < n && good; i++) {
                const int64_t bytes = range[i].end - range[i].begin;
                good = copy_bytes(o, from, PACKED_HEAD + range[i].begin, bytes);
                done += bytes;
                progress("writing", PROGRESS_BYTES, done, all);
        }
        if (good && fsync(fileno(o->file)))
                o->error = strerror(errno);
        return !o->error;
}

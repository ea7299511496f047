/* GGUF: reading, one file or shards; docs/gguf.md has the format and the limits.
 *
 *   magic, version, number of tensors, number of pairs
 *   pairs     key, type, value
 *   tensors   name, number of axes, their sizes innermost first, type, offset in the data
 *   data      from a multiple of the alignment; tensors end to end, each from a multiple of it
 *
 * A cursor moves from the beginning to the end, only by gguf_take().  Nothing after the file's end is read,
 * and a count is checked against the remaining bytes before memory is allocated for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gguf_private.h"

enum {
        HEADER_BYTES = 24,
        PAIR_BYTES = 14,   /* minimum size of a pair */
        TENSOR_BYTES = 33, /* minimum size of a tensor's entry */
        MAX_ENTRIES = 65536,
        MAX_KEY = 1024,
        MAX_NAME = 127,
        MAX_AXES = 4,
        MIN_ALIGNMENT = 8,
        USUAL_ALIGNMENT = 32,
        MAX_ALIGNMENT = 65536,
        MAX_SHARDS = 4096,
};

static const int64_t max_size = INT32_MAX, max_elements = (INT64_C(1) << 48) - 1,
                     max_bytes = INT64_C(1) << 60;

/* ---- the cursor ---- */

typedef struct {
        const CkFile *file;
        int64_t at;
        CkError *err;
} GgufCursor;

/* The next n bytes; NULL after a message, which contains `what`. */
static const unsigned char *gguf_take(GgufCursor *c, uint64_t n, const char *what)
{
        uint64_t left = (uint64_t)(c->file->size - c->at);
        if (n > left) {
                ck_fail(c->err,
                        "%s: byte %lld: %s would take %llu bytes, but the file has %llu more: the file is "
                        "cut "
                        "short at byte %lld, or not a GGUF",
                        c->file->path, (long long)c->at, what, (unsigned long long)n,
                        (unsigned long long)left, (long long)c->file->size);
                return NULL;
        }
        const unsigned char *taken = c->file->data + c->at;
        c->at += (int64_t)n;
        return taken;
}

static bool take_u32(GgufCursor *c, uint32_t *value, const char *what)
{
        const unsigned char *bytes = gguf_take(c, sizeof *value, what);
        if (bytes)
                memcpy(value, bytes, sizeof *value);
        return bytes;
}

static bool take_u64(GgufCursor *c, uint64_t *value, const char *what)
{
        const unsigned char *bytes = gguf_take(c, sizeof *value, what);
        if (bytes)
                memcpy(value, bytes, sizeof *value);
        return bytes;
}

static bool gguf_take_text(GgufCursor *c, CkText *text, const char *what)
{
        uint64_t n;
        const unsigned char *bytes = take_u64(c, &n, what) ? gguf_take(c, n, what) : NULL;
        if (!bytes)
                return false;
        *text = (CkText){(const char *)bytes, (int64_t)n};
        return true;
}

static bool text_is_printable(CkText text)
{
        for (int64_t at = 0; at < text.n;) {
                uint32_t code;
                int length = decode_utf8(text.bytes + at, (int32_t)(text.n - at), &code);
                if (length == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0))
                        return false;
                at += length;
        }
        return true;
}

/* A key, or a tensor's name, of limited length. */
static bool take_name(GgufCursor *c, CkText *name, const char *what, int most)
{
        int64_t at = c->at;
        if (!gguf_take_text(c, name, what))
                return false;
        if (name->n < 1 || name->n > most)
                return ck_fail(c->err, "%s: byte %lld: %s of %lld bytes; lathe reads 1 to %d", c->file->path,
                               (long long)at, what, (long long)name->n, most);
        return text_is_printable(*name) ||
               ck_fail(c->err, "%s: byte %lld: %s that is not UTF-8 without control characters",
                       c->file->path, (long long)at, what);
}

/* A count of entries with a minimum size in bytes. */
static bool take_count(GgufCursor *c, int *count, const char *what, int least)
{
        int64_t behind = c->file->size > HEADER_BYTES ? c->file->size - HEADER_BYTES : 0;
        uint64_t n, left = (uint64_t)(behind / least);
        int64_t at = c->at;
        if (!take_u64(c, &n, "a count"))
                return false;
        if (n > MAX_ENTRIES || n > left)
                return ck_fail(c->err,
                               "%s: byte %lld: %llu %s; lathe reads up to %d, and the file has room for %llu",
                               c->file->path, (long long)at, (unsigned long long)n, what, MAX_ENTRIES,
                               (unsigned long long)left);
        *count = (int)n;
        return true;
}

/* ---- pairs ---- */

static const struct {
        int size;
        CkPairKind kind;
} values[GGUF_VALUES] = {
        [GGUF_U8] = {1, CK_INTEGER},  [GGUF_I8] = {1, CK_INTEGER},  [GGUF_U16] = {2, CK_INTEGER},
        [GGUF_I16] = {2, CK_INTEGER}, [GGUF_U32] = {4, CK_INTEGER}, [GGUF_I32] = {4, CK_INTEGER},
        [GGUF_F32] = {4, CK_REAL},    [GGUF_BOOL] = {1, CK_TRUTH},  [GGUF_TEXT] = {0, CK_TEXT},
        [GGUF_U64] = {8, CK_INTEGER}, [GGUF_I64] = {8, CK_INTEGER}, [GGUF_F64] = {8, CK_REAL},
};

int gguf_value_size(uint32_t type)
{
        return values[type].size;
}

static bool take_truths(GgufCursor *c, uint64_t n)
{
        int64_t at = c->at;
        const unsigned char *bytes = gguf_take(c, n, "truths");
        for (uint64_t i = 0; bytes && i < n; i++)
                if (bytes[i] > 1)
                        return ck_fail(c->err, "%s: byte %lld: %d is not a bool, which is 0 or 1",
                                       c->file->path, (long long)(at + (int64_t)i), bytes[i]);
        return bytes;
}

static bool gguf_take_texts(GgufCursor *c, uint64_t n)
{
        CkText text;
        for (uint64_t i = 0; i < n; i++)
                if (!gguf_take_text(c, &text, "a text"))
                        return false;
        return true;
}

/* n values of a type other than a list; n is trusted only if the bytes are present. */
static bool take_values(GgufCursor *c, uint32_t type, uint64_t n)
{
        uint64_t size = type == GGUF_TEXT ? 8 : (uint64_t)values[type].size;
        uint64_t left = (uint64_t)(c->file->size - c->at) / size;
        if (n > left)
                return ck_fail(c->err,
                               "%s: byte %lld: a list of %llu values, but the file has room for %llu: it is "
                               "cut short at byte %lld, or not a GGUF",
                               c->file->path, (long long)c->at, (unsigned long long)n,
                               (unsigned long long)left, (long long)c->file->size);
        if (type == GGUF_TEXT)
                return gguf_take_texts(c, n);
        return type == GGUF_BOOL ? take_truths(c, n) : gguf_take(c, n * size, "a value") != NULL;
}

static bool take_value_type(GgufCursor *c, uint32_t *type, bool within)
{
        int64_t at = c->at;
        if (!take_u32(c, type, "a value's type"))
                return false;
        if (*type >= GGUF_VALUES)
                return ck_fail(c->err, "%s: byte %lld: %u is not a type of values", c->file->path,
                               (long long)at, *type);
        return *type != GGUF_LIST || !within ||
               ck_fail(c->err, "%s: byte %lld: a list of lists, which lathe does not read", c->file->path,
                       (long long)at);
}

static bool take_pair(GgufCursor *c, CkPair *pair)
{
        CkText key;
        uint64_t n = 1;
        if (!take_name(c, &key, "a key", MAX_KEY) || !take_value_type(c, &pair->type, false))
                return false;
        pair->list = pair->type == GGUF_LIST;
        if (pair->list && (!take_value_type(c, &pair->type, true) || !take_u64(c, &n, "a list's length")))
                return false;
        pair->kind = values[pair->type].kind;
        pair->data = c->file->data + c->at;
        if (!take_values(c, pair->type, n))
                return false;
        pair->count = (int64_t)n;
        pair->key = strndup(key.bytes, (size_t)key.n);
        return pair->key || ck_lack(c->err, "%s: out of memory", c->file->path);
}

typedef struct {
        CkPair *pair;
        int n;
} GgufPairs;

static bool take_pairs(GgufCursor *c, GgufPairs *pairs, int n)
{
        pairs->pair = calloc((size_t)n + 1, sizeof *pairs->pair);
        if (!pairs->pair)
                return ck_lack(c->err, "%s: out of memory", c->file->path);
        while (pairs->n < n) {
                if (!take_pair(c, &pairs->pair[pairs->n]))
                        return false;
                pairs->n++;
        }
        pairs_sort(pairs->pair, n);
        for (int i = 1; i < n; i++)
                if (!strcmp(pairs->pair[i - 1].key, pairs->pair[i].key))
                        return ck_fail(c->err,
                                       "%s: the key %s occurs twice, with values at bytes %lld and %lld",
                                       c->file->path, ck_quote(pairs->pair[i].key).text,
                                       (long long)(pairs->pair[i - 1].data - c->file->data),
                                       (long long)(pairs->pair[i].data - c->file->data));
        return true;
}

static bool find_alignment(const GgufCursor *c, const GgufPairs *pairs, int64_t *alignment)
{
        static const char key[] = "general.alignment";
        const CkPair *pair = pair_find(pairs->pair, pairs->n, key);
        *alignment = USUAL_ALIGNMENT;
        if (!pair)
                return true;
        bool good = pair->type == GGUF_U32 && !pair->list && pair_integers(pair, alignment);
        if (good && *alignment >= MIN_ALIGNMENT && *alignment <= MAX_ALIGNMENT &&
            !(*alignment & (*alignment - 1)))
                return true;
        return ck_fail(c->err, "%s: byte %lld: %s has to be a u32, a power of two from %d to %d",
                       c->file->path, (long long)(pair->data - c->file->data), key, MIN_ALIGNMENT,
                       MAX_ALIGNMENT);
}

/* Checks that a tokenizer has a score and a type for each token, if it has any. */
static bool check_tokens(const GgufCursor *c, const GgufPairs *pairs)
{
        static const char tokens[] = "tokenizer.ggml.tokens";
        static const char *const beside[] = {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"};
        const CkPair *all = pair_find(pairs->pair, pairs->n, tokens);
        for (int i = 0; all && i < 2; i++) {
                const CkPair *each = pair_find(pairs->pair, pairs->n, beside[i]);
                if (each && each->count != all->count)
                        return ck_fail(c->err, "%s: byte %lld: %s has %lld values, but %s has %lld",
                                       c->file->path, (long long)(each->data - c->file->data), beside[i],
                                       (long long)each->count, tokens, (long long)all->count);
        }
        return true;
}

/* ---- tensors ---- */

typedef struct {
        CkTensor tensor;
        char name[MAX_NAME + 1];
        int64_t offset, at; /* offset of its data; offset of its entry in the file */
} GgufEntry;

static bool gguf_refuse_entry(const GgufCursor *c, const GgufEntry *e, const char *what)
{
        return ck_fail(c->err, "%s: byte %lld: tensor \"%s\": %s", c->file->path, (long long)e->at,
                       ck_quote(e->name).text, what);
}

static bool gguf_take_shape(GgufCursor *c, GgufEntry *e)
{
        char what[96];
        uint32_t axes;
        int64_t count = 1;
        if (!take_u32(c, &axes, "a number of axes"))
                return false;
        if (axes < 1 || axes > MAX_AXES) {
                snprintf(what, sizeof what, "%u axes; lathe reads 1 to %d", axes, MAX_AXES);
                return gguf_refuse_entry(c, e, what);
        }
        e->tensor.rank = (int)axes;
        for (int i = (int)axes - 1; i >= 0; i--) {
                uint64_t size;
                if (!take_u64(c, &size, "a size"))
                        return false;
                if (size < 1 || size > (uint64_t)max_size || (int64_t)size > max_elements / count) {
                        snprintf(what, sizeof what,
                                 "a size of %llu; lathe reads 1 to %lld, and less than 2^48 in all",
                                 (unsigned long long)size, (long long)max_size);
                        return gguf_refuse_entry(c, e, what);
                }
                count *= (int64_t)size;
                e->tensor.shape[i] = (int64_t)size;
        }
        return true;
}

static const char *removed_type(uint32_t number)
{
        static const struct {
                uint32_t number;
                const char *name;
        } removed[] = {{4, "Q4_2"},      {5, "Q4_3"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},
                       {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"}};
        for (size_t i = 0; i < sizeof removed / sizeof *removed; i++)
                if (removed[i].number == number)
                        return removed[i].name;
        return NULL;
}

static bool take_type(GgufCursor *c, GgufEntry *e)
{
        char what[96];
        uint32_t number;
        if (!take_u32(c, &number, "a type"))
                return false;
        if (!ck_type_of_gguf(number, &e->tensor.dtype)) {
                const char *removed = removed_type(number);
                snprintf(what, sizeof what,
                         removed ? "type %u was %s, which GGUF no longer has"
                                 : "its type, %u, is unknown to lathe",
                         number, removed);
                return gguf_refuse_entry(c, e, what);
        }
        int64_t row = e->tensor.shape[e->tensor.rank - 1];
        int in_block = ck_type_values(e->tensor.dtype);
        if (row % in_block == 0)
                return true;
        snprintf(what, sizeof what, "rows of %lld values are not a multiple of %s's block size, %d",
                 (long long)row, ck_type_name(e->tensor.dtype), in_block);
        return gguf_refuse_entry(c, e, what);
}

static bool take_offset(GgufCursor *c, GgufEntry *e, int64_t alignment)
{
        char what[96];
        uint64_t offset;
        if (!take_u64(c, &offset, "an offset"))
                return false;
        if (offset % (uint64_t)alignment == 0 && offset <= (uint64_t)max_bytes) {
                e->offset = (int64_t)offset;
                return true;
        }
        snprintf(what, sizeof what, "offset %llu is %s", (unsigned long long)offset,
                 offset % (uint64_t)alignment ? "not a multiple of the alignment" : "beyond 2^60");
        return gguf_refuse_entry(c, e, what);
}

static bool take_tensor(GgufCursor *c, GgufEntry *e, int64_t alignment)
{
        CkText name;
        e->at = c->at;
        if (!take_name(c, &name, "a tensor's name", MAX_NAME))
                return false;
        memcpy(e->name, name.bytes, (size_t)name.n);
        e->tensor.name = e->name;
        e->tensor.file = c->file;
        return gguf_take_shape(c, e) && take_type(c, e) && take_offset(c, e, alignment) &&
               checkpoint_measure(c->file, &e->tensor, c->err);
}

static int by_offset(const void *left, const void *right)
{
        const GgufEntry *a = *(GgufEntry *const *)left, *b = *(GgufEntry *const *)right;
        if (a->offset != b->offset)
                return a->offset < b->offset ? -1 : 1;
        return (a->at > b->at) - (a->at < b->at);
}

static int64_t gguf_aligned(int64_t n, int64_t alignment)
{
        return (n + alignment - 1) / alignment * alignment;
}

/* missing: the first tensor whose bytes are incomplete; end: of the last one, relative to the data. */
static bool fail_short(const GgufCursor *c, const GgufEntry *missing, int64_t start, int64_t end)
{
        return ck_fail(
                c->err,
                "%s: the file is cut short: it has %lld bytes, and its tensors end at byte %lld; \"%s\" "
                "is the first that is incomplete",
                c->file->path, (long long)c->file->size, (long long)(start + end),
                ck_quote(missing->name).text);
}

/* In the order of the data, each tensor begins at the aligned end of the previous one; the last may lack
 * padding. */
static bool place_tensors(const GgufCursor *c, GgufEntry **order, int n, int64_t start, int64_t alignment)
{
        int64_t at = 0, end = 0, size = c->file->size - start;
        const GgufEntry *missing = NULL;
        char what[160];
        for (int i = 0; i < n; i++) {
                GgufEntry *e = order[i];
                if (e->offset != at) {
                        snprintf(what, sizeof what,
                                 "begins at byte %lld of the data, %s byte %lld, where the one before ends",
                                 (long long)e->offset, e->offset < at ? "before" : "after", (long long)at);
                        return gguf_refuse_entry(c, e, what);
                }
                if (e->tensor.bytes > max_bytes - at)
                        return gguf_refuse_entry(c, e, "the tensors end beyond 2^60 bytes");
                end = at + e->tensor.bytes;
                if (end > size && !missing)
                        missing = e;
                e->tensor.data = missing ? NULL : c->file->data + start + at;
                at = gguf_aligned(end, alignment);
        }
        if (missing)
                return fail_short(c, missing, start, end);
        return size <= at || ck_fail(c->err, "%s: %lld bytes follow the last tensor, which ends at byte %lld",
                                     c->file->path, (long long)(size - at), (long long)(start + at));
}

static bool order_tensors(const GgufCursor *c, GgufEntry *entry, int n, int64_t alignment)
{
        GgufEntry **order = calloc((size_t)n + 1, sizeof *order);
        if (!order)
                return ck_lack(c->err, "%s: out of memory", c->file->path);
        for (int i = 0; i < n; i++)
                order[i] = &entry[i];
        if (n)
                qsort(order, (size_t)n, sizeof *order, by_offset);
        bool good = place_tensors(c, order, n, gguf_aligned(c->at, alignment), alignment);
        free(order);
        return good;
}

static bool take_tensors(GgufCursor *c, Checkpoint *checkpoint, int n, int64_t alignment)
{
        GgufEntry *entry = calloc((size_t)n + 1, sizeof *entry);
        bool good = entry || ck_lack(c->err, "%s: out of memory", c->file->path);
        for (int i = 0; good && i < n; i++)
                good = take_tensor(c, &entry[i], alignment);
        good = good && order_tensors(c, entry, n, alignment);
        for (int i = 0; good && i < n; i++)
                good = checkpoint_add(checkpoint, &entry[i].tensor, c->err);
        free(entry);
        return good;
}

/* ---- a file ---- */

static bool take_version(GgufCursor *c)
{
        enum { VERSION_AT = 4 };
        uint32_t version;
        const unsigned char *magic = gguf_take(c, VERSION_AT, "its first word");
        if (!magic)
                return false;
        if (memcmp(magic, "GGUF", VERSION_AT) != 0)
                return ck_fail(c->err, "%s: a GGUF file begins with these four letters; this one does not",
                               c->file->path);
        if (!take_u32(c, &version, "the version"))
                return false;
        if (version == 2 || version == 3)
                return true;
        if (version && !(version & 0xffffff))
                return ck_fail(c->err, "%s: a big-endian GGUF; lathe reads little-endian ones, as most are",
                               c->file->path);
        return ck_fail(c->err,
                       "%s: byte %d: version %u of GGUF; lathe reads 2 and 3: convert the model again",
                       c->file->path, VERSION_AT, version);
}

/* The caller owns the pairs, even after an error. */
static bool gguf_read_file(Checkpoint *checkpoint, const CkFile *file, GgufPairs *pairs, CkError *err)
{
        GgufCursor c = {file, 0, err};
        int tensors, n;
        int64_t alignment;
        return take_version(&c) && take_count(&c, &tensors, "tensors", TENSOR_BYTES) &&
               take_count(&c, &n, "pairs", PAIR_BYTES) && take_pairs(&c, pairs, n) &&
               find_alignment(&c, pairs, &alignment) && check_tokens(&c, pairs) &&
               take_tensors(&c, checkpoint, tensors, alignment);
}

/* ---- shards ---- */

/* An integer of the file, or -1 if it lacks the key. */
static int64_t pair_number(const GgufPairs *pairs, const char *key)
{
        const CkPair *pair = pair_find(pairs->pair, pairs->n, key);
        int64_t number = -1;
        if (pair && (pair->list || !pair_integers(pair, &number)))
                return -1;
        return number;
}

/* "-00002-of-00003.gguf" at the end of the file's name, if it is this shard; else NULL. */
static char *shard_end(const char *path, int64_t shard, int64_t shards)
{
        char end[64];
        snprintf(end, sizeof end, "-%05lld-of-%05lld.gguf", (long long)shard, (long long)shards);
        return text_ends_with(path, end) ? (char *)path + strlen(path) - strlen(end) : NULL;
}

static bool check_first(const CkFile *file, const GgufPairs *pairs, int64_t shards, CkError *err)
{
        int64_t shard = pair_number(pairs, "split.no") + 1;
        if (shards > MAX_SHARDS)
                return ck_fail(err, "%s: one of %lld shards; lathe reads up to %d", file->path,
                               (long long)shards, MAX_SHARDS);
        if (shard != 1)
                return ck_fail(
                        err,
                        "%s: shard %lld of %lld: give the first, whose name ends in -00001-of-%05lld.gguf",
                        file->path, (long long)shard, (long long)shards, (long long)shards);
        return shard_end(file->path, 1, shards) || ck_fail(err,
                                                           "%s: the first of %lld shards, whose names have "
                                                           "to end in -00001-of-%05lld.gguf and so on",
                                                           file->path, (long long)shards, (long long)shards);
}

static bool read_shard(Checkpoint *checkpoint, const CkFile *first, int64_t shard, int64_t shards,
                       CkError *err)
{
        GgufPairs pairs = {0};
        char *path = strdup(first->path);
        if (!path)
                return ck_lack(err, "%s: out of memory", first->path);
        char *number = shard_end(path, 1, shards) + 1;
        char digits[24];
        snprintf(digits, sizeof digits, "%05lld", (long long)shard);
        memcpy(number, digits, 5);
        const CkFile *file = checkpoint_map(checkpoint, path, err);
        bool good = file && gguf_read_file(checkpoint, file, &pairs, err);
        if (good &&
            (pair_number(&pairs, "split.no") != shard - 1 || pair_number(&pairs, "split.count") != shards))
                good = ck_fail(err,
                               "%s: its split.no and split.count do not say that it is shard %lld of %lld",
                               path, (long long)shard, (long long)shards);
        pairs_free(pairs.pair, pairs.n);
        free(path);
        return good;
}

static bool gguf_read_shards(Checkpoint *checkpoint, const CkFile *file, const GgufPairs *pairs, CkError *err)
{
        int64_t shards = pair_number(pairs, "split.count"),
                tensors = pair_number(pairs, "split.tensors.count");
        if (shards < 2)
                return true;
        if (!check_first(file, pairs, shards, err))
                return false;
        for (int64_t shard = 2; shard <= shards; shard++) {
                if (!read_shard(checkpoint, file, shard, shards, err))
                        return false;
                if (checkpoint_count(checkpoint) > MAX_ENTRIES)
                        return ck_fail(err, "%s: more than %d tensors in its shards", file->path,
                                       MAX_ENTRIES);
        }
        return tensors < 0 || tensors == checkpoint_count(checkpoint) ||
               ck_fail(err, "%s: its shards have %d tensors, but split.tensors.count says %lld", file->path,
                       checkpoint_count(checkpoint), (long long)tensors);
}

bool gguf_probe(const CkFile *file)
{
        return text_ends_with(file->path, ".gguf") || (file->size >= 4 && !memcmp(file->data, "GGUF", 4));
}

bool gguf_read(Checkpoint *checkpoint, const CkFile *file, CkError *err)
{
        GgufPairs pairs = {0};
        bool good = gguf_read_file(checkpoint, file, &pairs, err);
        checkpoint_take_pairs(checkpoint, pairs.pair, pairs.n);
        return good && gguf_read_shards(checkpoint, file, &pairs, err);
}

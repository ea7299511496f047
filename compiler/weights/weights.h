/* weights: numbers for a model's weights, and for its inputs where nobody gives them.
 *
 * Files of tensors (checkpoint.c and a reader for each format), which element of them is which of a weight's (weight_map.c), weights
 * by hash (hash_weights.c), and weights packed for a plan, in memory (pack.c, weight_pool.c) and as a file (packed_file.c). */
#ifndef WEIGHTS_H
#define WEIGHTS_H
#include <stdbool.h>
#include <stdint.h>

#include "emit/emit.h"

/* Checkpoints: files of named tensors, mapped read-only.
 *
 * A path may be a .safetensors file, a *.safetensors.index.json with its shards, a directory that holds one
 * of these, a .gguf or the first of its shards, or a llama2.c legacy .bin, whose reader supplies Meta's names.
 * Formats are rows of one table in checkpoint.c. A file is believed only after every number in it has been
 * checked against the file's size; whatever is wrong is refused with a message that names the file and the
 * tensor or byte. Nothing is copied: tensors point into the mapping and live until checkpoint_close. Hosts are
 * little-endian, as the formats are. */

enum { CK_MAX_RANK = 8 };

/* Element types, rows of types.def. A tensor of a type that lathe does not read is listed like any other, so that a
 * model may drop it. Types of GGUF may be packed: some values of a row share a block of bytes. */
typedef enum {
#define CK_TYPE(name, safetensors, gguf, values, bits, widen, quantise, why) CK_##name,
#include "types.def"
#undef CK_TYPE
        CK_TYPE_COUNT
} CkType;

const char *ck_type_name(CkType type);
int ck_type_bits(CkType type);   /* of a block */
int ck_type_values(CkType type); /* in a block: 1, unless it is packed */
bool ck_type_readable(CkType type);
bool ck_type_widened(CkType type); /* its blocks are read, and become f32: no storage of weights is like it */
void ck_type_widen(CkType type, const void *from, int64_t blocks, float *to); /* of one that is readable */
const char *ck_type_why(CkType type); /* why the type is not readable; NULL if it is */

/* quantise.c */

bool can_quantise(CkType type);
/* One block, as a GGUF file has it, of least weighted error: x [values], weight [values] or NULL where all are 1.  False, with nothing
 * written: lathe has no quantiser of the type, or x is not finite, or a weight is negative or not finite.  Floats beyond
 * what the type holds become the largest that it does. */
bool quantise_block(CkType type, const float *x, const float *weight, void *block);
/* The f16 factor that the block of these floats would need, where it is beyond the largest f16; else 0. */
double quantise_beyond(CkType type, const float *x);

/* An error in one line: the path, the tensor or byte, the expected value, and what to do. */
typedef struct {
        char message[512];
        bool environment; /* memory, the disk, a file that can't be opened; not its content */
} CkError;

typedef struct CkFile CkFile;

typedef struct {
        const char *name;
        CkType dtype;
        int rank;
        int64_t shape[CK_MAX_RANK]; /* outermost first; a scalar has rank 0 */
        int64_t count;              /* elements: the product of shape */
        const void *data;           /* [shape], row-major, not necessarily aligned */
        int64_t bytes;
        const CkFile *file; /* the mapped file that holds it */
} CkTensor;

typedef struct Checkpoint Checkpoint;

/* NULL and a message, or a checkpoint that the caller closes. */
Checkpoint *checkpoint_open(const char *path, CkError *err);
/* The same of values that are no weights: an .npy too, whose one tensor is called as the file is. */
Checkpoint *values_open(const char *path, CkError *err);
void checkpoint_close(Checkpoint *checkpoint); /* NULL is allowed */

const char *checkpoint_path(const Checkpoint *checkpoint); /* as it was opened */
const char *
checkpoint_format(const Checkpoint *checkpoint); /* its name in the table: "safetensors", "GGUF" */

/* Its files in the order in which they were opened; NULL after the last. */
const CkFile *checkpoint_file(const Checkpoint *checkpoint, int index);
/* Tensors in ascending order of their names' bytes. */
int checkpoint_count(const Checkpoint *checkpoint);
const CkTensor *checkpoint_at(const Checkpoint *checkpoint, int index);
const CkTensor *checkpoint_find(const Checkpoint *checkpoint, const char *name); /* NULL if there is none */

/* A number from the header of a llama2.c file: dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size,
 * seq_len and tied (0 or 1). False if there is no such key, as in files of all other formats. */
bool checkpoint_meta(const Checkpoint *checkpoint, const char *key, int64_t *value);

/* pairs.c: keys and values of a GGUF, in ascending order of the keys' bytes. Values stay where the file
 * has them, and live until checkpoint_close. */

typedef enum { CK_INTEGER, CK_REAL, CK_TRUTH, CK_TEXT } CkPairKind;

typedef struct {
        const char *key;           /* UTF-8: "general.alignment" */
        CkPairKind kind;           /* of the value, or of each in a list */
        bool list;                 /* one value otherwise */
        int64_t count;             /* values: of a list 0 or more */
        uint32_t type;             /* of each, as GGUF numbers them */
        const unsigned char *data; /* the first value */
} CkPair;

typedef struct {
        const char *bytes; /* not terminated by NUL, and perhaps not UTF-8 */
        int64_t n;
} CkText;

int checkpoint_pairs(const Checkpoint *checkpoint); /* how many; 0 of the other formats */
const CkPair *checkpoint_pair_at(const Checkpoint *checkpoint, int index);
const CkPair *checkpoint_pair(const Checkpoint *checkpoint, const char *key); /* NULL if there is none */

/* All values of a pair, out [count]. False, with nothing promised of out: they are of another kind, or (integers) do not fit
 * into 63 bits. Truths are the integers 0 and 1; integers are reals too, rounded beyond 2^53. */
bool pair_integers(const CkPair *pair, int64_t *out);
bool pair_reals(const CkPair *pair, double *out);
bool pair_texts(const CkPair *pair, CkText *out);

/* The pairs as one JSON object, key by key as the file spells them; an f32 is the number with the fewest digits that is rounded
 * to it. Lists longer than `longest`, such as a tokenizer's, are left out. NULL and a message: what JSON can't hold (NaN, text
 * that is no UTF-8), or memory. The caller calls json_decref. */
struct json_t *checkpoint_pairs_json(const Checkpoint *checkpoint, int64_t longest, CkError *err);

/* Elements first … first + count - 1 in row-major order, widened; what is no float exactly (F64, products in packed
 * types) is rounded to one. False, with nothing written, if the type is not readable, the range is outside the tensor,
 * or the file has shrunk since it was opened. checkpoint_read_f64 rounds no F64. */
bool checkpoint_read_f32(const CkTensor *tensor, int64_t first, int64_t count, float *out);
bool checkpoint_read_f64(const CkTensor *tensor, int64_t first, int64_t count, double *out);
/* The pages of these elements need not stay in this process's memory; they can be read again. */
void checkpoint_let_go(const CkTensor *tensor, int64_t first, int64_t count);
/* The same of the pages of a mapped file that begin in between; in pack.c. */
void pages_let_go(const void *from, const void *to);

/* Writing safetensors, or an .npy of one tensor where the path says so (tensors_write.c). */

typedef struct {
        const char *name; /* UTF-8 */
        CkType dtype;     /* CK_F32, CK_F16, CK_BF16; of whole numbers CK_I32 or CK_BOOL */
        int rank;
        int64_t shape[CK_MAX_RANK];
} CkOutput;

enum { CK_BLOCK = 65536 }; /* the most elements asked for at once */

/* Gives elements first … first + count - 1 of tensors[tensor]. Rows (the last dimension) come whole where one
 * fits into CK_BLOCK. False stops the writing: the callback leaves its reason in err. */
typedef bool CkFill(void *context, int tensor, int64_t first, int64_t count, float *out, CkError *err);

/* Writes n tensors under path, rounded to nearest even where dtype is narrower. The bytes depend on the
 * arguments alone: tensors of wider types first, else in the order given; data from a multiple of 64 bytes.
 * The file is written aside and renamed when complete: on any error nothing is left and an older file stays.
 */
bool tensors_write(const char *path, int n, const CkOutput *tensors, CkFill *fill, void *context,
                   CkError *err);

struct CkFile {
        char *path;
        int descriptor;
        const unsigned char *data; /* [size], mapped */
        int64_t size;
        int entry; /* of ending.c */
};

/* Formats the message; always false. */
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
bool ck_fail(CkError *err, const char *format, ...);
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
bool ck_lack(CkError *err, const char *format, ...); /* the same for errors of the environment */

/* Where a model's weights come from: a checkpoint, or the documented hash of their names.
 *
 * A weight is a float, whoever asks: what the file has is widened to one, and where an entry of the checkpoint
 * adds or multiplies, the weight is computed in double and rounded once. */

typedef struct Weights Weights;

/* Whether the graph's checkpoint entries give every element of every weight exactly once; no checkpoint is
 * needed to tell. */
bool weights_check(const Graph *g, Diag *diag);

/* A weight is rounded to its storage, whoever reads it.  Both set it for the whole graph: hash weights are floats; a checkpoint's
 * matrices that are moved alone stay as they are, if all slots are of one type. */

/* Every slot by the hash of its full name ("layer.3.attn.q.w"), see docs/hash-weights.md. */
Weights *weights_hashed(Arena *arena, const Graph *g);

/* From a checkpoint, which must stay open, by the graph's entries; where it has none, tensors go by the
 * slots' own names. NULL: tensors that are missing, of other shape or type or not used, and whatever
 * weights_check reports, all at once. */
Weights *weights_loaded(Arena *arena, const Graph *g, Checkpoint *checkpoint, Diag *diag);

/* How the checkpoint has a slot; F32: in several types, or computed from what it has. */
Storage weight_exact(const Weights *weights, const Weight *w, int64_t slot);
/* The storage of a slot that is `exact` if `asked` is requested. */
Storage weight_rounded(const Weight *w, Storage exact, Storage asked);
bool weight_may_be(const Weight *w, Storage storage); /* its numbers can lie in it */
/* A matrix is rounded to this storage from now on; other weights stay floats.  Where blocks do not divide the contracted axis it is q8_0,
 * whose blocks are short, or stays as it is. */
void weight_round(Weight *w, Storage storage);

/* One slot in runs, of which no more is held than a block: elements first, first + step, … [n] of it are from[0], from[from_step], ….  Each
 * element comes once, in the order of the file.  False as below. */
typedef void WeightRun(void *to, int64_t first, int64_t step, int64_t n, const float *from,
                       int64_t from_step);
bool weights_take(Weights *weights, const Weight *w, int64_t slot, WeightRun *take, void *to);

/* One slot, row-major; value has as many elements as the weight's type.  False: no such slot, out of memory,
 * or the file has shrunk since it was opened.  weights_read fits WeightSource.weight: its first argument is
 * the Weights.  Not for two threads at once on one Weights. */
bool weights_read(void *weights, const Weight *w, int64_t slot, double *value);
bool weights_read_f32(Weights *weights, const Weight *w, int64_t slot, float *value);

/* weight_blocks.c: a slot whose storage is in blocks, as blocks of a checkpoint (types.def) one after another along the contracted axis,
 * row after row of the other one: those of the file where it has them, else made.  False as above. */
bool weights_blocks(Weights *weights, const Weight *w, int64_t slot, uint8_t *block);
int64_t weight_blocks_size(const Weight *w); /* bytes of a slot's */

/* panel_blocks.c: 16 rows' blocks of a checkpoint (NULL: a row of zeros) become one of runtime/blocks.h.  to: zeros before. */
void panel_block(Storage s, const uint8_t *const row[16], uint8_t *to);

/* Weights of errors: of a slot's numbers by the index along the contracted axis. */
typedef struct {
        const char *slot; /* its full name: "layer.3.attn.q.w" */
        int64_t n;
        const float *weight; /* [n] at least 0 */
} SlotImportance;
typedef struct {
        int n;
        const SlotImportance *slot; /* in ascending order of the names' bytes */
} Importance;
/* From now on, of blocks that are made of floats; slots that are not listed have what quantise_block() has without weights. */
void weights_weigh(Weights *weights, const Importance *by);

/* Why one of these was false, where more than the file or memory is to blame; else NULL.  Fits WeightSource.why. */
const char *weights_why(const void *weights);

/* weights_write.c: the published tensors as a safetensors file; storage is CK_F32, CK_F16 or CK_BF16.  Of
 * loaded weights the tensors are copied, so that in f32 nothing is lost; tensors that the model drops are not
 * written. */
bool weights_write(const Graph *g, Weights *weights, const char *path, CkType storage, CkError *err);

/* Hash weights: values for a model without a checkpoint, only from a tensor's name and element index.
 * docs/hash-weights.md specifies them, so that any language can make the same. */

uint64_t hash_name(const char *name); /* the tensor's full name, UTF-8 */
double hash_scale(int rank, const int64_t *shape);
/* Element index, counted in row-major order; centre is the declared default, 0 if there is none. */
float hash_weight(uint64_t name_hash, uint64_t index, double scale, double centre);

/* Packing: a model's weights in the order in which its kernels read them. */

/* Fills `all` [plan->weights_size] bytes, zeros before.  NULL, or an error message in the arena. */
const char *pack_weights(Plan *p, Weights *from, float *all);

/* The same for buffers of which slots before begin[id of the whole buffer] are packed already, tables always; NULL: nothing is. */
typedef enum {
        IN_MEMORY,
        IN_FILE
} PackedWhere; /* IN_FILE: all is a shared map, whose pages need not stay in memory */
const char *pack_buffers(Plan *p, Weights *from, const int64_t *begin, float *all, PackedWhere where);

/* packed_file.c: into the file itself; false with o->error */
/* The tail: bytes after the weights, a multiple of 8 of them, and the hash by which a program knows them; size 0: there is none. */
typedef struct {
        const void *bytes;
        int64_t size;
        uint64_t hash;
} WeightTail;
/* The key identifies the weights, for readers that check it; 0: none. */
bool output_weights(WrittenFile *o, const char *path, Plan *p, Weights *from, const WeightTail *tail,
                    uint64_t key);
bool write_weights(const char *path, Plan *p, Weights *from); /* false after a message */

/* Packed weights in memory, by name and layout: parts that a change of the model leaves unchanged are not packed again. */

typedef struct WeightPool WeightPool;

WeightPool *pool_new(void); /* NULL: no address space */
void pool_free(WeightPool *pool);

/* Lays the plan's weights and tables out in the pool: sets the offsets of its buffers, packs what is not there yet or has
 * another origin (a number for where values come from: each checkpoint that is opened another), and works tables out anew.
 * *base is then the plan's weights.  NULL, or what is wrong. */
const char *pool_fit(WeightPool *pool, Plan *p, Weights *from, uint64_t origin, const float **base);

/* A file of packed weights (`lathe build` writes it) mapped for the plan it was written for. */
typedef struct PackedCheck PackedCheck;
typedef struct {
        const float *weights; /* NULL: not yet opened */
        void *mapped;
        size_t size;
        PackedCheck *check; /* packed_check.c; or NULL */
        int entry;          /* of ending.c */
        bool env_error;     /* the error is one of the environment */
} PackedFile;
enum {
        PACKED_HEAD = 4096,      /* bytes before the weights */
        STORAGES_IN_FILE = 2560, /* weights whose storage is stored; those after them are floats */
        RUNS_IN_FILE = 256       /* runs of slots of one storage, of a mixture */
};
bool is_packed_file(const char *path, const char **why); /* *why: if that can't be told */
/* Sets the storage of each weight as the file has it; false: it is none of this model. */
bool packed_file_storage(const char *path, const Graph *g);
/* The file's Graph.mixture for a graph as elaborated, with this number of slots; NULL: it has none. */
uint8_t *packed_file_mixture(Arena *arena, const char *path, int64_t slots);
/* Maps it while there is no plan yet; where that can't be, packed_file_open() says why. */
void packed_file_begin(const char *path, PackedFile *file);
/* file: begun, or zero.  key 0: any.  NULL, or a message. */
const char *packed_file_open(const char *path, const Plan *p, uint64_t key, PackedFile *file);
/* Starts threads that compare the mapped file with the hashes of its blocks; nothing if it is not mapped. */
void packed_check_begin(PackedFile *file);
/* Waits for them, and starts them if need be.  Must precede any use of the weights.  NULL, or a message about the damage. */
const char *packed_file_check(const char *path, Arena *a, PackedFile *file);
void packed_file_close(PackedFile *file);

/* rank_file.c: the parts of an open packed file of the plan that a rank reads, as a file with holes; false with o->error */
bool output_rank_file(WrittenFile *o, const char *path, const Plan *p, const PackedFile *from,
                      RankPlace place);

/* Values of a model that something else made: inputs, outputs and other values by their names (taps.c), from files or given in memory.
 * Sizes of named dimensions follow from their shapes. */

bool is_values_file(const char *path); /* by its name: .npy, .safetensors */
typedef struct {
        int rank;
        int64_t dim[CK_MAX_RANK];
        double *value; /* malloc'd */
} NamedValues;
/* Of a file the tensor of that name, or the only one: integers, bools or floats.  false after an error, with nothing to free. */
bool values_load(const char *path, const char *name, NamedValues *values, CkError *err);
const Input *input_named(const Graph *g,
                         const char *name); /* of a group's field also as step.t; NULL: none */

typedef struct {
        const CkTensor *given; /* NULL: nothing, of SOME_INPUTS */
        const Type *type;      /* the model's */
        int output;            /* of the graph; -1: an input */
        double *value; /* what is given: of an input in a batch one after another, else as the model has it */
        int64_t count; /* of one in a batch */
        bool batched;
} Record;

enum { MAX_GIVEN = 64 };

typedef struct {
        Graph *g;
        const char *path; /* in messages: where the values come from */
        Checkpoint *file[MAX_GIVEN];
        int nfile;
        CkTensor made[MAX_GIVEN]; /* in memory, malloc'd F64: by the name of an input */
        int nmade;
        Record *record; /* in the order of the model: all its inputs, its outputs, then other values */
        int n;
        int64_t size[MAX_NAMED]; /* 0, while reading: not known yet */
        int64_t batch;           /* inputs have an axis more, of this size; 0: none has */
        const char *why;
} Recorded;

/* IN_BATCHES: inputs alone, each of which may have an axis more before its own.  SOME_INPUTS: those that are there; sizes that none
 * tells are 0.  In both a single number fills an input. */
typedef enum { INPUTS_ALONE, INPUTS_AND_VALUES, IN_BATCHES, SOME_INPUTS } WhatIsRecorded;

/* Reads a file for g; values besides inputs become taps of g.  NULL, or a message about the file. */
const char *recorded_read(Recorded *r, Graph *g, const char *path, WhatIsRecorded what);
/* The same of r->file and r->made, which are there. */
const char *recorded_gather(Recorded *r, Graph *g, const char *path, WhatIsRecorded what);
/* Its inputs [ninput], whose data stay r's. */
Tensor *recorded_inputs(const Recorded *r);
/* Input i of one in a batch as an engine takes it, malloc'd: int32_t or float; NULL: out of memory. */
void *recorded_input(const Recorded *r, int i, int64_t in_batch);
/* Once all sizes are known: a single number becomes all of input i.  false: out of memory, which why says. */
bool recorded_fill(Recorded *r, int i);
/* Adds a tensor in memory; takes value, which is malloc'd.  false: there are too many, and value is freed. */
bool recorded_add(Recorded *r, const char *name, int rank, const int64_t *dim, double *value);
void recorded_free(Recorded *r);

/* Inputs generated from a hash, which verify, goldens and the REPL use by default. */

enum { HASHED_POSITIONS = 40 }; /* where nobody says how many */

/* Sizes [nnamed] of named dimensions: so many positions, of each further one 7 fewer, or as many as there may be. */
void hashed_sizes(const Graph *g, int64_t positions, int64_t *size);
/* Element i of an input: an id below its bound, a float from -1 to 1, or 0 or 1. */
double hashed_input(const Input *in, uint64_t i);
/* All inputs [ninput]; tensor_free releases each.  false: out of memory. */
bool hashed_inputs(const Graph *g, const int64_t *size, Tensor *input);
#endif

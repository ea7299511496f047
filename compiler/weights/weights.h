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
int ck_type_bits(CkType type);   /* bits of a block */
int ck_type_values(CkType type); /* values in a block: 1 unless packed */
bool ck_type_readable(CkType type);
extern const int8_t uneven_values[16]; /* the numbers that codes of IQ4_NL and IQ4_XS mean */
void ck_type_widen(CkType type, const void *from, int64_t blocks, float *to); /* for a readable type */
const char *ck_type_why(CkType type); /* why the type is not readable; NULL if it is */

/* quantise.c */

bool can_quantise(CkType type);
/* Quantises one block, in the format of GGUF, with the least weighted error: x [values], weight [values]
 * or NULL for weights of 1.  False, with nothing written: no quantiser for the type, x is not finite, or a
 * weight is negative or not finite.  Floats beyond the type's range are clamped. */
bool quantise_block(CkType type, const float *x, const float *weight, void *block);
/* The f16 factor that the block of these floats would need, if it exceeds the largest f16; else 0. */
double quantise_beyond(CkType type, const float *x);

/* An error in one line: the path, the tensor or byte, the expected value, and what to do. */
typedef struct {
        char message[512];
        bool environment; /* an error of memory, disk or opening a file, not of its content */
} CkError;

typedef struct CkFile CkFile;

typedef struct {
        const char *name;
        CkType dtype;
        int rank;
        int64_t shape[CK_MAX_RANK];    /* outermost first; a scalar has rank 0 */
        int64_t count;                 /* elements: the product of shape */
        const void *data;              /* [shape], row-major, not necessarily aligned; NULL if scaled */
        int64_t bytes;                 /* in the file */
        const CkFile *file;            /* the mapped file that contains it */
        const struct CkScaled *scaled; /* codes and scales from which its numbers are computed; NULL: none */
        struct CkAdapted *adapted;     /* the published tensor, and changes of adapters; NULL: none */
        const char *adapter;           /* file of the adapter that has or changes its numbers; NULL: none */
} CkTensor;

typedef struct Checkpoint Checkpoint;

/* NULL after a message, or a checkpoint that the caller closes.  For a path "HEAD,MODEL": tensors of a head that drafts for
 * a model, and those of the model, whose names begin with CK_FIRST. */
#define CK_FIRST "first/"
const char *checkpoint_pair_comma(const char *path); /* the comma of such a path; NULL: it is one path */
Checkpoint *checkpoint_open(const char *path, CkError *err);
/* The same for values that are not weights; also for an .npy, whose tensor has the file's name. */
Checkpoint *values_open(const char *path, CkError *err);
void checkpoint_close(Checkpoint *checkpoint); /* NULL is allowed */

const char *checkpoint_path(const Checkpoint *checkpoint); /* as it was opened */
/* name of its format in the table: "safetensors", "GGUF" */
const char *checkpoint_format(const Checkpoint *checkpoint);

/* Files in the order in which they were opened; NULL after the last. */
const CkFile *checkpoint_file(const Checkpoint *checkpoint, int index);
/* Tensors in ascending order of their names' bytes. */
int checkpoint_count(const Checkpoint *checkpoint);
const CkTensor *checkpoint_at(const Checkpoint *checkpoint, int index);
const CkTensor *checkpoint_find(const Checkpoint *checkpoint, const char *name); /* NULL: none */

/* A number from the header of a llama2.c file: dim, hidden_dim, n_layers, n_heads, n_kv_heads, vocab_size,
 * seq_len and tied (0 or 1). False: no such key, as in all other formats. */
bool checkpoint_meta(const Checkpoint *checkpoint, const char *key, int64_t *value);

/* pairs.c: keys and values of a GGUF, in ascending order of the keys' bytes. Values remain in the mapped
 * file, and are valid until checkpoint_close. */

typedef enum { CK_INTEGER, CK_REAL, CK_TRUTH, CK_TEXT } CkPairKind;

typedef struct {
        const char *key;           /* UTF-8: "general.alignment" */
        CkPairKind kind;           /* kind of the value, or of a list's elements */
        bool list;                 /* else a single value */
        int64_t count;             /* number of values; 0 or more in a list */
        uint32_t type;             /* GGUF's number of their type */
        const unsigned char *data; /* the first value */
} CkPair;

typedef struct {
        const char *bytes; /* not terminated by NUL; may not be UTF-8 */
        int64_t n;
} CkText;

int checkpoint_pairs(const Checkpoint *checkpoint); /* their number; 0 in other formats */
const CkPair *checkpoint_pair_at(const Checkpoint *checkpoint, int index);
const CkPair *checkpoint_pair(const Checkpoint *checkpoint, const char *key); /* NULL: none */

/* Reads all values of a pair, out [count]. False, with out undefined: they have another kind, or
 * (integers) exceed 63 bits. Bools are the integers 0 and 1; integers are valid reals, rounded beyond
 * 2^53. */
bool pair_integers(const CkPair *pair, int64_t *out);
bool pair_reals(const CkPair *pair, double *out);
bool pair_texts(const CkPair *pair, CkText *out);

/* The pairs as one JSON object, with the file's keys; an f32 is printed with the fewest digits that
 * restore it. Lists longer than `longest`, such as a tokenizer's, are omitted. NULL after a message: a
 * value that JSON lacks (NaN, invalid UTF-8), or out of memory. The caller calls json_decref. */
struct json_t *checkpoint_pairs_json(const Checkpoint *checkpoint, int64_t longest, CkError *err);

/* Reads elements first … first + count - 1 in row-major order, widened; values that are not exact floats
 * (F64, products in packed types) are rounded. False, with nothing written: the type is not readable, the
 * range is outside the tensor, or the file was truncated after it was opened. checkpoint_read_f64 does not
 * round F64. */
bool checkpoint_read_f32(const CkTensor *tensor, int64_t first, int64_t count, float *out);
bool checkpoint_read_f64(const CkTensor *tensor, int64_t first, int64_t count, double *out);
/* Whether two tensors have one shape and the same numbers; stops at the first block that differs. */
bool checkpoint_same_numbers(const CkTensor *a, const CkTensor *b);
/* scaled_blocks.c: the type of blocks that hold the tensor's numbers exactly, or more exactly; CK_TYPE_COUNT: none.  Numbers of a
 * block are this step apart in the tensor.  checkpoint_block copies the block whose first number is element `first`; false: a
 * number of it is infinite. */
CkType checkpoint_block_type(const CkTensor *tensor);
int64_t checkpoint_block_step(const CkTensor *tensor);
bool checkpoint_block(const CkTensor *tensor, int64_t first, void *to);
/* Releases the pages of these elements; they can be read again. */
void checkpoint_let_go(const CkTensor *tensor, int64_t first, int64_t count);
/* pack.c: the same for pages of a mapped file that begin in this range. */
void pages_let_go(const void *from, const void *to);

/* scaled_config.c: methods of quantization_config in a config.json beside weights.  Matrices of codes with scales
 * are then listed as one tensor of numbers. */
#define QUANTIZATION "quantization_config"
bool quantization_is_read(const char *method);
bool quantization_has_key(const char *method, const char *key); /* false: it may change the numbers */
/* scaled_find.c: their number, and the bytes of codes and of numbers; NULL: the checkpoint has none. */
const char *scaled_note(Arena *arena, const Checkpoint *checkpoint);
/* Codes of a matrix that the checkpoint has instead of this tensor, whose numbers no quantization_config gives; NULL: none. */
const char *scaled_codes_of(Arena *arena, const Checkpoint *checkpoint, const char *name);

/* Adapters in directories of peft: LoRA and DoRA (adapter_config.c, adapter_find.c, adapter_read.c).  Tensors that an
 * adapter changes keep their type, and have numbers that are not yet rounded to it. */
typedef struct {
        const char *path;
        double scale; /* factor of its changes */
} CkAdapter;
/* Changes an open checkpoint by adapters, in this order.  Their files are then some of the checkpoint's.  False after a
 * message: the checkpoint can only be closed. */
bool checkpoint_adapt(Checkpoint *checkpoint, const CkAdapter *adapter, int n, CkError *err);
/* "PATH" or "PATH=SCALE", which is split in place.  False: the scale is not a finite number. */
bool adapter_parse(char *text, CkAdapter *adapter);

/* Writing safetensors, or an .npy of one tensor if the path has that suffix (tensors_write.c). */

typedef struct {
        const char *name; /* UTF-8 */
        CkType dtype;     /* CK_F32, CK_F16, CK_BF16; integers: CK_I32 or CK_BOOL */
        int rank;
        int64_t shape[CK_MAX_RANK];
} CkOutput;

enum { CK_BLOCK = 65536 }; /* maximum of elements per call */

/* Provides elements first … first + count - 1 of tensors[tensor]. Rows (the last dimension) are whole if
 * one fits into CK_BLOCK. False stops the writing, with the reason in err. */
typedef bool CkFill(void *context, int tensor, int64_t first, int64_t count, float *out, CkError *err);

/* Writes n tensors to path, rounded to nearest even if dtype is narrower. The bytes depend only on the
 * arguments: tensors of wider types first, else in the given order; data from a multiple of 64 bytes. A
 * temporary file is renamed when complete: after an error an older file is unchanged. */
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

/* Sources of a model's weights: a checkpoint, or the documented hash of their names.
 *
 * A weight is a float for every reader: numbers of the file are widened, and if an entry of the checkpoint
 * adds or multiplies, the weight is computed in double and rounded once. */

typedef struct Weights Weights;

/* Whether the graph's checkpoint entries give every element of every weight exactly once; needs no
 * checkpoint. */
bool weights_check(const Graph *g, Diag *diag);

/* A weight is rounded to its storage type for every reader.  Both functions set the type for the whole
 * graph: hash weights are floats; a checkpoint's matrices that are only moved keep their type, if all
 * slots have the same one. */

/* Every slot from the hash of its full name ("layer.3.attn.q.w"), see docs/hash-weights.md. */
Weights *weights_hashed(Arena *arena, const Graph *g);

/* From a checkpoint, which must stay open, by the graph's entries; without entries tensors have the slots'
 * names. NULL: reports all errors at once: tensors that are missing, unused, or of another shape or type,
 * and those of weights_check. */
Weights *weights_loaded(Arena *arena, const Graph *g, Checkpoint *checkpoint, Diag *diag);
/* "layers.3.* (9 tensors)": the tensors of the file for iterations that the model does not have; NULL: none. */
const char *weights_left_out(Arena *arena, const Weights *w, const Checkpoint *file);

/* Storage type of a slot in the checkpoint; F32: several types, or computed. */
Storage weight_exact(const Weights *weights, const Weight *w, int64_t slot);
/* The storage type of a slot that is `exact` if `asked` is requested. */
Storage weight_rounded(const Weight *w, Storage exact, Storage asked);
bool storage_can_be_made(
        Storage s); /* whether --quant can round weights to it; else only published codes have it */
bool weight_may_be(const Weight *w, Storage storage); /* whether its numbers can have this type */
bool storage_can_be_made(
        Storage s); /* whether --quant can ask for it: floats, or blocks that have a quantiser */
/* Rounds a matrix to this storage type from now on; other weights remain floats.  If blocks do not divide
 * the contracted axis, it becomes q8_0, whose blocks are short, or remains unchanged. */
void weight_round(Weight *w, Storage storage);

/* Passes one slot in runs, at most a block at once: elements first, first + step, … [n] are from[0],
 * from[from_step], ….  Each element is passed once, in the order of the file.  False as below. */
typedef void WeightRun(void *to, int64_t first, int64_t step, int64_t n, const float *from,
                       int64_t from_step);
bool weights_take(Weights *weights, const Weight *w, int64_t slot, WeightRun *take, void *to);

/* One slot, row-major; value has as many elements as the weight's type.  False: no such slot, out of
 * memory, or the file was truncated after it was opened.  weights_read matches WeightSource.weight: its
 * first argument is the Weights.  Not thread-safe for one Weights. */
bool weights_read(void *weights, const Weight *w, int64_t slot, double *value);
bool weights_read_f32(Weights *weights, const Weight *w, int64_t slot, float *value);

/* weight_blocks.c: a slot whose storage type has blocks, as blocks of a checkpoint (types.def), contiguous
 * along the contracted axis, for each row of the other one: from the file if it has them, else quantised.
 * False as above. */
bool weights_blocks(Weights *weights, const Weight *w, int64_t slot, uint8_t *block);
int64_t weight_blocks_size(const Weight *w); /* bytes of one slot */

/* panel_blocks.c: combines blocks of 16 rows of a checkpoint (NULL: a row of zeros) to one of
 * runtime/blocks.h.  to: initially zeros. */
void panel_block(Storage s, const uint8_t *const row[16], uint8_t *to);

/* Weights of quantisation errors of a slot's numbers, by index along the contracted axis. */
typedef struct {
        const char *slot; /* its full name: "layer.3.attn.q.w" */
        int64_t n;
        const float *weight; /* [n], not negative */
} SlotImportance;
typedef struct {
        int n;
        const SlotImportance *slot; /* in ascending order of the names' bytes */
} Importance;
int compare_slot_importance(const void *x, const void *y); /* SlotImportance, by names */

/* Names, counted, and the first of them. */
enum { COUNTED_FIRST = 3 };
typedef struct {
        int64_t n;
        const char *first[COUNTED_FIRST];
} CountedNames;
void counted_add(CountedNames *to, const char *name);
/* Gaps in weights of errors. */
typedef struct {
        int64_t columns;        /* number of columns with the weight 0 */
        CountedNames zero;      /* slots that have such columns */
        CountedNames unreached; /* slots that no activation met, such as experts that were never chosen */
        CountedNames without;   /* slots without an entry in the file */
        CountedNames unknown;   /* entries for no tensor of the model */
} ImportanceGaps;
void importance_note_zeros(const SlotImportance *s, ImportanceGaps *gaps);
bool importance_is_zero(const float *mean, int64_t n);
/* importance_file.c: whether the file's first bytes are those of an importance matrix of llama.cpp, not of a text. */
bool importance_is_matrix(const char *path);
/* importance_map.c: reads it for the weights of an elaborated graph, by the names of the checkpoint's tensors. */
bool importance_read(Arena *arena, const Graph *g, const char *path, Importance *to, ImportanceGaps *gaps,
                     Diag *diag, CkError *err);
/* Sets the weights of errors for blocks that are made from floats; other slots have weights of 1. */
void weights_weigh(Weights *weights, const Importance *by);

/* weight_damage.c: whether numbers can be rounded to the type; else it is only read from files. */
bool storage_is_made(Storage s);
/* The damage of each of n types to a slot: the sum of the squared errors, weighted by weights_weigh(), over the weighted sum of
 * squares; INFINITY: the type can't hold a number.  Of weights whose storage is that of the checkpoint.  False as for weights_read(). */
bool weight_damage(Weights *weights, const Weight *w, int64_t slot, const Storage *type, int n,
                   double *damage);

/* Why a call failed, if not because of the file or memory; else NULL.  Matches WeightSource.why. */
const char *weights_why(const void *weights);

/* weights_write.c: the published tensors as a safetensors file; storage is CK_F32, CK_F16 or CK_BF16.
 * Tensors of loaded weights are copied, so that f32 is exact; tensors that the model drops are not
 * written. */
bool weights_write(const Graph *g, Weights *weights, const char *path, CkType storage, CkError *err);

/* Hash weights: values for a model without a checkpoint, from a tensor's name and element index only.
 * docs/hash-weights.md specifies them for other languages. */

uint64_t hash_name(const char *name); /* the tensor's full name, UTF-8 */
double hash_scale(int rank, const int64_t *shape);
/* index: in row-major order; centre: the declared default, or 0. */
float hash_weight(uint64_t name_hash, uint64_t index, double scale, double centre);

/* Packing: stores a model's weights in the order in which its kernels read them. */

/* Fills `all` [plan->weights_size] bytes, initially zeros.  NULL, or an error message in the arena. */
const char *pack_weights(Plan *p, Weights *from, float *all);

/* The same, for buffers whose slots before begin[id of the whole buffer] are already packed, with all
 * tables; NULL: none. */
typedef enum {
        IN_MEMORY,
        IN_FILE
} PackedWhere; /* IN_FILE: `all` is a shared map, whose pages are released */
const char *pack_buffers(Plan *p, Weights *from, const int64_t *begin, float *all, PackedWhere where);

/* packed_file.c: into the file itself; false with o->error */
/* The tail: bytes after the weights, a multiple of 8, and a hash by which a program identifies them; size
 * 0: none. */
typedef struct {
        const void *bytes;
        int64_t size;
        uint64_t hash;
} WeightTail;
/* The key identifies the weights for readers that check it; 0: none. */
bool output_weights(WrittenFile *o, const char *path, Plan *p, Weights *from, const WeightTail *tail,
                    uint64_t key);
bool write_weights(const char *path, Plan *p, Weights *from); /* false after a message */

/* Packed weights in memory, by name and layout: parts that a change of the model leaves unchanged are not packed again. */

typedef struct WeightPool WeightPool;

WeightPool *pool_new(void); /* NULL: no address space */
void pool_free(WeightPool *pool);

/* Places the plan's weights and tables in the pool: sets the offsets of its buffers, packs weights that are
 * missing or have another origin (a number for each opened checkpoint), and computes tables again.  *base: the
 * plan's weights.  NULL, or an error message. */
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
bool is_packed_file(const char *path, const char **why); /* *why: if unknown */
/* Sets the storage type of each weight from the file; false: it is not for this model. */
bool packed_file_storage(const char *path, const Graph *g);
/* The file's Graph.mixture for an elaborated graph with this number of slots; NULL: none. */
uint8_t *packed_file_mixture(Arena *arena, const char *path, int64_t slots);
/* Maps it before there is a plan; a failure is reported by packed_file_open(). */
void packed_file_begin(const char *path, PackedFile *file);
/* file: begun, or zero.  key 0: any.  NULL, or a message. */
const char *packed_file_open(const char *path, const Plan *p, uint64_t key, PackedFile *file);
/* Starts threads that compare the mapped file with the hashes of its blocks; nothing if it is not mapped. */
void packed_check_begin(PackedFile *file);
/* Waits for them, and starts them if necessary.  Must precede any use of the weights.  NULL, or a message
 * about the damage. */
const char *packed_file_check(const char *path, Arena *a, PackedFile *file);
void packed_file_close(PackedFile *file);

/* rank_file.c: the parts of an open packed file of the plan that a rank reads, as a file with holes; false with o->error */
bool output_rank_file(WrittenFile *o, const char *path, const Plan *p, const PackedFile *from,
                      RankPlace place);

/* Recorded values of a model: inputs, outputs and other values by name (taps.c), from files or memory.
 * Sizes of named dimensions follow from their shapes. */

bool is_values_file(const char *path); /* by its name: .npy, .safetensors */
typedef struct {
        int rank;
        int64_t dim[CK_MAX_RANK];
        double *value; /* malloc'd */
} NamedValues;
/* A tensor of a file by name, or the only one: integers, bools or floats.  False after an error, with
 * nothing to free. */
bool values_load(const char *path, const char *name, NamedValues *values, CkError *err);
/* of a group's field also as step.t; NULL: none */
const Input *input_named(const Graph *g, const char *name);

typedef struct {
        const CkTensor *given; /* NULL: nothing, of SOME_INPUTS */
        const Type *type;      /* the model's */
        int output;            /* of the graph; -1: an input */
        double *value;         /* values: of an input in a batch concatenated, else in the model's shape */
        int64_t count;         /* of one item of a batch */
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
        Record *record; /* in the model's order: all inputs, all outputs, then other values */
        int n;
        int64_t size[MAX_NAMED]; /* 0, while reading: not known yet */
        int64_t batch;           /* size of the leading axis of inputs; 0: none */
        const char *why;
} Recorded;

/* IN_BATCHES: only inputs, each maybe with a leading batch axis.  SOME_INPUTS: those that are present;
 * unknown sizes are 0.  In both a single number fills an input. */
typedef enum { INPUTS_ALONE, INPUTS_AND_VALUES, IN_BATCHES, SOME_INPUTS } WhatIsRecorded;

/* Reads a file for g; other values than inputs become taps of g.  NULL, or a message about the file. */
const char *recorded_read(Recorded *r, Graph *g, const char *path, WhatIsRecorded what);
/* The same for r->file and r->made. */
const char *recorded_gather(Recorded *r, Graph *g, const char *path, WhatIsRecorded what);
/* Its inputs [ninput], whose data are owned by r. */
Tensor *recorded_inputs(const Recorded *r);
/* Input i for one item of a batch in the form of an engine, malloc'd: int32_t or float; NULL: out of memory. */
void *recorded_input(const Recorded *r, int i, int64_t in_batch);
/* After all sizes are known: a single number fills input i.  False: out of memory, in `why`. */
bool recorded_fill(Recorded *r, int i);
/* Adds a tensor in memory; takes ownership of value, which is malloc'd.  False: too many; value is freed. */
bool recorded_add(Recorded *r, const char *name, int rank, const int64_t *dim, double *value);
void recorded_free(Recorded *r);

/* Inputs generated from a hash, which verify, goldens and the REPL use by default. */

enum { HASHED_POSITIONS = 40 }; /* default number */

/* Sizes [nnamed] of named dimensions: this number of positions, and 7 fewer for each further one, within
 * bounds. */
void hashed_sizes(const Graph *g, int64_t positions, int64_t *size);
/* Element i of an input: an id below its bound, a float from -1 to 1, or 0 or 1. */
double hashed_input(const Input *in, uint64_t i);
/* All inputs [ninput]; tensor_free releases each.  false: out of memory. */
bool hashed_inputs(const Graph *g, const int64_t *size, Tensor *input);
#endif

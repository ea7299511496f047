/* Weight maps against brute force.
 *
 * Random entries are made of views, joins and arithmetic.  The interpreter, run on weights that all differ,
 * says which element ends where; the map's pieces have to say the same, and the proof that each is given once
 * has to agree with counting them.  Then weights are written to a file and read back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weights/weight_map_private.h"

static int failures;

static void verdict(const char *name, bool holds)
{
        printf("%s weights: %s\n", holds ? "ok" : "FAIL", name);
        failures += !holds;
}

typedef struct {
        Arena arena;
        Graph *g;
        Diag diag;
        uint64_t random;
        int64_t elements; /* of all slots so far */
        int64_t *first;   /* [weights] the number of a weight's first element */
        bool arithmetic, lossy;
} Trial;

static const Span nowhere;
static const int64_t no_sizes[MAX_NAMED];

static int below(Trial *t, int n)
{
        uint64_t z = t->random += UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

static void start(Trial *t, uint64_t seed)
{
        *t = (Trial){.random = seed};
        t->g = graph_new(&t->arena, "trial");
        t->diag = (Diag){.arena = &t->arena};
}

/* ---- weights and entries ---- */

static Type of_shape(int rank, const int64_t *size)
{
        Type type = {.dtype = REAL, .rank = rank};
        for (int i = 0; i < rank; i++)
                type.dim[i] = dim_fixed(size[i]);
        return type;
}

/* A weight of the top, or with slots > 1 one of a repeat. */
static Weight *new_weight(Trial *t, Type type, int slots)
{
        Graph *g = t->g;
        Weight *w = NEW(&t->arena, Weight);
        const char *own = arena_printf(&t->arena, "w%d", g->nweight);
        w->part = NEW_ARRAY(&t->arena, const char *, 2);
        w->part[0] = slots > 1 ? "layer" : own;
        w->part[1] = own;
        w->npart = slots > 1 ? 2 : 1;
        w->path = slots > 1 ? arena_printf(&t->arena, "layer.%s", own) : own;
        w->id = g->nweight;
        w->type = type;
        w->slots = slots;
        w->slot_of = NEW_ARRAY(&t->arena, int32_t, slots);
        for (int i = 0; i < slots; i++)
                w->slot_of[i] = i;
        w->iteration_of = w->slot_of;
        if (slots > 1) {
                w->nregion = 1;
                w->region[0] = NEW(&t->arena, Region);
                w->region[0]->iterations = slots;
        }
        int64_t size = (int64_t)sizeof *g->weight;
        g->weight = arena_grow(&t->arena, g->weight, g->nweight * size, (g->nweight + 1) * size);
        t->first = arena_grow(&t->arena, t->first, g->nweight * (int64_t)sizeof(int64_t),
                              (g->nweight + 1) * (int64_t)sizeof(int64_t));
        t->first[g->nweight] = t->elements;
        g->weight[g->nweight++] = w;
        t->elements += slots * type_count(&type, no_sizes);
        return w;
}

static Node *slot_node(Trial *t, Weight *w, int slot)
{
        return node_new(t->g, t->g->top, OP_WEIGHT, 0, NULL, (Attr){.weight = w, .slot = slot}, w->type,
                        nowhere, NULL);
}

static void add_entry(Trial *t, Node *expr)
{
        Graph *g = t->g;
        int64_t size = (int64_t)sizeof *g->entry;
        g->entry = arena_grow(&t->arena, g->entry, g->nentry * size, (g->nentry + 1) * size);
        g->entry[g->nentry] =
                (CkEntry){CK_MAP, arena_printf(&t->arena, "t%d", g->nentry), expr, NULL, nowhere};
        g->nentry++;
}

/* Slot 0 of a fresh weight; the other slots, if there are any, become entries by themselves. */
static Node *fresh(Trial *t, Type type)
{
        int slots = below(t, 4) ? 1 : 3;
        Weight *w = new_weight(t, type, slots);
        for (int i = 1; i < slots; i++)
                add_entry(t, slot_node(t, w, i));
        return slot_node(t, w, 0);
}

/* ---- random expressions ---- */

static Node *join(Trial *t, Node *a, Node *b, int axis)
{
        Attr attr = {.axis = axis};
        return build(t->g, t->g->top, &t->diag, OP_JOIN, 2, (Node *[]){a, b}, &attr, nowhere, NULL);
}

static Node *slice(Trial *t, Node *x, int axis, int64_t first, int64_t count)
{
        return view_slice(t->g, t->g->top, x, axis, dim_fixed(first), dim_fixed(count), nowhere, NULL);
}

static Node *shuffle_axes(Trial *t, Node *x)
{
        int perm[MAX_RANK];
        for (int i = 0; i < x->type.rank; i++) {
                int j = below(t, i + 1);
                perm[i] = perm[j];
                perm[j] = i;
        }
        return view_transpose(t->g, t->g->top, x, perm, nowhere, NULL);
}

static Node *random_reshape(Trial *t, Node *x)
{
        int64_t rest = type_count(&x->type, no_sizes), size[6];
        int rank = 0;
        while (rank < 5 && rest > 1) {
                int64_t part = 1 + below(t, rest < 12 ? (int)rest : 12);
                if (rest % part == 0 && part > 1) {
                        size[rank++] = part;
                        rest /= part;
                } else if (below(t, 4) == 0) {
                        break;
                }
        }
        size[rank++] = rest;
        Type type = of_shape(rank, size);
        Node *y = view_reshape(t->g, t->g->top, x, &type, nowhere, NULL);
        return y ? y : x;
}

/* The two halves of an axis change places. */
static Node *rotate(Trial *t, Node *x)
{
        int axis = x->type.rank ? below(t, x->type.rank) : 0;
        int64_t n = x->type.rank ? x->type.dim[axis].fixed : 1;
        if (n < 2)
                return x;
        int64_t at = 1 + below(t, (int)n - 1);
        return join(t, slice(t, x, axis, at, n - at), slice(t, x, axis, 0, at), axis);
}

static Node *random_join(Trial *t, Node *x)
{
        if (x->type.rank == 0)
                return x;
        int axis = below(t, x->type.rank);
        Type type = x->type;
        type.dim[axis] = dim_fixed(1 + below(t, 4));
        Node *other = fresh(t, type);
        return below(t, 2) ? join(t, x, other, axis) : join(t, other, x, axis);
}

static Node *random_arithmetic(Trial *t, Node *x)
{
        static const Op op[] = {OP_ADD, OP_SUB, OP_MUL, OP_DIV};
        static const double number[] = {-2, 0.5, 4, -1};
        Node *c = build_number(t->g, t->g->top, number[below(t, 4)], REAL, nowhere, NULL);
        int which = below(t, 5);
        if (which == 4)
                return build(t->g, t->g->top, &t->diag, OP_NEG, 1, &x, NULL, nowhere, NULL);
        bool swapped = which != 3 && below(t, 2);
        Node *in[2] = {swapped ? c : x, swapped ? x : c};
        return build(t->g, t->g->top, &t->diag, op[which], 2, in, NULL, nowhere, NULL);
}

/* Elements are lost or come twice. */
static Node *random_loss(Trial *t, Node *x)
{
        if (x->type.rank == 0)
                return x;
        int64_t n = x->type.dim[0].fixed;
        if (below(t, 2))
                return view_spread(t->g, t->g->top, x, n * (1 + below(t, 2)), nowhere, NULL);
        return slice(t, x, 0, below(t, (int)n), 1);
}

static Node *random_step(Trial *t, Node *x)
{
        switch (below(t, 7)) {
        case 0: return shuffle_axes(t, x);
        case 1:
        case 2: return random_reshape(t, x);
        case 3: return rotate(t, x);
        case 4: return random_join(t, x);
        case 5: return t->arithmetic ? random_arithmetic(t, x) : shuffle_axes(t, x);
        default: return t->lossy && below(t, 2) == 0 ? random_loss(t, x) : random_reshape(t, x);
        }
}

static void random_entries(Trial *t)
{
        static const int64_t sizes[] = {1, 2, 3, 4, 6, 8};
        for (int n = 1 + below(t, 3); n > 0; n--) {
                int64_t size[4];
                int rank = below(t, 5);
                for (int i = 0; i < rank; i++)
                        size[i] = sizes[below(t, 6)];
                Node *x = fresh(t, of_shape(rank, size));
                for (int steps = below(t, 8); steps > 0 && type_count(&x->type, no_sizes) < 3000; steps--)
                        x = random_step(t, x);
                add_entry(t, x);
        }
}

/* ---- against the interpreter ---- */

static bool number_elements(void *from, const Weight *w, int64_t slot, double *value)
{
        const Trial *t = from;
        int64_t count = type_count(&w->type, no_sizes);
        for (int64_t i = 0; i < count; i++)
                value[i] = (double)(t->first[w->id] + slot * count + i);
        return true;
}

static Tensor *run_entries(Trial *t, const WeightSource *source)
{
        Node **want = NEW_ARRAY(&t->arena, Node *, t->g->nentry);
        Tensor *out = NEW_ARRAY(&t->arena, Tensor, t->g->nentry);
        for (int i = 0; i < t->g->nentry; i++)
                want[i] = t->g->entry[i].expr;
        const char *error = interpret_nodes(t->g, no_sizes, NULL, source, NULL, want, t->g->nentry, out);
        if (error)
                verdict(error, false);
        return error ? NULL : out;
}

static void free_tensors(Trial *t, Tensor *out)
{
        for (int i = 0; out && i < t->g->nentry; i++)
                tensor_free(&out[i]);
}

/* Each element of a piece: the published value is the one that the map says; how often it was met is counted.
 */
static bool follow(const Trial *t, const Piece *p, int k, int64_t from, int64_t to, const Tensor *out,
                   uint8_t *met)
{
        if (k < p->ndigit) {
                for (int64_t i = 0; i < p->digit[k].size; i++)
                        if (!follow(t, p, k + 1, from + i * p->digit[k].published, to + i * p->digit[k].slot,
                                    out, met))
                                return false;
                return true;
        }
        int64_t element = t->first[p->weight->id] + p->slot * type_count(&p->weight->type, no_sizes) + to;
        met[from]++;
        return out->data[from] == (double)element * p->mul + p->add;
}

static bool map_is_right(const Trial *t, const WeightMap *map, const Tensor *out)
{
        bool good = map->npublished == t->g->nentry;
        for (int i = 0; good && i < map->npublished; i++) {
                const Published *p = &map->published[i];
                uint8_t *met = calloc((size_t)p->count + 1, 1);
                for (int64_t k = 0; good && k < p->npiece; k++) {
                        const Piece *piece = map->piece[p->first + k];
                        good = follow(t, piece, 0, piece->from, piece->to, &out[i], met);
                }
                for (int64_t k = 0; good && k < p->count; k++)
                        good = met[k] == 1;
                free(met);
        }
        return good;
}

static bool each_once(const Trial *t, const Tensor *out)
{
        int *met = calloc((size_t)t->elements + 1, sizeof *met);
        bool good = true;
        for (int i = 0; i < t->g->nentry; i++)
                for (int64_t k = 0; k < type_count(&t->g->entry[i].expr->type, no_sizes); k++)
                        met[(int64_t)out[i].data[k]]++;
        for (int64_t k = 0; k < t->elements; k++)
                good = good && met[k] == 1;
        free(met);
        return good;
}

enum { TRIALS = 3000 };

static void test_maps(void)
{
        bool good = true;
        int64_t pieces = 0;
        for (uint64_t seed = 0; good && seed < TRIALS; seed++) {
                Trial t;
                start(&t, seed);
                t.arithmetic = true;
                random_entries(&t);
                Tensor *out = run_entries(&t, &(WeightSource){&t, number_elements, NULL});
                const WeightMap *map = weight_map(&t.arena, t.g, &t.diag);
                good = out && map && map_is_right(&t, map, out);
                pieces += map ? map->npiece : 0;
                if (!good)
                        graph_dump(stdout, t.g), diag_print(&t.diag, stdout);
                free_tensors(&t, out);
                arena_free(&t.arena);
        }
        verdict("random entries give what the interpreter says", good);
        verdict("random entries are more than one piece each", pieces > 3 * TRIALS);
}

static void test_cover(void)
{
        bool good = true;
        int covered = 0;
        for (uint64_t seed = 0; good && seed < TRIALS; seed++) {
                Trial t;
                start(&t, seed + 1000000);
                t.lossy = true;
                random_entries(&t);
                Tensor *out = run_entries(&t, &(WeightSource){&t, number_elements, NULL});
                bool once = out && each_once(&t, out);
                covered += once;
                good = out && weights_check(t.g, &t.diag) == once && (t.diag.count == 0) == once;
                if (!good)
                        graph_dump(stdout, t.g), diag_print(&t.diag, stdout);
                free_tensors(&t, out);
                arena_free(&t.arena);
        }
        verdict("elements lost or given twice are found", good);
        verdict("some trials lose elements, some do not", covered > TRIALS / 10 && covered < TRIALS * 9 / 10);
}

/* ---- through a file ---- */

static char file_name[256];

static bool same_slots(Trial *t, Weights *a, Weights *b)
{
        for (int i = 0; i < t->g->nweight; i++) {
                const Weight *w = t->g->weight[i];
                size_t bytes = (size_t)type_count(&w->type, no_sizes) * sizeof(float);
                float *p = malloc(bytes + 1), *q = malloc(bytes + 1);
                bool good = true;
                for (int64_t slot = 0; good && slot < w->slots; slot++) {
                        memset(q, 0xff, bytes); /* what is not read is NaN */
                        good = weights_read_f32(a, w, slot, p) && weights_read_f32(b, w, slot, q) &&
                               !memcmp(p, q, bytes);
                }
                free(p);
                free(q);
                if (!good)
                        return false;
        }
        return true;
}

static bool holds_tensors(const Trial *t, const Checkpoint *file, const Tensor *out)
{
        for (int i = 0; i < t->g->nentry; i++) {
                const CkTensor *tensor = checkpoint_find(file, t->g->entry[i].name);
                double *value = tensor ? malloc((size_t)tensor->count * sizeof *value + 1) : NULL;
                bool good = value && checkpoint_read_f64(tensor, 0, tensor->count, value);
                for (int64_t k = 0; good && k < tensor->count; k++)
                        good = value[k] == (double)(float)out[i].data[k];
                free(value);
                if (!good)
                        return false;
        }
        return true;
}

/* Hashed weights are written; the file holds what the interpreter makes of the entries; read back, the bits
 * are the same. */
static bool round_iteration(Trial *t)
{
        CkError err = {.message = ""};
        Weights *hashed = weights_hashed(&t->arena, t->g);
        input_to_replace(file_name); /* the trial before has read it */
        if (!weights_write(t->g, hashed, file_name, CK_F32, &err))
                return printf("%s\n", err.message), false;
        Checkpoint *file = checkpoint_open(file_name, &err);
        Weights *loaded = file ? weights_loaded(&t->arena, t->g, file, &t->diag) : NULL;
        Tensor *out = run_entries(t, &(WeightSource){hashed, weights_read, weights_why});
        bool good = loaded && out && holds_tensors(t, file, out) && same_slots(t, hashed, loaded);
        diag_print(&t->diag, stdout);
        free_tensors(t, out);
        checkpoint_close(file);
        return good;
}

static void test_files(void)
{
        bool good = true;
        for (uint64_t seed = 0; good && seed < 150; seed++) {
                Trial t;
                start(&t, seed + 2000000);
                random_entries(&t);
                good = round_iteration(&t);
                arena_free(&t.arena);
        }
        verdict("random entries written and read back, to the bit", good);
}

static Weight *matrix(Trial *t, int64_t rows, int64_t columns)
{
        return new_weight(t, of_shape(2, (int64_t[]){rows, columns}), 1);
}

static Node *turned(Trial *t, Weight *w)
{
        return view_transpose(t->g, t->g->top, slot_node(t, w, 0), (int[]){1, 0}, nowhere, NULL);
}

/* Tensors larger than a block of the reader, with and without gaps. */
static void test_large(void)
{
        Trial t;
        start(&t, 0);
        Node *qkv = join(&t, join(&t, turned(&t, matrix(&t, 310, 301)), turned(&t, matrix(&t, 310, 301)), 1),
                         turned(&t, matrix(&t, 310, 301)), 1);
        add_entry(&t, qkv); /* GPT-2's c_attn: [in, 3 * out] */
        add_entry(&t, turned(&t, matrix(&t, 3, 70001)));
        add_entry(&t, turned(&t, matrix(&t, 70001, 3)));
        add_entry(&t, slot_node(&t, matrix(&t, 3, 70001), 0));
        add_entry(&t, join(&t, slot_node(&t, matrix(&t, 70001, 1), 0), slot_node(&t, matrix(&t, 70001, 1), 0),
                           1));
        add_entry(&t,
                  join(&t, slot_node(&t, matrix(&t, 200, 1), 0), slot_node(&t, matrix(&t, 200, 700), 0), 1));
        add_entry(&t, rotate(&t, slot_node(&t, matrix(&t, 2, 90001), 0)));
        verdict("tensors beyond a block, with gaps and transposed", round_iteration(&t));
        arena_free(&t.arena);
}

static Node *with_number(Trial *t, Op op, Node *x, double number)
{
        Node *in[2] = {x, build_number(t->g, t->g->top, number, REAL, nowhere, NULL)};
        return build(t->g, t->g->top, &t->diag, op, 2, in, NULL, nowhere, NULL);
}

/* Gains published less 1, as Gemma's, and matrices scaled by a power of two: both go there and back without
 * rounding. */
static void test_arithmetic(void)
{
        Trial t;
        start(&t, 0);
        Weight *gain = new_weight(&t, of_shape(1, (int64_t[]){1000}), 2);
        gain->centre = 1;
        add_entry(&t,
                  with_number(&t, OP_SUB, join(&t, slot_node(&t, gain, 1), slot_node(&t, gain, 0), 0), 1));
        add_entry(&t, with_number(&t, OP_MUL, turned(&t, matrix(&t, 30, 20)), -0.25));
        verdict("numbers added and multiplied, there and back", round_iteration(&t));
        arena_free(&t.arena);
}

/* The centre of a hashed weight may be one number or a tensor. */
static void test_hash(void)
{
        static const double centre[3] = {10, 20, 30};
        Trial t;
        start(&t, 0);
        Weight *w = new_weight(&t, of_shape(1, (int64_t[]){3}), 3);
        Weights *weights = weights_hashed(&t.arena, t.g);
        float plain[3], one[3], each[3];
        bool good = weights_read_f32(weights, w, 2, plain);
        w->centre = 5;
        good = good && weights_read_f32(weights, w, 2, one);
        w->centre_values = centre;
        good = good && weights_read_f32(weights, w, 2, each);
        for (int i = 0; i < 3; i++)
                good = good && fabsf(plain[i]) < 0.05F && fabsf(one[i] - 5 - plain[i]) < 1e-6F &&
                       fabs(each[i] - centre[i] - plain[i]) < 2e-6;
        verdict("hashed weights lie about their declared centre", good);
        verdict("a slot that is not there is refused",
                !weights_read_f32(weights, w, 3, plain) && !weights_read_f32(weights, w, -1, plain));
        arena_free(&t.arena);
}

int main(int argc, char **argv)
{
        snprintf(file_name, sizeof file_name, "%s/maps.safetensors", argc > 1 ? argv[1] : ".");
        test_maps();
        test_cover();
        test_files();
        test_large();
        test_arithmetic();
        test_hash();
        return failures != 0;
}

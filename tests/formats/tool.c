/* The formats from the command line, for the tests: prints what a file holds, copies it, or says why not.
 * Exit code 1 with the message alone on standard output if lathe refuses. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/run.h"
#include "weights/checkpoint_private.h"

static int refuse(const CkError *err)
{
        printf("%s\n", err->message);
        return 1;
}

static uint64_t hash_values(const CkTensor *tensor)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        for (int64_t i = 0; i < tensor->count; i++) {
                float value;
                double wide;
                if (!checkpoint_read_f32(tensor, i, 1, &value) || !checkpoint_read_f64(tensor, i, 1, &wide) ||
                    f32_bits((float)wide) != f32_bits(value))
                        return 0;
                for (int byte = 0; byte < 4; byte++)
                        hash = (hash ^ (f32_bits(value) >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
        }
        return hash;
}

/* list PATH: a line for each tensor, its f32 values hashed */
static int list(const char *path)
{
        static const char *const keys[] = {"dim",        "hidden_dim", "n_layers", "n_heads",
                                           "n_kv_heads", "vocab_size", "seq_len",  "tied"};
        CkError err;
        Checkpoint *checkpoint = checkpoint_open(path, &err);
        if (!checkpoint)
                return refuse(&err);
        printf("%s, %d tensors\n", checkpoint_format(checkpoint), checkpoint_count(checkpoint));
        for (int i = 0; i < 8; i++) {
                int64_t value;
                if (checkpoint_meta(checkpoint, keys[i], &value))
                        printf("%s %lld\n", keys[i], (long long)value);
        }
        for (int i = 0; i < checkpoint_count(checkpoint); i++) {
                const CkTensor *tensor = checkpoint_at(checkpoint, i);
                if (checkpoint_find(checkpoint, tensor->name) != tensor)
                        printf("not found: ");
                printf("%s %s [", tensor->name, ck_type_name(tensor->dtype));
                for (int d = 0; d < tensor->rank; d++)
                        printf(d ? ", %lld" : "%lld", (long long)tensor->shape[d]);
                printf("] %lld %016llx\n", (long long)tensor->bytes, (unsigned long long)hash_values(tensor));
        }
        if (checkpoint_find(checkpoint, "no such tensor") || checkpoint_find(checkpoint, ""))
                printf("found what is not there\n");
        checkpoint_close(checkpoint);
        return 0;
}

/* pairs PATH: what the file says beside its tensors, as JSON, then the lists that are longer than 100 */
static int pairs(const char *path)
{
        CkError err;
        Checkpoint *checkpoint = checkpoint_open(path, &err);
        json_t *json = checkpoint ? checkpoint_pairs_json(checkpoint, 100, &err) : NULL;
        int code = json ? json_dumpf(json, stdout, JSON_INDENT(1) | JSON_SORT_KEYS) : refuse(&err);
        if (json)
                putchar('\n');
        for (int i = 0; json && i < checkpoint_pairs(checkpoint); i++) {
                const CkPair *pair = checkpoint_pair_at(checkpoint, i);
                int64_t last = pair->count - 1;
                if (last < 100)
                        continue;
                CkText *text = calloc((size_t)pair->count, sizeof *text);
                double *real = calloc((size_t)pair->count, sizeof *real);
                int64_t *whole = calloc((size_t)pair->count, sizeof *whole);
                printf("%s: %lld", pair->key, (long long)pair->count);
                if (pair_texts(pair, text))
                        printf(" \"%.*s\" \"%.*s\"\n", (int)text[0].n, text[0].bytes, (int)text[last].n,
                               text[last].bytes);
                else if (pair_integers(pair, whole))
                        printf(" %lld %lld\n", (long long)whole[0], (long long)whole[last]);
                else if (pair_reals(pair, real))
                        printf(" %g %g\n", real[0], real[last]);
                free(text), free(real), free(whole);
                if (checkpoint_pair(checkpoint, pair->key) != pair)
                        printf("not found\n");
        }
        json_decref(json);
        checkpoint_close(checkpoint);
        return code;
}

static bool fill_from(void *context, int index, int64_t first, int64_t count, float *out, CkError *err)
{
        const CkTensor *tensor = checkpoint_at(context, index);
        return checkpoint_read_f32(tensor, first, count, out) ||
               ck_fail(err, "tensor \"%s\" cannot be read", ck_quote(tensor->name).text);
}

/* copy FROM TO TYPE: every tensor, in the type */
static int copy(const char *from, const char *to, const char *type)
{
        CkError err;
        Checkpoint *checkpoint = checkpoint_open(from, &err);
        if (!checkpoint)
                return refuse(&err);
        int n = checkpoint_count(checkpoint), code = 0;
        CkOutput *output = calloc((size_t)n + 1, sizeof *output);
        for (int i = 0; i < n; i++) {
                const CkTensor *tensor = checkpoint_at(checkpoint, i);
                output[i] = (CkOutput){.name = tensor->name, .rank = tensor->rank};
                memcpy(output[i].shape, tensor->shape, sizeof tensor->shape);
                output[i].dtype = !strcmp(type, "f32") ? CK_F32 : !strcmp(type, "f16") ? CK_F16 : CK_BF16;
                if (!strcmp(type, "mixed"))
                        output[i].dtype = (CkType)(2 - i % 3);
        }
        if (!tensors_write(to, n, output, fill_from, checkpoint, &err))
                code = refuse(&err);
        free(output);
        checkpoint_close(checkpoint);
        return code;
}

static bool fill_zero(void *context, int index, int64_t first, int64_t count, float *out, CkError *err)
{
        (void)context, (void)index, (void)first, (void)err;
        memset(out, 0, (size_t)count * sizeof *out);
        return true;
}

static bool fill_fails(void *context, int index, int64_t first, int64_t count, float *out, CkError *err)
{
        (void)context, (void)index, (void)count, (void)out;
        return ck_fail(err, "no value %lld", (long long)first);
}

/* misuse PATH: what the writer refuses, a line each */
static int misuse(const char *path)
{
        const CkOutput bad[][2] = {
                {{"twice", CK_F32, 1, {1}}, {"twice", CK_F16, 1, {1}}},
                {{"wrong type", CK_I64, 1, {1}}, {"b", CK_F32, 1, {1}}},
                {{"a", CK_F32, 1, {1}}, {"__metadata__", CK_F32, 1, {1}}},
                {{"a", CK_F32, 2, {INT64_MAX, 2}}, {"b", CK_F32, 1, {1}}},
                {{"a", CK_F32, 1, {-1}}, {"b", CK_F32, 1, {1}}},
                {{"a", CK_F32, 9, {1}}, {"b", CK_F32, 1, {1}}},
                {{"\xff", CK_F32, 1, {1}}, {"b", CK_F32, 1, {1}}},
        };
        CkError err;
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
                printf("%s\n",
                       tensors_write(path, 2, bad[i], fill_zero, NULL, &err) ? "written" : err.message);
        const CkOutput good = {"a", CK_F32, 2, {3, CK_BLOCK}};
        printf("%s\n", tensors_write(path, 1, &good, fill_fails, NULL, &err) ? "written" : err.message);
        return 0;
}

/* shrink PATH: reads are refused when the file has become shorter, and out of range ones always */
static int shrink(const char *path)
{
        CkError err;
        float value[4];
        Checkpoint *checkpoint = checkpoint_open(path, &err);
        if (!checkpoint)
                return refuse(&err);
        const CkTensor *tensor = checkpoint_at(checkpoint, 0);
        int64_t n = tensor->count;
        int good = checkpoint_read_f32(tensor, 0, 1, value) && checkpoint_read_f32(tensor, n, 0, value) &&
                   !checkpoint_read_f32(tensor, n, 1, value) && !checkpoint_read_f32(tensor, -1, 1, value) &&
                   !checkpoint_read_f32(tensor, 0, -1, value) &&
                   !checkpoint_read_f32(tensor, 0, n + 1, value) &&
                   !checkpoint_read_f32(tensor, INT64_MAX, INT64_MAX, value);
        good = good && !truncate(path, 8) && !checkpoint_read_f32(tensor, 0, 1, value);
        checkpoint_close(checkpoint);
        puts(good ? "refused" : "read");
        return !good;
}

/* cuts PATH: the file cut off behind each of its bytes, a line each: what is wrong, or that it is read */
static int cuts(const char *path)
{
        CkError err;
        char name[4096];
        static char bytes[1 << 16];
        FILE *from = fopen(path, "rb");
        size_t n = from ? fread(bytes, 1, sizeof bytes, from) : 0;
        if (from)
                fclose(from);
        snprintf(name, sizeof name, "%s.cut", path);
        for (size_t length = 1; length <= n; length++) {
                FILE *to = fopen(name, "wb");
                if (!to || fwrite(bytes, 1, length, to) != length || fclose(to))
                        return 2;
                Checkpoint *checkpoint = checkpoint_open(name, &err);
                printf("%s\n", checkpoint ? "read" : err.message + strlen(name));
                for (int i = 0; checkpoint && i < checkpoint_count(checkpoint); i++)
                        hash_values(checkpoint_at(checkpoint, i));
                checkpoint_close(checkpoint);
        }
        return remove(name) != 0;
}

typedef float Widen(uint16_t half);
typedef uint16_t Narrow(float x);

/* Every value comes back; between two neighbours the nearer one is taken, from the middle the even one. */
static int check_halves(const char *name, Widen *widen, Narrow *narrow, uint16_t infinity)
{
        int wrong = 0;
        for (uint32_t sign = 0; sign <= 0x8000; sign += 0x8000)
                for (uint16_t i = 0; i < infinity; i++) {
                        uint16_t low = (uint16_t)(sign | i), high = (uint16_t)(low + 1);
                        double a = (double)widen(low), b = (double)widen(high);
                        if (i + 1 == infinity) /* as if the exponents went on */
                                b = a + (a - (double)widen((uint16_t)(low - 1)));
                        float middle = (float)((a + b) / 2);
                        uint32_t bits = f32_bits(middle);
                        wrong += narrow((float)a) != low || narrow(middle) != (i % 2 ? high : low);
                        wrong +=
                                narrow(f32_of_bits(bits - 1)) != low || narrow(f32_of_bits(bits + 1)) != high;
                }
        wrong += narrow(f32_of_bits(0x7f800000u)) != infinity || f32_bits(widen(infinity)) != 0x7f800000u;
        for (uint32_t nan = infinity + 1u; nan < 0x8000; nan++) {
                float x = widen((uint16_t)nan);
                uint16_t back = narrow(x);
                wrong += x == x || (back & 0x7fff) <= infinity || (back & nan) != nan;
        }
        wrong += narrow(f32_of_bits(0x7f800001u)) <= infinity;
        printf("%s %s to f32 and back, all values, ties and NaN\n", wrong ? "FAIL" : "ok", name);
        return wrong != 0;
}

/* Ids of a text, a bar, and what they decode to in hexadecimal. */
static void encode(const Tokenizer *t, const char *text, int64_t n)
{
        int64_t count;
        int32_t *token = text_to_tokens(t, text, n, &count);
        char *out = malloc((size_t)tokens_decode_room(&t->tables));
        TokenDecoder decoder = {.n = 0};
        if (!token || !out)
                abort();
        for (int64_t i = 0; i < count; i++)
                printf("%d ", (int)token[i]);
        printf("| ");
        for (int64_t i = 0; i <= count; i++) {
                int64_t shown = i < count ? tokens_decode(&t->tables, &decoder, token[i], 0, out)
                                          : tokens_decode_end(&decoder, out);
                for (int64_t k = 0; k < shown; k++)
                        printf("%02x", (unsigned)(unsigned char)out[k]);
        }
        printf("\n");
        free(token);
        free(out);
}

/* tokenizer PATH VOCABULARY: the same for each line of standard input, a text in hexadecimal */
static int tokenizer(const char *path, int vocab)
{
        CkError err;
        Tokenizer t;
        if (!tokenizer_read(path, NULL, vocab, &t, &err))
                return refuse(&err);
        char *line = NULL;
        size_t room = 0;
        while (getline(&line, &room, stdin) >= 0) {
                char *text = malloc(strlen(line) / 2 +
                                    1); /* exactly sized below, so that a sanitizer sees its end */
                int64_t n = 0;
                for (const char *hex = line; text && hex[0] > ' '; hex += 2) {
                        char digits[3] = {hex[0], hex[1], 0};
                        text[n++] = (char)strtoul(digits, NULL, 16);
                }
                text = realloc(text, (size_t)(n ? n : 1));
                if (!text)
                        abort();
                encode(&t, text, n);
                free(text);
        }
        free(line);
        tokenizer_free(&t);
        return ferror(stdout) != 0;
}

int main(int argc, char **argv)
{
        const char *what = argc > 2 ? argv[1] : "";
        if (!strcmp(what, "list"))
                return list(argv[2]);
        if (!strcmp(what, "pairs"))
                return pairs(argv[2]);
        if (!strcmp(what, "copy") && argc == 5)
                return copy(argv[2], argv[3], argv[4]);
        if (!strcmp(what, "misuse"))
                return misuse(argv[2]);
        if (!strcmp(what, "shrink"))
                return shrink(argv[2]);
        if (!strcmp(what, "cuts"))
                return cuts(argv[2]);
        if (!strcmp(what, "halves"))
                return check_halves("f16", f16_to_f32, f32_to_f16, 0x7c00) |
                       check_halves("bf16", bf16_to_f32, f32_to_bf16, 0x7f80);
        if (!strcmp(what, "hash") && argc > 4) { /* hash NAME CENTRE INDEX SIZE.. */
                int64_t shape[CK_MAX_RANK];
                for (int i = 5; i < argc; i++)
                        shape[i - 5] = strtoll(argv[i], NULL, 10);
                printf("%a\n", (double)hash_weight(hash_name(argv[2]), strtoull(argv[4], NULL, 10),
                                                   hash_scale(argc - 5, shape), strtod(argv[3], NULL)));
                return 0;
        }
        if (!strcmp(what, "tokenizer") && argc == 4)
                return tokenizer(argv[2], atoi(argv[3]));
        fprintf(stderr, "usage: tool list|pairs|copy|misuse|shrink|cuts|halves|hash|tokenizer ARGUMENT...\n");
        return 2;
}

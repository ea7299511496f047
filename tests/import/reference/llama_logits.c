/*
 * Logits, or vectors of tokens, that llama.cpp computes for a text of token ids, as float32.
 *
 *   cc llama_logits.c -I LLAMA.CPP/include -I LLAMA.CPP/ggml/include -L BUILD/bin -lllama -lggml -lggml-base -o llama_logits
 *   llama_logits FILE.gguf logits|vectors OUT ID...
 *
 * The caches have float32.  In ggml/src/ggml-cpu/vec.h, GGML_GELU_FP16 and GGML_GELU_QUICK_FP16 should not be defined: these tables have 16
 * bits.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "llama.h"

#ifndef LLAMA_VERSION
#define LLAMA_VERSION "unknown"
#endif

enum { MAX_TOKENS = 64 };

static void print_errors(enum ggml_log_level level, const char *text, void *data) {
        (void)data;
        if (level >= GGML_LOG_LEVEL_ERROR)
                fputs(text, stderr);
}

static int failed(const char *what) {
        fprintf(stderr, "%s failed\n", what);
        return 1;
}

static int write_rows(struct llama_context *c, const struct llama_model *m, bool vectors, int count, const char *path) {
        int width = vectors ? llama_model_n_embd(m) : llama_vocab_n_tokens(llama_model_get_vocab(m));
        FILE *f = fopen(path, "wb");
        if (!f)
                return failed("opening the output");
        for (int i = 0; i < count; i++) {
                const float *row = vectors ? llama_get_embeddings_ith(c, i) : llama_get_logits_ith(c, i);
                if (!row || fwrite(row, sizeof *row, (size_t)width, f) != (size_t)width) {
                        fclose(f);
                        return failed("a row of the output");
                }
        }
        return fclose(f) ? failed("writing") : 0;
}

int main(int argc, char **argv) {
        if (argc < 5 || argc - 4 > MAX_TOKENS)
                return failed("usage: llama_logits FILE.gguf logits|vectors OUT ID...:");
        bool vectors = !strcmp(argv[2], "vectors");
        llama_log_set(print_errors, NULL);
        ggml_backend_load_all();
        llama_backend_init();
        struct llama_model_params for_model = llama_model_default_params();
        for_model.n_gpu_layers = 0;
        struct llama_model *m = llama_model_load_from_file(argv[1], for_model);
        if (!m)
                return failed("loading");
        struct llama_context_params p = llama_context_default_params();
        p.n_ctx = p.n_batch = p.n_ubatch = MAX_TOKENS;
        p.n_threads = p.n_threads_batch = 1;
        p.type_k = p.type_v = GGML_TYPE_F32;
        p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
        p.embeddings = vectors;
        if (vectors)
                p.pooling_type = LLAMA_POOLING_TYPE_NONE;
        struct llama_context *c = llama_init_from_model(m, p);
        if (!c)
                return failed("making a context");
        struct llama_batch b = llama_batch_init(MAX_TOKENS, 0, 1);
        b.n_tokens = argc - 4;
        for (int i = 0; i < b.n_tokens; i++) {
                b.token[i] = atoi(argv[i + 4]);
                b.pos[i] = i;
                b.n_seq_id[i] = 1;
                b.seq_id[i][0] = 0;
                b.logits[i] = true;
        }
        bool encodes = llama_model_has_encoder(m) && !llama_model_has_decoder(m);
        if (encodes ? llama_encode(c, b) : llama_decode(c, b))
                return failed("computing");
        int status = write_rows(c, m, vectors, b.n_tokens, argv[3]);
        puts("version " LLAMA_VERSION);
        return status;
}

/* Results of lathe verify --text: measured in accuracy.c, printed in accuracy_report.c. */
#ifndef ACCURACY_PRIVATE_H
#define ACCURACY_PRIVATE_H
#include "check.h"

/* A model with its weights in some storage, compiled. */
typedef struct {
        Model m;
        Plan *plan;
        PackedWeights packed;
        Engine *engine;
} Variant;

typedef struct {
        int32_t *token; /* [n]: tokens of the text, after those that the tokenizer adds; malloc'd */
        int64_t n;
        int64_t lead;    /* positions of a window before its own tokens */
        bool is_fixed;   /* they are the first ones of the text; else those before the window's own */
        int64_t most;    /* maximum of positions of a window */
        int32_t *window; /* [most] */
} Windows;

/* A weight that --quant narrows. */
typedef struct {
        int id;
        const char *path;
        Storage storage;
        double bytes, error, divergence;
} Contributor;

typedef struct {
        CommandOptions o, exact_o;
        Variant exact, narrow;
        Tokenizer tokenizer;
        Windows text;
        int64_t vocab;
        float *row[2]; /* [chunk][vocab]: exact, narrow */
        float *kept;   /* [nkept][vocab]: exact logits of the first positions */
        int64_t nkept;
        Contributor *weight; /* [nweight] */
        int nweight;
        WeightPool *pool; /* of variants with one narrow weight */
        json_t *report;   /* --json: results, instead of text; else NULL */
} Accuracy;

/* Whether there is a narrow variant. */
static inline bool has_narrow(const CommandOptions *o)
{
        return o->quant || o->kv != STORAGE_F32;
}

static inline int64_t tokens_predicted(const Windows *t)
{
        return t->n - t->lead;
}

/* accuracy_report.c: prints, or adds to a->report. */
void report_accuracy(Accuracy *a, Predictions *p);
void report_contributors(Accuracy *a);
bool report_accuracy_end(Accuracy *a); /* false: out of memory */
#endif

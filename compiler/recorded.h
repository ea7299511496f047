/* Values of a model from a safetensors file that something else wrote: inputs, outputs and other values by their names
 * (taps.h).  Sizes of named dimensions follow from its shapes. */
#ifndef RECORDED_H
#define RECORDED_H
#include "checkpoint.h"
#include "graph.h"

typedef struct {
        const CkTensor *given;
        const Type *type; /* the model's */
        int output;       /* of the graph; -1: an input */
        double *value;    /* what the file says */
} Record;

typedef struct {
        Graph *g;
        const char *path;
        Checkpoint *file;
        Record *record; /* in the order of the model: all its inputs, its outputs, then other values */
        int n;
        int64_t size[MAX_NAMED]; /* 0, while reading: not known yet */
        const char *why;
} Recorded;

typedef enum { INPUTS_ALONE, INPUTS_AND_VALUES } WhatIsRecorded;

/* Reads a file for g; values besides inputs become taps of g.  NULL, or what is wrong with the file. */
const char *recorded_read(Recorded *r, Graph *g, const char *path, WhatIsRecorded what);
/* Its inputs [ninput], whose data stay the file's. */
Tensor *recorded_inputs(const Recorded *r);
void recorded_free(Recorded *r);
#endif

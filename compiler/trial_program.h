/* The C program that a trial builds with the emitted model. */
#ifndef TRIAL_PROGRAM_H
#define TRIAL_PROGRAM_H
#include "text.h"
#include "trial.h"

const char *trial_program(Arena *a, const Plan *p, const Trial *trial, const char *header);
bool grows(const Graph *g, const Type *t); /* runs over positions, the outermost axis */
#endif

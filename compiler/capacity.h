/* What a plan may ask of memory and of the runtime's ints. */
#ifndef CAPACITY_H
#define CAPACITY_H
#include "diag.h"
#include "plan.h"

bool check_capacity(Diag *diag, const Plan *p); /* false: a message says what is too large */
#endif

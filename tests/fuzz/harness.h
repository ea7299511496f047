/* What the fuzzers share.  A fuzzer is a file NAME.c with LLVMFuzzerTestOneInput, which hands an input's bytes to one reader.
 *
 * A defect is what a sanitizer reports, an assertion, a time or memory limit passed, and what harness_require() finds. */
#ifndef HARNESS_H
#define HARNESS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "kernels/kernels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is printed from here on is kept. */
void harness_listen(void);
/* Ends that: what went to standard error.  It stays until the next call. */
const char *harness_heard(void);
/* The same where something was refused (or wasn't): then a message has to say why. */
void harness_heard_why(bool refused);

/* The path of a file that holds these bytes; files of other suffixes stay.  It goes when the process ends. */
const char *harness_file(const char *suffix, const void *bytes, size_t n);
/* Bytes with a NUL behind; the caller's. */
char *harness_text(const uint8_t *bytes, size_t n);
/* What was given to write_file() last, or NULL: nothing is written. */
const char *harness_written(void);
/* small.model: where it lies; its plan for the scalar target. */
const char *harness_small_path(void);
Plan *harness_small_plan(void);
/* Opens a checkpoint, reads some of each tensor, and loads small.model from it. */
void harness_try_checkpoint(const char *path);
/* The length of a text (a byte), the text, and a tokenizer's file: it is read, and the text becomes ids and text again. */
void harness_try_tokenizer(const char *suffix, const uint8_t *data, size_t size);
/* Ends the process, unless it holds: the input shows a defect. */
void harness_require(bool holds, const char *what);

#endif

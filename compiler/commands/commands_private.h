/* The commands: each is one row of the table in main.c. */
#ifndef COMMANDS_PRIVATE_H
#define COMMANDS_PRIVATE_H
#include "driver/driver.h"

/* each returns an exit code */
int build_command(const Options *o);
int import_command(const Options *o);
int run_command(const Options *o);
int eval_command(const Options *o);
int golden_command(const Options *o);
int check_command(const Options *o);
int test_command(const Options *o);
int weights_command(const Options *o);
int show_command(const Options *o);
int verify_command(const Options *o);
int encode_command(const Options *o);
int decode_command(const Options *o);
int targets_command(const Options *o);
int template_command(const Options *o);

/* given.c: what a model is given, by --inputs, -I and a text. */
typedef struct {
        const Options *o;
        const char *command;  /* in messages */
        Model *m;             /* its passes have been run */
        Tokenizer *tokenizer; /* loaded for the text, if it is not yet */
        const char *text;     /* [ntext], for the input of token ids; NULL: none */
        int64_t ntext;
        Recorded values; /* recorded_free() */
} Given;
/* An exit code, after a message if it is none. */
int given_gather(Given *e, WhatIsRecorded what);
/* The input that a text is for: that of token ids, of an encoder and a decoder the encoder's; NULL: there is none. */
const Input *text_input(const Graph *g);
#endif

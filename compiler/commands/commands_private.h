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
#endif

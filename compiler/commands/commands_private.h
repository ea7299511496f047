/* The commands: each is one row of the table in main.c. */
#ifndef COMMANDS_PRIVATE_H
#define COMMANDS_PRIVATE_H
#include "driver/driver.h"

/* each returns an exit code */
int build_command(const Options *o);
int import_command(const Options *o);
/* Where the first file is a directory: the model that it is, and its weights and tokenizer, as far as the command takes them (letters
 * of options.c's table) and no others are given; the tokenizer for a program or a prompt.  False after a message. */
bool import_directory(Arena *arena, Options *o, const char *takes, int *code);
int run_command(const Options *o);
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

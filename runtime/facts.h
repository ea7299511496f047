/*
 * The features of a program, for conditions of the runtime.  When lathe emits C it resolves them, so that the result contains
 * neither the conditions nor unused features (emit/program_facts.c has the values).  Compiled separately, the runtime has all
 * features.
 */

/* What tiles of numbers multiply, weights, keys, values or other states, is not all in f32; but in f16; in bf16. */
#define HAS_STORAGES 1
#define HAS_F16 1
#define HAS_BF16 1

/* Weights of products are in 16 bits, which many rows take in f32. */
#define HAS_WIDE_WEIGHTS 1

/* Keys, values and other states that are multiplied are not all in f32; but in f16; in bf16; or codes of 8 bits with scales (kept.h). */
#define HAS_NARROW_STATES 1
#define HAS_F16_STATES 1
#define HAS_BF16_STATES 1
#define HAS_CODES 1

/* Weights are in blocks (blocks.h); in blocks of 32 steps; of 256; of these kinds. */
#define HAS_BLOCKS 1
#define HAS_BLOCKS_OF_32 1
#define HAS_BLOCKS_OF_256 1
#define HAS_Q8_0 1
#define HAS_Q4_0 1
#define HAS_Q4_1 1
#define HAS_MXFP4 1
#define HAS_Q4_K 1
#define HAS_Q5_K 1
#define HAS_Q6_K 1

/* Some product takes the rows of a list. */
#define HAS_ACTIVE_ROWS 1

/* Attention: keys lie in rows; in tiles of 16; there may be more of them than a block has. */
#define HAS_KEY_ROWS 1
#define HAS_KEY_TILES 1
#define HAS_KEY_BLOCKS 1

/* A register tile has two or three panels, of which the last may be the only one that is left. */
#define HAS_ODD_PANELS 1

/* Attention: keys or values do not lie at their positions, but in pages, or in a cache that holds a window. */
#define HAS_MOVED_KEYS 1

/* Attention: of one row threads share the blocks of keys. */
#define HAS_PARTS 1

/* Attention: has a sink; scores are the weights, without a softmax. */
#define HAS_SINK 1
#define HAS_PLAIN_WEIGHTS 1

/* An instance holds several sequences. */
#define HAS_SLOTS 1

/* Ranks share it; keys and values lie in pages; calls take further positions; sizes vary from call to call. */
#define HAS_RANKS 1
#define HAS_PAGES 1
#define HAS_POSITIONS 1
#define HAS_SIZES 1

/* There is an operating system: memory is allocated, weight files are opened, threads are started. */
#define HAS_SYSTEM 1

/* Weights are in the program, else in a file.  Weight files are read on Windows, too: in C for any machine. */
#define HAS_WEIGHTS_INSIDE 1
#define HAS_WINDOWS 1

/* Its loop prescribes tokens, or forbids some. */
#define HAS_PRESCRIBED 1

#define HAS_TOKENIZER 1
#define HAS_GRAMMAR 1
#define HAS_TALK 1 /* conversations have a form */
#define HAS_BEAMS 1

/* It is a program of its own, with a command line, or a page's: it tells of times and hashes.  The prompt, or a sound, is fed to an encoder. */
#define HAS_COMMAND 1
#define HAS_PROMPT_FED 1
#define HAS_SOUND_FED 1

/* The loop of its command line: fills places, embeds texts; denoises by a class, by other inputs. */
#define HAS_FILL 1
#define HAS_EMBED 1
#define HAS_CLASS 1
#define HAS_INPUTS 1

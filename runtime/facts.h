/*
 * The features of a program, for conditions of the runtime.  When lathe emits C it resolves them, so that the result contains
 * neither the conditions nor unused features (emit/program_facts.c has the values).  Compiled separately, the runtime has all
 * features.
 */

/* Some operand of tiles (weights, keys, values, other states) is not in f32; some in f16; some in bf16. */
#define HAS_STORAGES 1
#define HAS_F16 1
#define HAS_BF16 1

/* Some weights of products have 16 bits, or 8 with scales; calls of many rows convert them to f32. */
#define HAS_WIDE_WEIGHTS 1

/* Some keys, values or other states are not in f32; some in f16; in bf16; in codes of 8 bits with scales (kept.h). */
#define HAS_NARROW_STATES 1
#define HAS_F16_STATES 1
#define HAS_BF16_STATES 1
#define HAS_CODES 1

/* Some weights are in blocks of floats of 8 bits with scales (load_scaled() in tile.h). */
#define HAS_SCALED 1

/* Some weights are in blocks (blocks.h); are multiplied by groups of 32 activations; of 256; are in blocks of each kind. */
#define HAS_BLOCKS 1
#define HAS_BLOCKS_OF_32 1
#define HAS_BLOCKS_OF_256 1
#define HAS_Q8_0 1
#define HAS_Q4_0 1
#define HAS_Q4_1 1
#define HAS_Q5_0 1
#define HAS_Q5_1 1
#define HAS_MXFP4 1
#define HAS_IQ4_NL 1
#define HAS_NVFP4 1
#define HAS_Q2_K 1
#define HAS_Q3_K 1
#define HAS_Q4_K 1
#define HAS_Q5_K 1
#define HAS_Q6_K 1
#define HAS_IQ4_XS 1
#define HAS_TQ1_0 1
#define HAS_TQ2_0 1
#define HAS_IQ3_XXS 1
#define HAS_IQ3_S 1
#define HAS_IQ2_XXS 1
#define HAS_IQ2_XS 1
#define HAS_IQ2_S 1
#define HAS_IQ1_S 1
#define HAS_IQ1_M 1
#define HAS_INT4_32 1
#define HAS_INT4_64 1
#define HAS_INT4_128 1
#define HAS_E4M3 1
#define HAS_E5M2 1

/* Some weights have code books (book_values.h). */
#define HAS_BOOKS 1

/* Products of several rows with weights in blocks use AMX (amx.h). */
#if !defined(HAS_AMX)
#define HAS_AMX 0
#endif

/* Some product computes only the rows of a list. */
#define HAS_ACTIVE_ROWS 1

/* Attention: keys are stored in rows; in tiles of 16; there may be more than one block of keys. */
#define HAS_KEY_ROWS 1
#define HAS_KEY_TILES 1
#define HAS_KEY_BLOCKS 1

/* A register tile has two or three panels, and the last tile may have only one. */
#define HAS_ODD_PANELS 1

/* Attention: keys or values are in pages or in a window cache, so that a row's index is not its position. */
#define HAS_MOVED_KEYS 1

/* Attention: threads share the key blocks of one row. */
#define HAS_PARTS 1

/* Attention: has a sink; has no softmax, so that scores are weights. */
#define HAS_SINK 1
#define HAS_PLAIN_WEIGHTS 1

/* Attention: some reads only the keys of a list. */
#define HAS_CHOSEN_KEYS 1

/* An instance holds several sequences. */
#define HAS_SLOTS 1

/* Ranks share the model; keys and values are in pages; calls append positions; sizes differ between calls. */
#define HAS_RANKS 1
#define HAS_PAGES 1
#define HAS_POSITIONS 1
#define HAS_SIZES 1

/* Not freestanding: the program allocates memory, opens weight files and starts threads. */
#define HAS_SYSTEM 1

/* Weights are embedded, not in a file.  Weight files are read on Windows too: the C is for any machine. */
#define HAS_WEIGHTS_INSIDE 1
#define HAS_WINDOWS 1

/* Its loop prescribes tokens, or forbids some. */
#define HAS_PRESCRIBED 1
#define HAS_NO_REPEATS 1 /* no sequence of tokens occurs twice in a text */

/* Its loop samples tokens: settings like temperature. */
#define HAS_SAMPLING 1

#define HAS_TOKENIZER 1
#define HAS_SPANS 1 /* some loop finds tokens in their text */
#define HAS_UNMASK 1 /* some loop unmasks */
#define HAS_GRAMMAR 1
#define HAS_TALK 1 /* the loop defines conversations */
#define HAS_BEAMS 1
#define HAS_OWN_BEAMS 1 /* its loop states them */

/* Generation stores rows of taps; an emitted model reads them, and drafts for the command line. */
#define HAS_STORED_ROWS 1
#define HAS_DRAFTER 1

/* Rejected drafts can be taken back. */
#define HAS_DRAFTS 1

/* The program has a command line, or is a page: it reports times and hashes.  An encoder reads the prompt or a sound. */
#define HAS_COMMAND 1
#define HAS_PROMPT_FED 1
#define HAS_SOUND_FED 1
#define HAS_LANGUAGES 1

/* Loop of the command line: fills masks, answers questions (else, of two texts, it ranks passages), embeds texts, classifies texts or tokens, classifies pairs of texts; denoises with a class, with other
 * inputs. */
#define HAS_FILL 1
#define HAS_ANSWERS 1
#define HAS_EMBED 1
#define HAS_SPARSE 1 /* with a weight for each token */
#define HAS_CLASSES 1
#define HAS_PAIRS 1
#define HAS_TAGS 1 /* it joins tokens with the same label */
#define HAS_CLASS 1
#define HAS_INPUTS 1

/* The loop of the command line unmasks. */
#define HAS_UNMASKS 1

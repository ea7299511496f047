/* lathe: compiles a transformer, written down as its formulas, into C.
 *
 * Here: the commands, their help, and nothing else.  Exit codes: 0 done, 1 the input is wrong, 2 wrong usage, 3 the
 * environment failed. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "commands_private.h"
#include "import/import.h"
#include "repl/repl.h"

typedef struct {
        const char *name;
        int (*run)(const Options *o);
        const char *takes; /* letters of options.c's table */
        int least, most;   /* words that are no options, and what they are */
        const char *wants;
        const char *usage, *about, *more;
} Command;

static const Command command_table[] = {
        {"build", build_command, "=mDwsZtoXT1Me|_[,xd0kcCyL4V6", 1, 1, "one model",
         "MODEL [--weights CKPT] [--tokenizer TOK] [--target T] [--main] [--embed | --incbin] [-o OUT.c]",
         "a model to C",
         "Writes OUT.c, OUT.h and, unless --embed, OUT.weights.\n"
         "  -m NAME          which model of the file (default: the last that lacks no hyperparameter)\n"
         "  -D NAME=VALUE    a hyperparameter\n"
         "  --weights CKPT   .safetensors, a folder of them, a .gguf or a llama2.c .bin; left out: made by "
         "hash\n"
         "  --quant TYPE[,PATH=TYPE…]  matrices rounded to f32, f16, bf16, q8_0, q4_0, q4_1, mxfp4, q4_k, "
         "q5_k\n"
         "                   or q6_k; a path is a weight's, or its first parts, as\n"
         "                   layer.attn, layer[3].attn.v, layer[0..4] (0 to 3) or *.ffn.down (default: they "
         "stay as\n"
         "                   the checkpoint has them).  The first type may be a mixture: Q4_K_S, Q4_K_M, "
         "Q5_K_S, Q5_K_M\n"
         "  --calibrate FILE with --quant: errors of blocks weigh as much as what meets the weights in "
         "products on this text\n"
         "  --kv f32|f16|q8  how keys and values are kept between calls: in f16 they take half the memory, "
         "in q8 "
         "0.27 of it\n"
         "                   (default f32)\n"
         "  --tokenizer TOK  a tokenizer as for `lathe encode`, compiled in\n"
         "  --target T       what to write for (`lathe targets`; default native)\n"
         "  --main           add a command line: of the model's last loop, or one that generates\n"
         "  --grammar FILE   the model's texts are what its rules allow (docs/grammars.md); json: those of "
         "JSON\n"
         "  --embed          the weights too are in the C file\n"
         "  --incbin         they are in the program: gcc and clang put the file OUT.c.weights there, in no "
         "time\n"
         "  --lib            libOUT.a, libOUT.so and OUT.pc, for pkg-config, as well, by the system's C "
         "compiler ($CC, "
         "or cc)\n"
         "  --python         a Python package in the folder of -o, for `pip install FOLDER`: arrays of numpy "
         "in and out\n"
         "  --depfile FILE   write there, for make, what the written files are made of\n"
         "  --code-only      no weight file\n"
         "  --prefix NAME    what the names of functions, types and macros begin with (default: the model's "
         "name)\n"
         "  --chunk N        positions taken in one go (default 64)\n"
         "  --slots N        an instance holds N sequences, and a call takes positions of several; of a "
         "model "
         "that is\n"
         "                   not causal, several whole sequences\n"
         "  --pages N        with --slots: keys and values lie in pages of 256 positions, N for all "
         "sequences "
         "together\n"
         "  --tap NAME,…     values as further outputs (`lathe show MODEL taps` lists names)\n"
         "  --tune FILE      how products are cut into tiles, as FILE has it; what it lacks is measured on "
         "this "
         "machine and\n"
         "                   added to it.  Results are the same to the bit\n"
         "  --explain        say what was fused, and what stopped it\n"
         "  --no-PASS, --dump=PASS\n"
         "example: lathe build models/tale.model --main -o tale.c && cc -std=c11 -O2 -march=native tale.c "
         "-lpthread -o tale\n"},
        {"import", import_command, "oDFOTX", 1, 2,
         "a directory with config.json or a .gguf, and perhaps a file of config items",
         "SOURCE [ITEMS.model] [-o NAME] [-D name=value] [--force] [--spec-only]",
         "a published model to a model file and C",
         "SOURCE is a directory with config.json as Hugging Face has it, a config.json (- is standard "
         "input), or a .gguf.\n"
         "Writes NAME.model: a few lines in the language, made by the library's config items and checked.  "
         "Then, "
         "if safetensors\n"
         "lie in the directory, and of a .gguf, NAME.c, NAME.h and NAME.weights, as `lathe build --main "
         "--weights SOURCE` "
         "does.\n"
         "  ITEMS.model      further config items, before the library's (docs/import.md)\n"
         "  -o NAME          what the model and the files are called (default: as the directory)\n"
         "  -D NAME=VALUE    a setting in place of the file's\n"
         "  --force          keys that nothing reads are warnings\n"
         "  --spec-only      the model file alone: to standard output, or to NAME.model\n"
         "  --target T, --prefix NAME   as for build\n"
         "example: lathe import SmolLM2-135M/ --spec-only\n"},
        {"run", run_command, "mDwsZtT1xd0kcpfnI7EKPN239+:;<>=^%&$(SRzJvHYWhV6@~rjo", 1, MAX_FILES,
         "one model, and perhaps a prompt",
         "MODEL [PROMPT | PICTURE… | TEXT… | SOUND] [--weights CKPT] [--tokenizer TOK] [-n N] [--temp T] "
         "[--threads "
         "K] [--system TEXT] "
         "[--raw]",
         "a model run at once, as its loop says: text as it is made",
         "Compiled in memory; no C compiler is needed.  What is done is what the model file's loop says "
         "(docs/loops.md): generate, which is\nalso what a model without a loop does, makes text; classify, "
         "embed, fill, denoise and transcribe are below.\n"
         "  --loop NAME      this one of its loops (default: the last that it states; `lathe show MODEL "
         "loops`)\n"
         "Of loop generate; without a tokenizer, prompt and text are token numbers:\n"
         "  PROMPT           what the text goes on from, or -p PROMPT; - reads it from standard input\n"
         "  -f FILE          the prompt is what FILE holds\n"
         "  -I NAME=VALUE, --inputs FILE   what is fed before, as for `lathe eval`: a spectrogram, say.  "
         "With an "
         "encoder of tokens the\n                   prompt is what it reads, a text to translate, and the "
         "text that is made "
         "begins anew\n"
         "  --system TEXT    the message of the system, for a model with a chat template (docs/chat.md).  "
         "With "
         "one the prompt is\n"
         "                   a user's turn; without a prompt there is a conversation, a turn for each line "
         "of "
         "standard input\n"
         "  --raw            the prompt is text to go on from all the same\n"
         "  -n N             at most N new tokens (default: to the end of the context)\n"
         "  --temp T         temperature; 0, the default, always takes the likeliest token\n"
         "  --top-k K        of the K likeliest tokens only\n"
         "  --top-p P        of the likeliest tokens that together have probability P\n"
         "  --min-p P        of tokens at least P times as likely as the likeliest\n"
         "  --typical P      of the tokens whose improbability is nearest to what is expected, that together "
         "have probability P\n"
         "  --repetition-penalty R   tokens that are in the text are less likely: logits above 0 are divided "
         "by R, others multiplied\n"
         "  --presence-penalty A, --frequency-penalty B   A, and B times how often it was made, is taken off "
         "the logit of a token "
         "that was\n                   made; penalties hold without --temp too\n"
         "  --suppress TOKENS   these are never chosen: numbers of `lathe encode`, with commas between them; "
         "a "
         "token that ends\n                   a text is one too\n"
         "  --beams N        beam search: the likeliest text, as N that go on side by side find it; shown at "
         "its end\n"
         "  --length-penalty P   a text is worth its log probability / length ^ P (default 1: the mean of "
         "its tokens)\n"
         "  --early-stopping the search ends as soon as N texts have ended\n"
         "  --seed S         of the random numbers (default 1): the same seed, the same text, on every "
         "machine\n"
         "  --draft K        K tokens at a time are drafted from what the text has said before, and checked "
         "in one call: the same\n                   text, sooner where it repeats itself\n"
         "  --draft MODEL    a smaller model drafts them, of the same vocabulary: the same text, sooner "
         "where "
         "both agree\n"
         "  --drafts K       then K tokens at a time (default 5)\n"
         "  --draft-weights FILE   the weights of that model, if it is a .model\n"
         "  --grammar FILE   only texts that its rules allow (docs/grammars.md); json: those of JSON\n"
         "  --stop TEXT      end before this text; may be given more than once\n"
         "  --threads K      threads (default 1); the text does not depend on them\n"
         "  --weights FILE   .safetensors, a folder of them, a .gguf, a llama2.c .bin, or what `lathe build` "
         "packed;\n"
         "                   left out: made by hash\n"
         "  --jit HOW        tcc: libtcc alone; cc: the system's compiler first; auto, the default: at once, "
         "and the "
         "optimised build\n"
         "                   takes over when it is ready; code: no compiler, an interpreter of kernels "
         "(slow)\n"
         "  --cache WHERE    where packed weights of a published model are kept: beside it (the default), "
         "user, or "
         "off: nowhere;\n"
         "                   $LATHE_CACHE says the same (man lathe)\n"
         "  --hash           print a hash of all logits to standard error\n"
         "  -v               print times and speed to standard error\n"
         "  -m, -D, --quant, --calibrate, --kv, --tokenizer, --target, --chunk, --tune, --explain, "
         "--no-PASS: as for "
         "build\n"
         "example: lathe run models/tale.model --weights models/tale/tale.safetensors --tokenizer "
         "models/tale/tokenizer.bin -p \"Once\"\n"
         "example: lathe run SmolLM2-135M-Instruct/ -p \"What is the capital of France?\"\n"
         "example: lathe run opus-mt-en-de/ -p \"The weather is fine.\"\n"},
        {"eval", eval_command, "mDwsZthV0dxyI78pfojHTJR6c", 1, 1, "one model",
         "MODEL [--inputs FILE]… [-I NAME=VALUE]… [-p TEXT] [-o FILE] [--json] [--tap NAME,…] [--output "
         "NAME,…]",
         "a model's outputs for given inputs",
         "Runs the model once and prints its outputs, as the language writes tensors; large ones are "
         "abridged.\n"
         "  --inputs FILE    a .safetensors with inputs by their names, or an .npy called as the input is; "
         "may be given more than "
         "once\n"
         "  -I NAME=VALUE    the input NAME: an expression of the language ('[1, 2]', '[[1, 2], [3, 4]] * "
         "0.5'), or a file .npy or "
         ".safetensors, or a picture .png, .ppm or .pgm, or a sound .wav.\n"
         "                   A single number fills the input\n"
         "  -p TEXT, -f FILE the text of the input of token ids (an encoder's before a decoder's), by the "
         "tokenizer; without one, token "
         "numbers\n"
         "An input with one axis more than the model has, before the others, is a batch: the model is run "
         "for each, and outputs get "
         "that\naxis too.  Inputs without it are the same for all.\n"
         "  -o FILE          write the outputs to FILE, .safetensors, or .npy for a single one: reals as "
         "F32, integers as I32, truths "
         "as BOOL\n"
         "  --json           print them as JSON, with nine digits; what JSON has no number for is null\n"
         "  --output NAME,…  only these outputs\n"
         "  --tap NAME,…     values besides outputs (`lathe show MODEL taps`)\n"
         "  --hash           print a hash of each output's floats to standard error\n"
         "  --weights, --tokenizer, -m, -D, --quant, --calibrate, --kv, --target, --threads, --chunk, "
         "--tune, --jit, --cache, "
         "--no-PASS: as for run\n"
         "example: lathe eval classifier.model --weights w.safetensors --inputs image.npy --output logits\n"
         "example: lathe eval models/tale.model -p '1 2 3' --tap 'layer[0].attn.weights' -o "
         "seen.safetensors\n"},
        {"check", check_command, "mDd0", 1, MAX_FILES, "model files", "MODEL…",
         "parse, elaborate, prove; silent when all is well",
         "Of each file every model that lacks no hyperparameter, or the one of -m, and every test: that it "
         "can be elaborated, that\n"
         "`loop generate` stands around a causal model, and that its checkpoint section gives every weight "
         "exactly once.\n"
         "Of other models: that what they set is declared; a note says what they lack.\n"
         "The note \"is causal if its values are finite\" names a place where an infinity or a NaN of a "
         "later "
         "position, such as an exp\n"
         "that overflows, reaches earlier ones; with finite values, steps give the bits of forward.\n"
         "example: lathe check models/*.model\n"},
        {"test", test_command, "", 1, MAX_FILES, "files of tests", "FILE…",
         "run the tests written in the language",
         "Runs every `test \"…\" { require … }` of the files by the interpreter, in double precision, with "
         "weights made by hash.\n"
         "example: lathe test tests/textbook/attention.model\n"},
        {"weights", weights_command, "mDwos", 1, 1, "one model",
         "MODEL [--weights CKPT] [--quant f32|f16|bf16] -o W.safetensors",
         "weights under their published names",
         "Hash weights (docs/hash-weights.md), or those of a checkpoint; in f32 unless --quant says "
         "otherwise.\n"
         "example: lathe weights models/tale.model -o tale.safetensors\n"},
        {"show", show_command, "mDwsxd0kT1cyL4jV6oR!#", 1, 2, "a model and a part of it",
         "MODEL params|loops|taps|cost|plan|threads|roofline|code|elaborated|graph|c, or passes [-o "
         "FILE.svg]",
         "what a model is and what it costs",
         "  params  every weight with its shape, and how many parameters there are\n"
         "  loops   the loops that it states for `lathe run`, with their settings\n"
         "  taps    the names of all values, with their shapes (of a repeat: of all iterations)\n"
         "  cost    bytes of weights and cache, FLOPs of prefill and step, as formulas and at the full "
         "context\n"
         "  plan    kernels, barriers, and where every buffer lies; -o: the arena over time\n"
         "  threads   each thread's share of each kernel in the kinds of calls, of 4 threads or --threads K; "
         "-o: as a schedule\n"
         "  roofline  FLOPs and bytes of each kernel in them; -o: under the roof\n"
         "  code    what each kernel does, statement by statement (docs/ir.md)\n"
         "  elaborated  the graph as the file means it, before any pass\n"
         "  graph   the graph after its passes; --json: either graph for programs (docs/ir.md);\n"
         "          -o: either by blocks\n"
         "  passes  the passes, in order\n"
         "  c       the C that `lathe build` writes\n"
         "  -o FILE.svg   of plan, threads, roofline, graph and elaborated: a picture (docs/pictures.md); "
         "FILE.dot: a graph for "
         "Graphviz\n"
         "  --gflops N, --gbytes N   the roof of one thread, for the pictures of threads and roofline "
         "(default: "
         "measured)\n"
         "example: lathe show models/tale.model graph -o tale.svg\n"
         "example: lathe show models/tale.model cost\n"},
        {"repl", repl_command, "qh", 0, MAX_FILES, "files", "[MODEL.model | SOURCE | SCRIPT]…",
         "definitions, expressions and commands, line by line",
         "A line is a definition, a statement or an expression of the language, which is answered, or a "
         "command; "
         "`:help` lists them.\n"
         "Files that end in .model and published models (a directory with config.json, a .gguf) are loaded "
         "first; "
         "others are scripts of such lines, which are run instead "
         "of "
         "reading standard input.\n"
         "  --echo           print a script's lines too, behind their prompts\n"
         "  --cache WHERE    as for run: a published model is run from the weights that are kept until it is "
         "changed\n"
         "The exit code is 1 if a line of a script or a pipe failed.\n"
         "example: lathe repl models/tale.model\n"},
        {"verify", verify_command, "mDwsZTx0kcabiAJyL4nhtQr5RV6", 1, 1, "one model",
         "MODEL [--weights CKPT] [--against FILE.safetensors] [--bound E] [--interpreter] [--each-pass] "
         "[--target "
         "T]…",
         "the interpreter against compiled code",
         "Runs the interpreter on the model as written, on inputs made by hash, 40 positions; then on the "
         "graph after each pass, and\n"
         "the C for each target (all that can be tried here, unless named; 64-bit ARM by "
         "aarch64-linux-gnu-gcc and qemu-aarch64),\n"
         "built by cc, or what CC says: whole, in pieces and step by step, by 1, 2 and 3 threads; and whole "
         "with "
         "other inputs in the\n"
         "second half, huge ones and NaN, which must leave the first half as it is.  Compiled "
         "code may be 1e-5 of the\n"
         "largest value off, and all of it must give the same bits.  Then the largest error of all values "
         "that "
         "have a name, by layer and\n"
         "op, as a table, and the first of them over the bound.\n"
         "  --against FILE   instead: inputs, outputs and other values by their names (`lathe show MODEL "
         "taps`), from "
         "something else\n"
         "  --bound E        how far off compiled code may be; against a file: the interpreter (default 1e-9 "
         "of "
         "a tensor's largest value)\n"
         "  -n N             so many positions, if the model takes as many\n"
         "  --interpreter    leave compiled code out\n"
         "  --each-pass      then, instead of the table, all of it with each pass off in turn (`lathe show "
         "MODEL passes`)\n"
         "  --slots N        an instance holds N sequences; calls that take positions of all of them are "
         "compared "
         "too\n"
         "  --pages N        with --slots: these share N pages of 256 positions\n"
         "  --kv f16|q8      what keys and values are rounded to; the interpreter rounds them too\n"
         "  --jit tcc        leave out what the system's compiler builds; --jit cc: what libtcc does; --jit "
         "code: both,\n"
         "                   and compare the interpreter of kernels (`lathe show MODEL code`)\n"
         "  --cache WHERE    as for run, where the model is a published one\n"
         "  --text FILE      instead: what --quant and --kv cost on a text (-: standard input), by compiled "
         "code: "
         "perplexity, KL divergence from\n"
         "                   the exact weights, how often another token is the likeliest; then each weight "
         "narrow alone.  All positions\n"
         "                   count.  Without both perplexity alone; without a tokenizer the text is token "
         "numbers\n"
         "    -n N           windows of N positions (default 512, or the context if that is less)\n"
         "    --top N        so many weights, those that cost most (default 10; 0: none)\n"
         "    --sample N     each weight is tried on the first N positions (default 256)\n"
         "    --tokenizer, --quant, --calibrate, --kv, --threads, --target, --jit, --chunk: as for run\n"
         "example: lathe verify models/stories260k.model --target scalar --target avx2\n"
         "example: lathe verify SmolLM2-135M/ --quant bf16 --text wiki.txt\n"},
        {"golden", golden_command, "mDwsZtopnyITJbcL4RuUhV?*", 2, MAX_FILES, "record MODEL, or check FILE…",
         "record MODEL [options] | check FILE…", "outputs kept as text, and held to it to the bit",
         "record writes MODEL.golden (-o names it): of each output and tapped value shape, hash, norm, first "
         "and last values, "
         "and greedy text.\n"
         "  -m, -D, --weights, --quant, --calibrate, --kv, --tokenizer   as for build\n"
         "  -p PROMPT        the input; or\n"
         "  --inputs FILE    .safetensors of inputs by their names; without either they are made by hash\n"
         "  -n N             and N tokens of greedy text after the prompt\n"
         "  --keep N         at most N values of each output as well, evenly spaced (1024), to tell later "
         "how "
         "large a change is; 0: none\n"
         "  --tap NAME,…     values besides outputs (`lathe show MODEL taps`); default: those of each block "
         "in a repeat\n"
         "check works them out again just in time on every target that runs here, and ahead of time, by the "
         "system's compiler, on the\n"
         "native one, with 1, 2 and 3 threads, whole, in pieces and step by step, and names the first value "
         "that differs.\n"
         "  --target T       this one, in both ways; may be given more than once (neon, neondot and neoni8mm "
         "run under qemu-aarch64)\n"
         "  --jit tcc|cc|code   only just in time, only ahead of time, only by the interpreter of kernels\n"
         "  --threads K, --chunk N   K threads instead of 3; at most N positions in one go\n"
         "  --slots N        in batches of N sequences too\n"
         "  --pages N        with --slots: these share N pages of 256 positions\n"
         "  --weights CKPT, --quant TYPE, --kv TYPE   these instead of the recorded ones\n"
         "  --bound E        norms may be E of themselves off, values E of their root mean square: for "
         "weights "
         "or a model that are\n"
         "                   meant to differ\n"
         "  --update         write what is found, and show what changes\n"
         "  --review         show file by file what has changed, and ask whether it is accepted: only then "
         "is "
         "it written\n"
         "  --junit FILE     a report for CI as well\n"
         "  --cache WHERE    as for run, where the model is a published one\n"
         "example: lathe golden record models/tale.model -p '1 2 3' && lathe golden check tale.golden\n"
         "example: lathe golden check --review tests/*.golden\n"},
        {"encode", encode_command, "lBj", 1, 1, "a tokenizer", "SOURCE [--special] [--bare] [--json]",
         "text to token ids, a line each",
         "Reads text from standard input and writes the ids of each line to a line.\n"
         "  SOURCE           a tokenizer.json, a tokenizer.model or spiece.model, a vocab.txt, a directory "
         "that "
         "has one of\n                   them or vocab.json and merges.txt, a .tiktoken, a tekken.json, a "
         "tokenizer.bin of\n                   llama2.c's, or a .gguf\n"
         "  --special        the texts of control tokens, as <|endoftext|>, become these tokens\n"
         "  --bare           without the tokens that the tokenizer puts before and behind a text\n"
         "  --json           each line is a string of JSON, so that a text may have line ends\n"
         "example: echo 'Once upon a time' | lathe encode SmolLM2-135M/tokenizer.json\n"},
        {"decode", decode_command, "lj", 1, 1, "a tokenizer", "SOURCE [--special] [--json]",
         "token ids to text, a line each",
         "Reads ids from standard input and writes the text of each line of them to a line.\n"
         "  SOURCE           as for encode\n"
         "  --special        control tokens are written as their texts; without it they are nothing\n"
         "  --json           each text is written as a string of JSON\n"
         "example: echo '7454 2402 257 640' | lathe decode tokenizer.json\n"},
        {"template", template_command, "YgG", 1, 1, "one template",
         "SOURCE [--system TEXT] [--date YEAR-MONTH-DAY] [--pieces]",
         "a chat template: a conversation rendered, or its pieces",
         "SOURCE is a chat_template.jinja, a tokenizer_config.json, a directory with one of them, or a "
         ".gguf.  "
         "Standard input "
         "has the turns,\n"
         "a line each: user, answer, user …; after a user's turn the text ends where the answer begins.\n"
         "  --system TEXT    the system's message\n"
         "  --date DATE      what a template that asks for the date is told (default: today)\n"
         "  --pieces         instead: the texts that a conversation is put together from, or why there are "
         "none\n"
         "example: printf 'Hi!\\nHello.\\nWho are you?\\n' | lathe template SmolLM2-135M-Instruct/\n"
         "example: lathe template chat_template.jinja --pieces\n"},
        {"targets", targets_command, "j", 0, 0, "no words", "[--json]", "what C can be written for",
         "Of each its name, where it runs, and what it is for.\n"
         "  --json           a list: name, runs (native, here, emulated or null), flags of the C compiler, "
         "about\n"
         "example: lathe targets --json\n"},
};
enum { COMMANDS = sizeof command_table / sizeof command_table[0] };

/* Behind the help of run: its other loops. */
static const char help_of_loops[] =
        "\nOf loop classify:\n"
        "  PICTURE…         PNG, PPM or PGM; - is standard input.  Of each the likeliest classes: "
        "probability, "
        "number, label\n"
        "  --top K          K classes (default 5)\n"
        "  --json           a line of JSON for each picture\n"
        "Of loop embed:\n"
        "  TEXT…            or -p TEXT; - is the lines of standard input.  Of each a vector, a line of JSON\n"
        "  -o FILE          write them to FILE, .npy or .safetensors, [texts, width]\n"
        "  --similar        print the cosine of each with each instead\n"
        "Of loop fill:\n"
        "  TEXT…            as for embed, with masks in it.  Of each mask the likeliest tokens: probability, "
        "number, text\n"
        "  --top K, --json  as for classify, a line of JSON for each mask\n"
        "Of loop denoise:\n"
        "  -o FILE          what is made of noise: a .png, or numbers, .safetensors or .npy\n"
        "  -I NAME=VALUE, --inputs FILE   the other inputs, as class=7; the latent too, in place of noise\n"
        "  -n N             steps;  --seed S   of the noise (default 1);  --guidance G   how often what the "
        "class adds is counted\n"
        "  --without NAME=VALUE   for guidance: the input that says nothing, as text=empty.npy\n"
        "Of loop transcribe:\n"
        "  SOUND            a WAV file; - is standard input.  It is fed, then text is made as by loop "
        "generate, "
        "with its options\n"
        "Of these also -I, --inputs, --weights, --tokenizer, --threads, --jit, --cache and what is as for "
        "build.\n"
        "example: lathe run classifier/ cat.png dog.png --top 3\n"
        "example: lathe run sentences/ --similar \"A cat sleeps.\" \"A kitten naps.\"\n"
        "example: lathe run masked/ \"The capital of France is [MASK].\"\n"
        "example: lathe run drawings.model --weights drawings.safetensors -I class=13 -o star.png\n";

static void usage(FILE *f)
{
        fprintf(f, "usage: lathe COMMAND …\n\n");
        for (int i = 0; i < COMMANDS; i++)
                fprintf(f, "  %-8s  %s\n", command_table[i].name, command_table[i].about);
        fprintf(f, "\n`lathe help COMMAND` says more; `lathe --version` the version.  A model file of - is "
                   "standard input.\n"
                   "build, run, eval, verify, golden record, repl, show and weights take a published model "
                   "in its "
                   "place, as import does.\n"
                   "example: lathe build models/tale.model --main -o tale.c\n"
                   "         lathe run SmolLM2-135M/ -p \"Once\"\n");
}

static void help(const Command *c)
{
        printf("usage: lathe %s %s\n\n%s\n\n%s", c->name, c->usage, c->about, c->more);
        if (c->run == run_command)
                printf("%s", help_of_loops);
}

static const Command *find(const char *name)
{
        for (int i = 0; i < COMMANDS; i++)
                if (!strcmp(command_table[i].name, name))
                        return &command_table[i];
        const char *names[COMMANDS];
        for (int i = 0; i < COMMANDS; i++)
                names[i] = command_table[i].name;
        const char *near = nearest_name(name, names, COMMANDS);
        fprintf(stderr, "lathe: unknown command %s%s%s%s\n", name,
                near ? "; did you mean " : "; `lathe help` lists them", near ? near : "", near ? "?" : "");
        return NULL;
}

static bool words_fit(const Command *c, const Options *o)
{
        if (o->nfile >= c->least && o->nfile <= c->most)
                return true;
        fprintf(stderr, "lathe %s: wants %s", c->name, c->wants);
        if (o->nfile > c->most)
                fprintf(stderr, "; %s is too much", o->file[c->most]);
        fprintf(stderr, "; `lathe help %s` says more\n", c->name);
        return false;
}

static int too_much(const char *word)
{
        fprintf(stderr, "lathe: %s is too much; `lathe help` says more\n", word);
        return WRONG_USAGE;
}

static bool asks_for_help(int argc, char **argv)
{
        for (int i = 0; i < argc; i++)
                if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
                        return true;
        return false;
}

/* Commands on one model take a published one in place of its file. */
static bool takes_source(const Command *c, const Options *o)
{
        if (c->run == show_command)
                return o->nfile > 1;
        return c->run == build_command || c->run == run_command || c->run == eval_command ||
               c->run == verify_command || c->run == weights_command;
}

/* Its tokenizer is for a program or a prompt. */
static SourceParts source_parts(const Command *c, const Options *o)
{
        bool text = o->with_main || o->text_file || strchr(c->takes, 'p');
        return (SourceParts){.weights = strchr(c->takes, 'w') != NULL,
                             .tokenizer = text && strchr(c->takes, 't'),
                             .kept = strchr(c->takes, 'h') != NULL};
}

static int run(int argc, char **argv)
{
        if (argc < 2) {
                usage(stderr);
                return WRONG_USAGE;
        }
        const char *word = argv[1];
        if (!strcmp(word, "--version")) {
                if (argc > 2)
                        return too_much(argv[2]);
                printf("lathe %s\n", LATHE_VERSION);
                return DONE;
        }
        if (!strcmp(word, "parse"))
                return parse_command(argc - 2, argv + 2);
        if (!strcmp(word, "elaborate"))
                return elaborate_command(argc - 1, argv + 1);
        bool wants_help = !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
        if (wants_help && argc == 2) {
                usage(stdout);
                return DONE;
        }
        if (wants_help && argc > 3)
                return too_much(argv[3]);
        const Command *c = find(wants_help ? argv[2] : word);
        if (!c)
                return WRONG_USAGE;
        if (wants_help || asks_for_help(argc - 2, argv + 2)) {
                help(c);
                return DONE;
        }
        Options o;
        double begun = seconds();
        if (!options_read(&o, c->name, c->takes, argc - 2, argv + 2) || !words_fit(c, &o) ||
            !options_fit(&o, c->name, c->takes))
                return WRONG_USAGE;
        Arena arena = {0};
        int code = DONE;
        o.begun = begun;
        if (!takes_source(c, &o) || source_open(&arena, &o, source_parts(c, &o), &code))
                code = c->run(&o);
        arena_free(&arena);
        return code;
}

int main(int argc, char **argv)
{
#ifdef SIGXFSZ
        signal(SIGXFSZ, SIG_IGN); /* a limit on files is reported as an error of the write */
#endif
        arena_without_memory = end_without_memory;
        ending_watch();
        int code = run(argc, argv);
        errno = 0; /* of what was written before nothing else is known */
        if (!fflush(stdout) && !ferror(stdout))
                return code;
        fprintf(stderr, "lathe: standard output: %s\n", errno ? strerror(errno) : "it can't be written");
        return WRONG_ENVIRONMENT;
}

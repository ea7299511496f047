/* The commands: their function, words and texts.  Their options are in driver/options.def. */
#include "commands_private.h"
#include "import/import.h"
#include "repl/repl.h"

const Command command_table[] = {
        {"build", build_command, 1, 1, "one model",
         "MODEL [--weights FILE] [--tokenizer FILE] [--target T] [--main] [--embed | --incbin] [-o OUT.c]",
         "compile a model to C",
         "Writes OUT.c, OUT.h and, unless --embed or --code-only is given, OUT.weights.",
         "example: lathe build models/tale.model --main -o tale.c && cc -std=c11 -O2 -march=native tale.c "
         "-lpthread -o tale\n"},
        {"page", page_command, 1, 1, "one model", "MODEL [--weights FILE] [--tokenizer FILE] [-o PAGE.html]",
         "write a model as a page for a browser",
         "Writes one file with the model, its weights and its user interface, which needs no network.  By "
         "the "
         "model's last loop the page generates texts and shows their attention, holds conversations, "
         "transcribes sounds, compares texts or fills their masks (all with a tokenizer), classifies "
         "pictures "
         "or draws, with the bits of every other build.  Weights of more than 50 MB are written beside it "
         "and "
         "fetched, which needs a server.\n"
         "Needs clang 16 or later for WebAssembly (Debian: clang-16 lld-16 libclang-rt-16-dev-wasm32 "
         "wasi-libc); $CLANG names another.",
         "example: lathe page models/tale.model --weights models/tale/tale.safetensors --tokenizer "
         "models/tale/tokenizer.bin -o tale.html\n"
         "example: lathe page shapes.model --weights shapes.safetensors -o shapes.html\n"
         "example: lathe page SmolLM2-135M-Instruct/ --quant Q4_K_M -o smol.html\n"
         "example: lathe page hearing/ -o hearing.html\n"},
        {"import", import_command, 1, 2,
         "a directory with config.json or a .gguf, and perhaps a file of config items",
         "SOURCE [ITEMS.model] [-o NAME] [-D NAME=VALUE] [--force] [--spec-only]",
         "translate a published model to a model file and C",
         "SOURCE is a directory of Hugging Face with config.json, a config.json (- is standard input), or a "
         ".gguf.\n"
         "Writes NAME.model: a few lines in the language, made by the config items of the library and "
         "checked. "
         " If the weights are there (safetensors, or the .gguf), also writes NAME.c, NAME.h and "
         "NAME.weights, "
         "like `lathe build --main --weights SOURCE`.\n"
         "ITEMS.model has further config items, which come before the library's (docs/import.md).",
         "example: lathe import SmolLM2-135M/ --spec-only\n"},
        {"run", run_command, 1, ANY_NUMBER, "one model, and perhaps a prompt",
         "MODEL [PROMPT | PICTURE… | TEXT… | SOUND… | @LIST] [options]", "run a model and stream its output",
         "Compiles in memory; no C compiler is needed.  The model file's loop says what to do "
         "(docs/loops.md).  A model without a loop generates text.",
         "example: lathe run models/tale.model --weights models/tale/tale.safetensors --tokenizer "
         "models/tale/tokenizer.bin -p \"Once\"\n"
         "example: lathe run SmolLM2-135M-Instruct/ -p \"What is the capital of France?\"\n"
         "example: lathe run classifier/ cat.jpg dog.png --top 3\n"
         "example: find photos -name '*.jpg' | lathe run classifier/ @- --top 1\n"
         "example: lathe run sentences/ --similar \"A cat sleeps.\" \"A kitten naps.\"\n"
         "example: lathe run masked/ \"The capital of France is [MASK].\"\n"
         "example: lathe run drawings.model --weights drawings.safetensors -I class=13 -o star.png\n"},
        {"chat", chat_command, 1, 2, "one model, and perhaps the first turn", "MODEL [TURN] [options]",
         "hold a conversation with a model",
         "As `lathe run`, for models with a conversation: a published model with a chat template, or a model "
         "file "
         "whose loop generate has `user` and `answer`.  Each line of standard input is a turn.",
         "example: lathe chat SmolLM2-135M-Instruct/\n"
         "example: lathe chat SmolLM2-135M-Instruct/ --system \"Be brief.\" --temp 0.4\n"},
        {"eval", eval_command, 1, 1, "one model",
         "MODEL [--inputs FILE]… [-I NAME=VALUE]… [-p TEXT] [-o FILE | --json] [--tap NAME,…] [--output "
         "NAME,…]",
         "compute a model's outputs for given inputs",
         "Runs the model once and prints its outputs, as the language writes tensors; large ones are "
         "abridged.\n"
         "An input with one axis more than the model declares, before the others, is a batch: the model is "
         "run "
         "for each element, and outputs get that axis, too.  Inputs without it are the same for all.",
         "example: lathe eval classifier.model --weights w.safetensors --inputs image.npy --output logits\n"
         "example: lathe eval models/tale.model -p '1 2 3' --tap 'layer[0].attn.weights' -o "
         "seen.safetensors\n"},
        {"check", check_command, 1, ANY_NUMBER, "model files", "MODEL…",
         "parse, elaborate and prove models; silent if all is well",
         "Checks every model of the files whose hyperparameters all have values, or the one of -m, and every "
         "test: that it can be elaborated, that `loop generate` has a causal model, and that its checkpoint "
         "section gives every weight exactly once.  Of other models, checks that what they set is declared; "
         "a "
         "note lists what they lack.\n"
         "The note \"is causal if its values are finite\" names a place where an infinity or a NaN of a "
         "later "
         "position, such as an exp that overflows, reaches earlier ones; with finite values, steps give the "
         "bits of forward.",
         "example: lathe check models/*.model\n"},
        {"test", test_command, 1, ANY_NUMBER, "files of tests", "FILE…",
         "run the tests written in the language",
         "Runs every `test \"…\" { require … }` of the files by the interpreter, in double precision, with "
         "weights made by a hash.",
         "example: lathe test tests/textbook/attention.model\n"},
        {"weights", weights_command, 1, 1, "one model",
         "MODEL [--weights FILE] [--quant f32|f16|bf16] -o W.safetensors | MODEL --weights OUT.weights "
         "--rank "
         "R/N [--stage S/M] -o SHARE.weights",
         "write weights under their published names, or those of one rank",
         "Writes hash weights (docs/hash-weights.md), or those of a checkpoint.\n"
         "With --rank, cuts a share out of a weight file of `lathe build --ranked`; -m, -D, --target, "
         "--slots, "
         "--kv, --prompt-rows and --no-PASS must be those of that build.  The file is as long, but its holes "
         "take no disk space; a program accepts it only as that rank.",
         "example: lathe weights models/tale.model -o tale.safetensors\n"
         "example: lathe weights models/tale.model --weights tale.weights --rank 0/4 -o tale.0.weights\n"},
        {"show", show_command, 1, 2, "a model and a part of it",
         "MODEL params|loops|taps|cost|plan|program|threads|roofline|code|elaborated|graph|c | passes [-o "
         "FILE.svg|.pdf|.png|.dot]",
         "print what a model consists of and what it costs",
         "params      every weight with its shape, and the number of parameters\n"
         "loops       the loops for `lathe run`, with their settings\n"
         "taps        the names of all values, with their shapes (in a repeat: of all iterations)\n"
         "cost        bytes of weights and cache, FLOPs of prefill and step: formulas, and at the full "
         "context\n"
         "plan        the program, and the offset of every buffer; -o: the arena over time\n"
         "program     kernels in order, and the steps between them: barriers, iterations, exchanges of "
         "ranks\n"
         "threads     each thread's share of each kernel, for each kind of call; -o: a schedule\n"
         "roofline    FLOPs and bytes of each kernel, for each kind of call; -o: under the roof\n"
         "code        what each kernel does, statement by statement (docs/ir.md)\n"
         "elaborated  the graph of the file, before any pass\n"
         "graph       the graph after its passes; --json: either graph for programs; -o: either by blocks\n"
         "passes      the passes, in order\n"
         "c           the C that `lathe build` writes",
         "example: lathe show models/tale.model graph -o tale.svg\n"
         "example: lathe show models/tale.model cost\n"},
        {"repl", repl_command, 0, ANY_NUMBER, "files", "[MODEL.model | SOURCE | SCRIPT]…",
         "definitions, expressions and commands, line by line",
         "A line is a definition, a statement or an expression of the language, which is evaluated, or a "
         "command; `:help` lists them.  Files that end in .model and published models (a directory with "
         "config.json, a .gguf) are loaded first; others are scripts of such lines, which are run instead of "
         "standard input.\n"
         "The exit status is 1 if a line of a script or a pipe failed.",
         "example: lathe repl models/tale.model\n"},
        {"verify", verify_command, 1, 1, "one model",
         "MODEL [--weights FILE] [--against FILE | --text FILE] [--bound E] [--interpreter] [--each-pass] "
         "[--json] [--target T]…",
         "compare the interpreter with compiled code",
         "Runs the interpreter on the model as written, on inputs made by a hash; then on the graph after "
         "each "
         "pass, and the C for each target (64-bit ARM by aarch64-linux-gnu-gcc and qemu-aarch64), built by "
         "$CC, or cc: whole, in pieces and step by step, by 1, 2 and 3 threads; and whole with other inputs "
         "in "
         "the second half, huge ones and NaN, which must not change the first half.  All compiled code must "
         "give the same bits, also in plans for another --chunk and for ranks.\n"
         "Then prints the largest error of each named value, by layer and op, and the first one over the "
         "bound.\n"
         "With --text: perplexity, KL divergence from the exact weights, how often another token is the "
         "likeliest, and then the same with each weight rounded by itself.  Without --quant and --kv only "
         "the "
         "perplexity.",
         "example: lathe verify models/stories260k.model --target scalar --target avx2\n"
         "example: lathe verify SmolLM2-135M/ --quant bf16 --text wiki.txt\n"},
        {"golden", golden_command, 2, ANY_NUMBER, "record MODEL, or check FILE…",
         "record MODEL [options] | check FILE… [options]",
         "record outputs as text, and compare later to the bit",
         "A golden file has shape, hash, norm, first and last values of each output and tapped value, and "
         "greedy text.",
         "example: lathe golden record models/tale.model -p '1 2 3' && lathe golden check tale.golden\n"
         "example: lathe golden check --review tests/*.golden\n"},
        {"encode", encode_command, 1, 1, "a tokenizer, and text on standard input",
         "SOURCE [--special] [--bare] [--json]", "text to token ids, line by line",
         "Reads text from standard input and writes the ids of each line to a line.\n"
         "SOURCE is a tokenizer.json, a tokenizer.model or spiece.model, a vocab.txt, a directory that has "
         "one "
         "of them or vocab.json and merges.txt, a .tiktoken, a tekken.json, a tokenizer.bin of llama2.c, or "
         "a "
         ".gguf.",
         "example: echo 'Once upon a time' | lathe encode SmolLM2-135M/tokenizer.json\n"},
        {"decode", decode_command, 1, 1, "a tokenizer", "SOURCE [--special] [--json]",
         "token ids to text, line by line",
         "Reads ids from standard input and writes the text of each line of them to a line.  SOURCE is as "
         "for "
         "encode.",
         "example: echo '7454 2402 257 640' | lathe decode tokenizer.json\n"},
        {"template", template_command, 1, 1, "one template",
         "SOURCE [--system TEXT] [--messages FILE] [--tools FILE] [--date YEAR-MONTH-DAY] [--pieces | "
         "--answer FILE]",
         "render a conversation by a chat template, or print its pieces",
         "SOURCE is a chat_template.jinja, a tokenizer_config.json, a directory with one of them, or a "
         ".gguf.  "
         "Standard input has the turns, one per line: user, answer, user …; after a user's turn the text "
         "ends "
         "where the answer begins.  --messages gives a conversation with other messages, such as those of "
         "tools.",
         "example: printf 'Hi!\\nHello.\\nWho are you?\\n' | lathe template SmolLM2-135M-Instruct/\n"
         "example: lathe template chat_template.jinja --pieces\n"
         "example: lathe template SmolLM3-3B/ --answer answer.txt\n"},
        {"completion", completion_command, 1, 1, "a shell", "bash | zsh | fish",
         "completion of commands and options for a shell",
         "Writes a script for the shell to standard output, with commands, options and known values.  `make "
         "install` installs all three.",
         "example: . <(lathe completion bash)\n"},
        {"targets", targets_command, 0, 0, "no words", "[--json]", "list the targets of generated C",
         "Prints the name of each target, where it runs, and what it is for.",
         "example: lathe targets --json\n"},
};
const int command_count = sizeof command_table / sizeof command_table[0];

const CommandPart part_table[] = {
        {"run generate",
         "loop generate: PROMPT is the text to continue; - reads it from standard input.  Without a "
         "tokenizer, "
         "prompt and text are token numbers.  With a chat template the prompt is a user's turn; without a "
         "prompt each line of standard input is one, and on a terminal /help lists the commands.  A model "
         "with an encoder of tokens translates the "
         "prompt."},
        {"run classify",
         "loop classify: PICTURE… are PNG, JPEG, PPM or PGM files, @FILE the files that FILE lists, one on "
         "each line, - standard input, and @- a list from it.  If one can't be read, the others are "
         "processed.  Of a model of texts: TEXT; a pair of texts, FIRST SECOND; or FIRST SECOND…, a pair for "
         "each SECOND.  - is the lines of standard input, @FILE those of FILE: as the only argument, each is "
         "a text, or a pair with a tab between its texts; as the last argument, a SECOND.  Prints the "
         "likeliest classes of each: probability, number, label; of a model of tokens those of each token, "
         "or the "
         "spans of the text that they label."},
        {"run answer",
         "loop answer: QUESTION TEXT…; - is the lines of standard input, @FILE those of FILE: as the only "
         "argument, each is a question and a text with a tab between them; as the last argument, a TEXT.  "
         "Prints the likeliest answers, which are spans of the text: probability, text."},
        {"run embed", "loop embed: TEXT… or -p TEXT; @FILE is the lines of FILE, - those of standard input.  "
                      "Prints a vector for each, as a line of JSON."},
        {"run fill", "loop fill: TEXT… as for embed, with masks.  Prints the likeliest tokens for each mask: "
                     "probability, "
                     "number, text."},
        {"run unmask",
         "loop unmask: PROMPT is the text to continue, as for generate; masks in it are filled, and then the "
         "whole text is printed.  The masks of a block are filled in steps, the surest first."},
        {"run denoise",
         "loop denoise: makes a picture, or numbers, out of noise, or out of the latent that -I gives."},
        {"run transcribe",
         "loop transcribe: SOUND… are WAV files of any rate, @FILE the files that FILE lists, one on each "
         "line, - "
         "standard input, and @- a list from it.  Prints the text of each, like loop generate."},
        {"golden record", "record MODEL: writes a golden file."},
        {"golden check", "check FILE…: computes the values again just in time on every target that runs "
                         "here, and ahead of time, by the "
                         "system's compiler, on the native one, with 1, 2 and 3 threads, whole, in pieces "
                         "and step by step, and "
                         "names the first value that differs."},
};
const int part_count = sizeof part_table / sizeof part_table[0];

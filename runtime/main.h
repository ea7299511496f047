/*
 * The command line of an emitted model that generates.
$note *
$note * Lines that begin with $talk are for a model of conversations alone, those with $mute for others; those with $rules for a loop that
$note * rules tokens out, or prescribes them, those with $free for others.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

typedef struct {
        const char *prompt, *weights;
        char *text; /* the prompt's, if it was read */
        int64_t steps, chunk;
        int threads, verbose, hash;
        Sampler sampler;
$talk        const char *system; /* the message of the system, or NULL: the form's */
$talk        int raw;            /* the prompt is text to go on from, no turn of a user */
} Options;

static void usage(FILE *to, const char *program)
{
        fprintf(to,
                "usage: %s [options] [PROMPT]\n"
                "  -p PROMPT     %s\n"
                "  -f FILE       the prompt is what FILE holds\n"
$talk                "                without a prompt: a conversation, each line of standard input a turn\n"
$talk                "  --system TEXT the message of the system\n"
$talk                "  --raw         the prompt is text to go on from, taken as it is\n"
                "  -n N          at most N new tokens (default: to the end of the context)\n"
                "  --temp T      temperature; 0, the default, always takes the likeliest token\n"
                "  --top-k K     of the K likeliest tokens only\n"
                "  --top-p P     of the likeliest tokens that together have probability P\n"
                "  --min-p P     of tokens at least P times as likely as the likeliest\n"
                "  --seed S      of the random numbers (default 1): the same seed, the same text, on every machine\n"
                "  --threads K   threads (default 1); the output does not depend on them\n"
                "  -w FILE       the weights (default " WEIGHTS_FILE ")\n"
                "  --hash        print a hash of all logits to standard error\n"
                "  --chunk N     take the prompt in pieces of N (what comes out does not depend on it)\n"
                "  -v            print speed to standard error\n"
                "example: %s %s -n 100 --temp 0.8 --seed 7\n",
                program, prompt_help, program, prompt_example);
}

/* All of a stream, ended by a 0 byte; NULL if it can't be read or memory is short. */
static char *read_all(FILE *from)
{
        size_t n = 0, room = 4096;
        char *text = malloc(room);
        while (text) {
                n += fread(text + n, 1, room - n - 1, from);
                if (n < room - 1)
                        break;
                char *more = room < (size_t)1 << 30 ? realloc(text, room *= 2) : NULL;
                if (!more)
                        free(text);
                text = more;
        }
        if (text && ferror(from)) {
                free(text);
                return NULL;
        }
        if (text)
                text[n] = 0;
        return text;
}

static char *read_prompt(const char *path)
{
        FILE *from = strcmp(path, "-") ? fopen(path, "rb") : stdin;
        char *text = from ? read_all(from) : NULL;
        if (!text)
                fprintf(stderr, "%s: %s\n", path, strerror(errno));
        if (from && from != stdin)
                fclose(from);
        return text;
}

static void refuse(const char *program, const char *what, const char *why)
{
        fprintf(stderr, "%s: %s%s; --help lists the options\n", program, what, why);
        exit(2);
}

/* The prompt, or the file that holds it. */
static void set_prompt(Options *o, const char *program, const char *given, int is_file)
{
        if (o->prompt)
                refuse(program, "the prompt is given twice: ", given);
        if (is_file || !strcmp(given, "-"))
                given = o->text = read_prompt(given);
        if (!given)
                exit(3);
        o->prompt = given;
}

/* The number behind option i; exits with a message if there is none or it is outside of low to high. */
static double number(char **argv, int i, double low, double high)
{
        char *end = NULL;
        double x = argv[i + 1] ? strtod(argv[i + 1], &end) : 0;
        if (!argv[i + 1] || end == argv[i + 1] || *end || !(x >= low && x <= high)) {
                fprintf(stderr, "%s: %s wants a number from %g to %g%s%s\n", argv[0], argv[i], low, high, argv[i + 1] ? ", not " : "",
                        argv[i + 1] ? argv[i + 1] : "");
                exit(2);
        }
        return x;
}

static const char *word(char **argv, int i)
{
        if (!argv[i + 1]) {
                fprintf(stderr, "%s: %s wants a value\n", argv[0], argv[i]);
                exit(2);
        }
        return argv[i + 1];
}

/* An option of the sampler, its value read into *to. */
static int sampler_option(char **argv, int i, Sampler *to)
{
        const char *a = argv[i];
        if (!strcmp(a, "--top-k"))
                to->top_k = (int)number(argv, i, 0, 1e9);
        else if (!strcmp(a, "--top-p"))
                to->top_p = (float)number(argv, i, 0, 1);
        else if (!strcmp(a, "--min-p"))
                to->min_p = (float)number(argv, i, 0, 1);
        else if (!strcmp(a, "--seed"))
                to->state = (uint64_t)number(argv, i, 0, 9e15);
        else
                return 0;
        return 1;
}

static Options options(char **argv)
{
        const char *sampling = NULL;
        Options o = {.weights = WEIGHTS_FILE, .steps = INT64_MAX, .chunk = INT64_MAX, .threads = 1, .sampler = {.state = 1}};
        for (int i = 1; argv[i]; i++) {
                const char *a = argv[i];
                if (!strcmp(a, "-h") || !strcmp(a, "--help")) {
                        usage(stdout, argv[0]);
                        exit(0);
                }
                if (!strcmp(a, "-v"))
                        o.verbose = 1;
                else if (!strcmp(a, "--hash"))
                        o.hash = 1;
                else if (!strcmp(a, "-p"))
                        set_prompt(&o, argv[0], word(argv, i++), 0);
                else if (!strcmp(a, "-f"))
                        set_prompt(&o, argv[0], word(argv, i++), 1);
                else if (!strcmp(a, "-w"))
                        o.weights = word(argv, i++);
                else if (!strcmp(a, "-n"))
                        o.steps = (int64_t)number(argv, i++, 0, 1e9);
                else if (!strcmp(a, "--chunk"))
                        o.chunk = (int64_t)number(argv, i++, 1, 1e9);
                else if (!strcmp(a, "--temp"))
                        o.sampler.temperature = (float)number(argv, i++, 0, 1e6);
$talk                else if (!strcmp(a, "--system"))
$talk                        o.system = word(argv, i++);
$talk                else if (!strcmp(a, "--raw"))
$talk                        o.raw = 1;
                else if (sampler_option(argv, i, &o.sampler))
                        sampling = argv[i++];
                else if (!strcmp(a, "--threads"))
                        o.threads = (int)number(argv, i++, 1, TEAM_MAX);
                else if (*a == '-' && a[1])
                        refuse(argv[0], "unknown option ", a);
                else
                        set_prompt(&o, argv[0], a, 0);
        }
        if (sampling && o.sampler.temperature == 0)
                refuse(argv[0], sampling, " has no effect without --temp");
$talk        if (o.raw && o.system)
$talk                refuse(argv[0], "--system", " has no effect with --raw");
$talk        if (o.system && !talk_form.system && !talk_form.first_user)
$talk                refuse(argv[0], "--system", ": this model's conversations have no place for it");
        return o;
}

/* FNV-1a over the bits of x [n], every NaN the same. */
static uint64_t hash_floats(uint64_t h, const float *x, int64_t n)
{
        for (int64_t i = 0; i < n; i++) {
                union {
                        float value;
                        uint32_t bits;
                } u;
                u.value = x[i];
                if (x[i] != x[i])
                        u.bits = 0x7fc00000;
                for (int byte = 0; byte < 4; byte++)
                        h = (h ^ (u.bits >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
        }
        return h;
}

static int is_stop(int32_t token)
{
        for (int i = 0; stop_token[i] >= 0; i++)
                if (stop_token[i] == token)
                        return 1;
        return 0;
}

$rules/* The token at a place of the text: the loop's first ones, then what it lets be chosen. */
$rulesstatic int32_t choose(Sampler *s, float *logits, int64_t place, int64_t made)
$rules{
$rules        if (place <= FIRST_TOKENS)
$rules                return first_token[place - 1];
$rules        for (int i = 0; forbidden_token[i] >= 0; i++)
$rules                logits[forbidden_token[i]] = -FLOAT_INF;
$rules        for (int i = 0; (made == 0 || place == FIRST_TOKENS + 1) && forbidden_first[i] >= 0; i++)
$rules                logits[forbidden_first[i]] = -FLOAT_INF;
$rules        return sample(s, logits, VOCAB);
$rules}
$rules
static double seconds(void)
{
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* All but the prompt's last token; their logits are worked out only to be hashed. */
static int take_prompt($model *m, const Options *o, const int32_t *tokens, int64_t n, uint64_t *hash)
{
        int error = 0;
        for (int64_t i = 0, chunk; i < n && !error; i += chunk) {
                chunk = n - i < o->chunk ? n - i : o->chunk;
                if (!o->hash) {
                        error = $model_prefill(m, tokens + i, chunk);
                        continue;
                }
                float *logits = chunk < INT64_MAX / VOCAB / 4 ? malloc((size_t)(chunk * VOCAB) * sizeof *logits) : NULL;
                error = logits ? $model_forward(m, tokens + i, chunk, logits) : $MODEL_ERROR_MEMORY;
                if (!error)
                        *hash = hash_floats(*hash, logits, chunk * VOCAB);
                free(logits);
        }
        return error;
}

/* Generates after the prompt until a stop token, the number of steps or the end of the context; the model may have taken a part of the
 * prompt already. */
static int generate($model *m, Options *o, const int32_t *tokens, int64_t n, float *logits)
{
        uint64_t hash = UINT64_C(0xcbf29ce484222325);
        double begin = seconds();
        int64_t taken = $model_position(m);
        int error = n > CONTEXT ? $MODEL_ERROR_CONTEXT : take_prompt(m, o, tokens + taken, n - 1 - taken, &hash);
$talk        int ended = o->raw;
        int32_t token = tokens[n - 1];
        int64_t made = 0;
        double first = 0;
        for (; !error && made < o->steps && $model_position(m) < CONTEXT; made++) {
                error = $model_step(m, token, logits);
                if (error)
                        break;
                if (o->hash)
                        hash = hash_floats(hash, logits, VOCAB);
$rules                int32_t next = choose(&o->sampler, logits, $model_position(m), made);
$free                int32_t next = sample(&o->sampler, logits, VOCAB);
                if (made == 0)
                        first = seconds();
$mute                if (is_stop(next))
$mute                        break;
$talk                ended |= is_stop(next);
$talk                if (is_stop(next))
$talk                        break;
                show_token(m, token, next);
                if (fflush(stdout) || ferror(stdout))
                        break; /* main() says so */
                token = next;
        }
        show_end();
$mute        if (made > 0 && !ferror(stdout) && isatty(STDOUT_FILENO))
$talk        if (!ferror(stdout) && (!o->raw || (made > 0 && isatty(STDOUT_FILENO))))
                putchar('\n');
$talk        if (!error && !ended && $model_position(m) == CONTEXT)
$talk                fprintf(stderr, "the context of %d tokens is full: the answer ends here\n", CONTEXT);
        if (o->hash)
                fprintf(stderr, "hash %016llx\n", (unsigned long long)hash);
        if (o->verbose && made > 1)
                fprintf(stderr, "%lld prompt tokens and the first new one in %.1f ms; then %.1f tokens/s\n", (long long)(n - taken), 1e3 * (first - begin),
                        (double)(made - 1) / (seconds() - first));
        return error;
}

$talkstatic int converse($model *m, Options *o, float *logits);
$talk
/* Goes on from the prompt; -2 if that is none, which has been said. */
static int go_on($model *m, Options *o, float *logits)
{
        int64_t n = 0;
        int32_t *tokens = prompt_tokens(m, o->prompt ? o->prompt : "", &n);
        int error = n < 0 ? -2 : tokens ? generate(m, o, tokens, n, logits) : $MODEL_ERROR_MEMORY;
        free(tokens);
        return error;
}

/* A page of the weights that can't be had. */
static void on_bus_error(int number)
{
        static const char text[] = "the weights can't be read any more: the file has become shorter, or the disk fails\n";
        (void)number;
        ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
        (void)written;
        _exit(3);
}

APART int command(char **argv)
{
        signal(SIGBUS, on_bus_error);
        Options o = options(argv);
        int error = 0, status = 0;
        float *logits = malloc(VOCAB * sizeof *logits);
        o.sampler.order = malloc(VOCAB * sizeof *o.sampler.order);
        $model *m = logits && o.sampler.order ? $model_new(o.weights, o.threads, &error) : NULL;
$mute        if (m)
$mute                error = go_on(m, &o, logits);
$talk        if (m)
$talk                error = o.raw ? go_on(m, &o, logits) : converse(m, &o, logits);
        if (!m && !error)
                error = $MODEL_ERROR_MEMORY;
        if (error < 0) {
                status = -error;
        } else if (error) {
                int file = error == $MODEL_ERROR_FILE || error == $MODEL_ERROR_WEIGHTS;
                fprintf(stderr, "%s: %s%s%s\n", argv[0], file ? o.weights : "", file ? ": " : "", $model_error(error));
                status = error == $MODEL_ERROR_RANGE || error == $MODEL_ERROR_CONTEXT ? 1 : 3;
        }
        if (fflush(stdout) || ferror(stdout)) {
                fprintf(stderr, "%s: standard output: %s\n", argv[0], strerror(errno));
                status = 3;
        }
        $model_free(m);
        free(o.text);
        free(logits);
        free(o.sampler.order);
        return status;
}

int main(int argc, char **argv)
{
        (void)argc;
        if (processor_suits())
                return command(argv);
        fprintf(stderr, "%s: %s\n", argv[0], $model_error($MODEL_ERROR_CPU));
        return 3;
}

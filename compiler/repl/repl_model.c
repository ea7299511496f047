/* Commands on the current model that need no compiled code. */
#include "repl_private.h"

#include <stdlib.h>
#include <string.h>

/* --- the current model --------------------------------------------------------------------------------------------- */

static bool has_model(const ReplSession *s)
{
        if (s->model)
                return true;
        return repl_error("there is no model yet: define one, or :load FILE");
}

bool with_model(ReplSession *s, ModelWork *work, const Words *w)
{
        if (!has_model(s))
                return false;
        Model *m = calloc(1, sizeof *m);
        jmp_buf out_of_memory;
        volatile bool good = false;
        if (!m)
                return repl_error("%s", no_memory);
        m->diag.arena = s->program->work = &m->arena;
        s->program->diag = &m->diag;
        m->program = s->program;
        m->arena.out_of_memory = s->words.out_of_memory = s->files->out_of_memory = &out_of_memory;
        if (!setjmp(out_of_memory))
                good = model_elaborate(m, &s->options, s->model) && work(s, m, w);
        else
                repl_error("%s", no_memory);
        s->words.out_of_memory = s->files->out_of_memory = NULL;
        s->program->diag = NULL;
        model_free(m);
        free(m);
        return good && !interrupted;
}

bool say_model(ReplSession *s, Model *m, const Words *w)
{
        (void)w;
        printf("%s: ", s->model);
        char digits[32], *p = digits;
        int n = snprintf(digits, sizeof digits, "%lld", (long long)parameter_count(m->graph));
        for (; n > 0; n--, p++)
                printf("%c%s", *p, n > 1 && n % 3 == 1 ? "," : "");
        printf(" parameters\n");
        return true;
}

bool choose_model(ReplSession *s, const Words *w)
{
        if (w->n == 1)
                return with_model(s, say_model, w);
        if (!session_is_complete(s, w->word[1])) {
                Arena a = {0};
                int n;
                const char **name = session_models(s, &a, &n), *near = nearest_name(w->word[1], name, n);
                repl_error("no model whose hyperparameters all have values is named %s%s%s%s", w->word[1],
                           near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
                arena_free(&a);
                return false;
        }
        session_set_model(s, w->word[1]);
        return with_model(s, say_model, w);
}

/* --- hyperparameters ------------------------------------------------------------------------------------------------ */

static void print_setting(const Setting *h)
{
        printf("%s ", h->name);
        switch (h->kind) {
        case SETTING_NUMBER: print_shortest(stdout, h->number); break;
        case SETTING_BOOL: printf(h->number != 0 ? "true" : "false"); break;
        case SETTING_TEXT: print_text(stdout, h->text); break;
        case SETTING_LIST:
                for (int i = 0; i < h->nlist; i++) {
                        fputs(i ? ", " : "[", stdout);
                        print_shortest(stdout, h->list[i]);
                }
                fputs("]", stdout);
                break;
        }
        printf("\n");
}

static bool list_hypers(ReplSession *s, Model *m, const Words *w)
{
        (void)s;
        const Graph *g = m->graph;
        const char **name = NEW_ARRAY(&m->arena, const char *, g->nhyper);
        bool found = w->n < 2;
        for (int i = 0; i < g->nhyper; i++) {
                name[i] = g->hyper[i].name;
                if (w->n > 1 && strcmp(w->word[1], name[i]) != 0)
                        continue;
                print_setting(&g->hyper[i]);
                found = true;
        }
        const char *near = found ? NULL : nearest_name(w->word[1], name, g->nhyper);
        if (!found)
                repl_error("%s has no hyperparameter %s of numbers or text%s%s%s", g->name, w->word[1],
                           near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
        return found;
}

/* The current model, without messages; NULL: it is invalid. */
Graph *session_graph(ReplSession *s, Arena *a)
{
        Diag diag = {.arena = a};
        s->program->work = a;
        s->program->diag = &diag;
        Graph *g = s->model ? elaborate_model(s->program, s->model, s->options.override, s->options.noverride,
                                              &diag)
                            : NULL;
        s->program->diag = NULL;
        return g;
}

bool hyper_names(ReplSession *s, Arena *a, const char ***name, int *n)
{
        const Graph *g = session_graph(s, a);
        *n = 0;
        *name = NEW_ARRAY(a, const char *, g ? g->nhyper : 0);
        for (int i = 0; g && i < g->nhyper; i++)
                (*name)[(*n)++] = g->hyper[i].name;
        return g != NULL;
}

bool tap_names(ReplSession *s, Arena *a, const char ***name, int *n)
{
        Graph *g = session_graph(s, a);
        *n = 0;
        const Tap *tap = g ? taps_of(a, g, n) : NULL;
        *name = NEW_ARRAY(a, const char *, *n);
        for (int i = 0; i < *n; i++)
                (*name)[i] = tap[i].name;
        return g != NULL;
}

static bool does_elaborate(ReplSession *s, Model *m, const Words *w)
{
        (void)w;
        bool good = model_passes(m, &s->options);
        if (good && (s->options.weights || s->options.quant)) {
                Checkpoint *checkpoint = NULL;
                Weights *weights = open_weights(m, &s->options, &checkpoint);
                const char *left =
                        weights && checkpoint ? weights_left_out(&m->arena, weights, checkpoint) : NULL;
                good = weights != NULL;
                if (left)
                        fprintf(stderr, "note: %s has more layers than %s: not used: %s\n",
                                s->options.weights, m->graph->name, left);
                checkpoint_close(checkpoint);
        }
        return good;
}

static void drop_overrides(const Override *all, int n)
{
        for (int i = 0; i < n; i++) {
                free((char *)all[i].name);
                free((char *)all[i].value);
        }
}

/* End of a value: a comma outside of brackets and texts, or the end of the line. */
static const char *value_end(const char *at)
{
        int depth = 0;
        bool quoted = false;
        for (; *at && (depth > 0 || quoted || *at != ','); at++) {
                quoted ^= *at == '"';
                depth += !quoted && strchr("([{", *at) ? 1 : !quoted && strchr(")]}", *at) ? -1 : 0;
        }
        return at;
}

/* Sets NAME VALUE, from `at` to `end`, replacing an earlier value; false after a message. */
static bool option_override(CommandOptions *o, const char *at, const char *end)
{
        size_t n = strcspn(at, " \t");
        const char *value = at + n + strspn(at + n, " \t");
        if (value >= end)
                return repl_error("%.*s: which value?", (int)(end - at), at);
        Override new = {strndup(at, n), strndup(value, (size_t)(end - value)), ":set"};
        int i = 0;
        while (new.name && i < o->noverride &&strcmp(o->override[i].name, new.name) != 0)
                i++;
        if (!new.name || !new.value || i == MAX_OVERRIDES) {
                drop_overrides(&new, 1);
                fprintf(stderr,
                        i == MAX_OVERRIDES ? "lathe: error: more than %d settings\n"
                                           : "lathe: error: out of memory\n",
                        MAX_OVERRIDES);
                return false;
        }
        if (i < o->noverride)
                drop_overrides(&o->override[i], 1);
        o->noverride += i == o->noverride;
        o->override[i] = new;
        return true;
}

static bool add_overrides(CommandOptions *o, const CommandOptions *old, const char *line)
{
        for (int i = 0; i < old->noverride; i++) {
                o->override[i] =
                        (Override){strdup(old->override[i].name), strdup(old->override[i].value), ":set"};
                o->noverride++;
                if (!o->override[i].name || !o->override[i].value)
                        return repl_error("%s", no_memory);
        }
        for (const char *at = line, *end; *at;
             at = end + (*end == ',') + strspn(end + (*end == ','), " \t")) {
                end = value_end(at);
                if (!option_override(o, at, end))
                        return false;
        }
        return true;
}

/* NAME VALUE, or several separated by commas, which are set together: values are expressions.  Invalid
 * settings are undone. */
bool set_hyper(ReplSession *s, const Words *w)
{
        if (w->n < 3)
                return with_model(s, list_hypers, w);
        if (!has_model(s))
                return false;
        const CommandOptions old = s->options;
        s->options.noverride = 0;
        bool good = add_overrides(&s->options, &old, w->rest) && with_model(s, does_elaborate, w);
        if (good) {
                drop_overrides(old.override, old.noverride);
        } else {
                drop_overrides(s->options.override, s->options.noverride);
                s->options = old;
                Arena a = {0};
                const Graph *g = session_graph(s, &a);
                for (int i = 0; g && i < g->nhyper; i++)
                        if (!strcmp(g->hyper[i].name, w->word[1]))
                                fprintf(stderr, "note: %s remains %s\n", w->word[1],
                                        setting_text(&a, &g->hyper[i]));
                arena_free(&a);
        }
        session_changed(s);
        return good && rerun(s);
}

/* --- files ----------------------------------------------------------------------------------------------------------- */

/* Sets the option to the word, or to NULL without one; undone if the model does not accept it. */
static bool repl_choose(ReplSession *s, const char **option, const Words *w)
{
        const char *old = *option, *given = w->n > 1 ? strdup(w->word[1]) : NULL;
        if (w->n > 1 && !given)
                return repl_error("%s", no_memory);
        *option = given;
        bool good = !s->model || with_model(s, does_elaborate, w);
        *option = good ? given : old;
        free((char *)(good ? old : given));
        session_changed(s);
        return good;
}

bool choose_weights(ReplSession *s, const Words *w)
{
        if (w->n < 2)
                session_drop_adapters(s);
        return repl_choose(s, &s->options.weights, w);
}

/* Frees the paths of adapters. */
static void free_adapters(const CkAdapter *adapter, int n)
{
        for (int i = 0; i < n; i++)
                free((char *)adapter[i].path);
}

void session_drop_adapters(ReplSession *s)
{
        free_adapters(s->options.adapter, s->options.nadapter);
        s->options.nadapter = 0;
}

/* [DIR[=SCALE] …] */
bool choose_adapters(ReplSession *s, const Words *w)
{
        const CommandOptions old = s->options;
        if (w->n - 1 > MAX_ADAPTERS)
                return repl_error(":lora takes at most %d adapters", MAX_ADAPTERS);
        if (w->n > 1 && !s->options.weights)
                return repl_error(":lora changes weights, and there are none: :weights FILE loads them");
        bool good = true;
        s->options.nadapter = 0;
        for (int i = 1; good && i < w->n; i++) {
                CkAdapter *a = &s->options.adapter[s->options.nadapter];
                char *text = strdup(w->word[i]);
                good = text ? adapter_parse(text, a) ||
                                       repl_error(":lora takes DIR or DIR=SCALE with a finite number, not %s",
                                                  w->word[i])
                            : repl_error("%s", no_memory);
                if (good)
                        s->options.nadapter++;
                else
                        free(text);
        }
        good = good && (!s->model || with_model(s, does_elaborate, w));
        if (good) {
                free_adapters(old.adapter, old.nadapter);
        } else {
                session_drop_adapters(s);
                memcpy(s->options.adapter, old.adapter, sizeof old.adapter);
                s->options.nadapter = old.nadapter;
        }
        session_changed(s);
        return good;
}

bool choose_quant(ReplSession *s, const Words *w)
{
        char why[QUANT_WHY];
        if (w->n > 1 && !quant_fits(w->word[1], why))
                return repl_error(":quant: %s", why);
        return repl_choose(s, &s->options.quant, w);
}

bool choose_kv(ReplSession *s, const Words *w)
{
        Storage kv = STORAGE_F32;
        if (w->n > 1 && !kv_storage(w->word[1], &kv))
                return repl_error(":kv must be f32, f16 or q8, not %s", w->word[1]);
        s->options.kv = kv;
        session_changed(s);
        return true;
}

/* --- parts ------------------------------------------------------------------------------------------------------------ */

static bool show_word(ReplSession *s, Model *m, const Words *w)
{
        int part = model_part(w->word[1]);
        return part >= 0 && show_model(m, &s->options, (ModelPart)part) == DONE;
}

bool show_of_model(ReplSession *s, const Words *w)
{
        return with_model(s, show_word, w);
}

bool show_emitted(ReplSession *s, const Words *w)
{
        (void)w;
        char *word[] = {"show", "c"};
        return with_model(s, show_word, &(Words){word, 2, ""});
}

static bool run_passes(ReplSession *s, Model *m, const Words *w)
{
        CommandOptions o = s->options;
        for (int i = 0; i < PASS_COUNT; i++)
                o.dump[i] = !strcmp(pass_table[i].name, w->word[1]);
        return model_passes(m, &o) && model_plan(m, &o, target_find("native"));
}

bool dump_pass(ReplSession *s, const Words *w)
{
        const char *name[PASS_COUNT];
        bool found = false;
        for (int i = 0; i < PASS_COUNT; i++)
                found |= !strcmp(name[i] = pass_table[i].name, w->word[1]);
        if (found)
                return with_model(s, run_passes, w);
        const char *near = nearest_name(w->word[1], name, PASS_COUNT);
        repl_error("unknown pass %s%s%s%s", w->word[1],
                   near ? "; did you mean " : "; `:show passes` lists them", near ? near : "",
                   near ? "?" : "");
        return false;
}

/* --- tokens ------------------------------------------------------------------------------------------------------------ */

/* Number of tokens: the size of the model's first input of ids. */
static bool token_count(ReplSession *s, Model *m, const Words *w)
{
        (void)w;
        for (int i = 0; i < m->graph->ninput; i++)
                if (m->graph->input[i].bound)
                        return s->vocab = (int)m->graph->input[i].bound, true;
        return repl_error("%s takes no token ids", m->graph->name);
}

static bool repl_open_tokenizer(ReplSession *s, const char *path, Tokenizer *t)
{
        CkError error;
        if (!path)
                return repl_error("there is no tokenizer yet: :tokenizer FILE");
        if (!with_model(s, token_count, NULL))
                return false;
        return tokenizer_read(path, NULL, s->vocab, t, &error) || repl_error("%s", error.message);
}

bool choose_tokenizer(ReplSession *s, const Words *w)
{
        Tokenizer t;
        if (!repl_open_tokenizer(s, w->word[1], &t))
                return false;
        tokenizer_free(&t);
        char *path = strdup(w->word[1]);
        if (!path)
                return repl_error("%s", no_memory);
        free((char *)s->options.tokenizer);
        s->options.tokenizer = path;
        session_changed(s);
        return true;
}

bool encode_text(ReplSession *s, const Words *w)
{
        Tokenizer t;
        if (!repl_open_tokenizer(s, s->options.tokenizer, &t))
                return false;
        int64_t n;
        int32_t *token = text_to_tokens(&t, w->word[1], (int64_t)strlen(w->word[1]), &n);
        for (int64_t i = 0; i < n; i++)
                printf("%s%d", i ? " " : "", (int)token[i]);
        printf("\n");
        free(token);
        tokenizer_free(&t);
        return token != NULL;
}

static bool repl_print_tokens(const Tokenizer *t, const Words *w)
{
        int32_t before = -1;
        for (int i = 1; i < w->n; i++) {
                char *end;
                long token = strtol(w->word[i], &end, 10);
                if (*end || end == w->word[i] || token < 0 || token >= t->vocab)
                        return repl_error("%s is not a token id: ids are 0 to %d", w->word[i], t->vocab - 1);
        }
        char *text = malloc((size_t)t->longest + 1);
        for (int i = 1; text && i < w->n; i++) {
                int32_t token = (int32_t)strtol(w->word[i], NULL, 10);
                fwrite(text, 1, (size_t)token_to_text(t, before, token, text), stdout);
                before = token;
        }
        free(text);
        printf("\n");
        return text != NULL;
}

bool decode_tokens(ReplSession *s, const Words *w)
{
        Tokenizer t;
        if (!repl_open_tokenizer(s, s->options.tokenizer, &t))
                return false;
        bool good = repl_print_tokens(&t, w);
        tokenizer_free(&t);
        return good;
}

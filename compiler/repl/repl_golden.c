/* :golden FILE: writes a golden file of the current model, its settings and the text of the last run, like
 * `lathe golden record`.
 *
 * A golden file names a model file, which a check compiles.  So the graph of the file must be that of the
 * session. */
#include <string.h>

#include "repl_private.h"

/* The file of the current model; NULL after a message. */
static const char *find_file(ReplSession *s)
{
        const Definition *d = file_find(s->program->main, intern(&s->names, s->model, -1));
        const char *path = d ? d->ast->span.source->path : "";
        if (s->source && !strcmp(path, s->source_file))
                return s->source;
        if (is_model_file(path))
                return path;
        repl_error("a golden file names the model's file, but %s is not in a file: :save FILE.model, "
                   "then :load it",
                   s->model);
        return NULL;
}

/* Whether the recorded model, from the file, equals that of the session. */
static bool is_of_session(ReplSession *s, Golden *g, const char *path)
{
        uint64_t spec;
        const Graph *graph = session_graph(s, &g->arena);
        if (!graph || !golden_hash(graph, &spec))
                return repl_error("a temporary file can't be written");
        if (spec == g->spec)
                return true;
        return repl_error("%s here is not what %s says: the file was edited (:reload takes it), or "
                          "definitions of "
                          "the session are in the place of its own (:save writes them)",
                          s->model, path);
}

static bool record_golden(ReplSession *s, Golden *g, const char *path)
{
        const Runner *r = s->runner;
        const bool has_text = s->prompt && *s->prompt && !why_not_generating(r->model.graph);
        g->o.nfile = 1;
        g->o.chunk = 64;
        g->o.threads = 0;
        g->o.prompt = has_text ? s->prompt : NULL;
        g->o.tokenizer = has_text && r->has_tokenizer ? s->options.tokenizer : NULL;
        g->o.steps = has_text && session_sampling(s).sampler.temperature == 0 ? s->steps : 0;
        if (!golden_choose_taps(g))
                return false;
        const char *why = golden_run(g, target_find("native"), JUST_IN_TIME);
        if (why)
                return repl_error("%s", why);
        if (!is_of_session(s, g, path))
                return false;
        golden_drop_repeated(g);
        return golden_write(g);
}

/* [FILE] */
bool take_golden(ReplSession *s, const Words *w)
{
        if (w->n == 1)
                return print_goldens(s, w);
        if (s->input.n)
                return repl_error(
                        "inputs of :input are not in a file: `lathe golden record --inputs FILE` takes one");
        if (!runner_fit(s, AS_IT_IS))
                return false;
        Golden g = {.o = s->options, .path = w->word[1], .keep = GOLDEN_KEPT};
        g.o.model = s->model;
        const char *path = find_file(s);
        options_set_model(&g.arena, &g.o, path);
        const bool good = path && record_golden(s, &g, path);
        if (good)
                printf("%s: %d values%s\n", g.path, g.nvalue, g.text ? " and a text" : "");
        arena_free(&g.arena);
        return good;
}

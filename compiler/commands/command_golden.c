/* lathe golden: records a model's outputs, and compares later outputs with them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands_private.h"
#include "check/check.h"

/* --- record ------------------------------------------------------------------------------------------------------- */

static int record(const CommandOptions *o)
{
        Golden g = {.o = *o, .keep = o->given[OPT_KEEP] ? o->keep : GOLDEN_KEPT};
        if (o->nfile != 2) {
                fprintf(stderr,
                        "lathe golden record: expected one model; unexpected argument %s; see `lathe help "
                        "golden`\n",
                        o->file[2]);
                return WRONG_USAGE;
        }
        if (o->input_file.n > 1) {
                fprintf(stderr, "lathe golden record: --inputs is given twice; see `lathe help golden`\n");
                return WRONG_USAGE;
        }
        g.o.nfile = 1;
        options_set_model(&g.arena, &g.o, o->file[1]);
        g.o.chunk = 64;
        g.o.threads = 0;
        if (g.o.steps == INT64_MAX)
                g.o.steps = 0;
        int given = g.o.tap.n;
        bool chosen = golden_choose_taps(&g), fits = !chosen || cache_has_effect(&g.o, "golden record");
        int code = fits ? g.code : WRONG_USAGE;
        if (chosen && fits) {
                if (given)
                        g.o.tap.n = given;
                g.path = o->out ? o->out : arena_printf(&g.arena, "%s.golden", g.o.model);
                const Target *t = chosen_target(o);
                bool jit = o->jit != JIT_CC && test_run_jit_runs(t);
                const char *wrong = golden_run(&g, t, jit ? JUST_IN_TIME : AHEAD_OF_TIME);
                if (!wrong && !given)
                        golden_drop_repeated(&g);
                code = g.code;
                if (wrong)
                        fprintf(stderr, "lathe golden: %s: %s\n", o->file[1], wrong);
                else
                        code = golden_write(&g) ? DONE : WRONG_ENVIRONMENT;
        }
        arena_free(&g.arena);
        return code;
}

/* --- check ---------------------------------------------------------------------------------------------------------- */

bool golden_read_twice(const char *path, const CommandOptions *o, Golden *was, Golden *is)
{
        *is = (Golden){.code = DONE};
        if (!golden_read(was, path) || !golden_read(is, path)) {
                fprintf(stderr, "%s\n", was->why ? was->why : is->why);
                return false;
        }
        if (o->weights)
                is->o.weights = o->weights;
        if (o->nadapter) {
                memcpy(is->o.adapter, o->adapter, sizeof o->adapter);
                is->o.nadapter = o->nadapter;
        }
        is->other_weights = o->weights || o->nadapter;
        is->recorded = was;
        is->o.cache = o->cache;
        if (o->quant)
                is->o.quant = o->quant;
        if (o->given[OPT_KV]) {
                is->o.kv = o->kv;
                is->o.given[OPT_KV] = 1;
        }
        is->o.chunk = o->chunk;
        is->o.slots = o->slots;
        is->o.pages = o->pages;
        is->o.tap.n = o->slots > 1 ? 0 : is->o.tap.n;
        is->o.threads = o->given[OPT_THREADS] ? o->threads : 0;
        return true;
}

/* Batches have outputs, and no taps. */
static void keep_outputs(Golden *was, const Golden *is)
{
        int n = 0;
        for (int i = 0; i < was->nvalue; i++)
                for (int k = 0; k < is->nvalue; k++)
                        if (!strcmp(was->value[i].name, is->value[k].name))
                                was->value[n++] = was->value[i];
        was->nvalue = n;
}

static int check_one(const GoldenCheck *c, const CommandOptions *o)
{
        Golden was, is;
        if (!golden_read_twice(c->path, o, &was, &is))
                return was.code ? was.code : is.code;
        is.o.jit = o->jit;
        const char *wrong = golden_run(&is, c->target, c->when);
        int code = wrong ? is.code : DONE;
        Text *log = text_new(&is.arena);
        if (o->slots > 1)
                keep_outputs(&was, &is);
        if (wrong)
                text_printf(log, "     %s\n", wrong);
        else
                code = golden_compare(log, &was, &is, o->bound) ? DONE : WRONG_INPUT;
        printf("%s %s %s %s\n%s", code ? "FAIL" : "ok", c->path, c->target->name, golden_how(c),
               log->data ? log->data : "");
        arena_free(&is.arena);
        arena_free(&was.arena);
        return code;
}

static void golden_begin(GoldenCheck *c, const CommandOptions *o)
{
        c->said = tmpfile();
        fflush(NULL);
        c->process = c->said ? fork() : -1;
        if (c->process) {
                c->error = errno;
                c->entry = c->process > 0 ? ending_process(c->process) : -1;
                return;
        }
        int own = dup(STDERR_FILENO);
        dup2(fileno(c->said), STDOUT_FILENO);
        dup2(fileno(c->said), STDERR_FILENO);
        int code = check_one(c, o);
        if (!fflush(stdout) && !ferror(stdout))
                _exit(code);
        dprintf(own, "lathe golden: a temporary file can't be written\n");
        _exit(WRONG_ENVIRONMENT);
}

static void say_failure(FILE *to, const GoldenCheck *c, const char *why)
{
        fprintf(to, "FAIL %s %s %s: %s\n", c->path, c->target->name, golden_how(c), why);
}

/* Whether both have the same text after their first lines, which name target and way. */
static bool says_the_same(FILE *a, FILE *b)
{
        int x, y;
        rewind(a);
        rewind(b);
        while ((x = getc(a)) != '\n' && x != EOF)
                ;
        while ((y = getc(b)) != '\n' && y != EOF)
                ;
        if (x == EOF || y == EOF)
                return false;
        while ((x = getc(a)) == (y = getc(b)) && x != EOF)
                ;
        return x == y;
}

/* An earlier check of the file that failed with the same message; NULL: none. */
static const GoldenCheck *like_before(const GoldenCheck *first, const GoldenCheck *c)
{
        for (const GoldenCheck *b = first; c->code && c->said && b < c; b++)
                if (b->code && b->said && !strcmp(b->path, c->path) && says_the_same(b->said, c->said))
                        return b;
        return NULL;
}

/* Prints the output of a check's process, unless an earlier check had the same.  Returns whether there was
 * any. */
static bool show_said(FILE *to, const GoldenCheck *first, const GoldenCheck *c)
{
        const GoldenCheck *before = like_before(first, c);
        char line[4096];
        bool any = false;
        if (c->said)
                rewind(c->said);
        for (; c->said && !(before && any) && fgets(line, sizeof line, c->said); any = true)
                fputs(line, to);
        if (before)
                fprintf(to, "     same as %s %s\n", before->target->name, golden_how(before));
        return any;
}

/* Waits for one of the running checks from `first` on. */
static void golden_end(FILE *to, const GoldenCheck *first, GoldenCheck *c)
{
        int status = WRONG_ENVIRONMENT << 8;
        while (c->process > 0 && waitpid(c->process, &status, 0) < 0 && errno == EINTR)
                ;
        if (c->process > 0)
                ending_forget(c->entry);
        else {
                say_failure(to, c, "no process can be started");
                fprintf(stderr, "lathe golden: no process can be started: %s\n", strerror(c->error));
        }
        c->code = WIFEXITED(status) ? WEXITSTATUS(status) : WRONG_ENVIRONMENT;
        const bool any = show_said(to, first, c);
        if (c->process > 0 && !any && WIFEXITED(status)) {
                say_failure(to, c, "its output can't be stored");
                fprintf(stderr, "lathe golden: a temporary file can't be read\n");
                c->code = WRONG_ENVIRONMENT;
        }
        if (c->process > 0 && !WIFEXITED(status))
                fprintf(to, "FAIL %s %s %s: ended by signal %d\n", c->path, c->target->name, golden_how(c),
                        WTERMSIG(status));
        fflush(to);
}

/* Runs as many checks at once as there are cores; reports in their order. */
static int run_checks(FILE *to, GoldenCheck *c, int n, const CommandOptions *o)
{
        int cores = (int)sysconf(_SC_NPROCESSORS_ONLN), begun = 0, passed = 0, skipped = 0, worst = DONE;
        for (int i = 0; i < n; i++) {
                for (; begun < n && begun < i + (cores > 0 ? cores : 1); begun++)
                        if (!c[begun].lack)
                                golden_begin(&c[begun], o);
                if (c[i].lack) {
                        fprintf(to, "skip %s %s %s: missing: %s\n", c[i].path, c[i].target->name,
                                golden_how(&c[i]), c[i].lack);
                        skipped++;
                        continue;
                }
                golden_end(to, c, &c[i]);
                passed += c[i].code == DONE;
                worst = c[i].code > worst ? c[i].code : worst;
        }
        fprintf(to, "%d passed, %d failed", passed, n - skipped - passed);
        if (skipped)
                fprintf(to, ", %d skipped", skipped);
        fprintf(to, "\n");
        return worst;
}

/* Replaces the file by current results, and prints changed lines. */
static int update(const char *path, const CommandOptions *o)
{
        Golden was, is;
        if (!golden_read_twice(path, o, &was, &is))
                return was.code ? was.code : is.code;
        const char *wrong = golden_run(&is, target_find("native"), JUST_IN_TIME);
        if (wrong)
                fprintf(stderr, "lathe golden: %s: %s\n", path, wrong);
        else
                printf("%s: %d lines changed\n", path,
                       golden_diff(stdout, &is.arena, golden_text(&was), golden_text(&is)));
        input_to_replace(is.path);
        int code = wrong ? is.code : golden_write(&is) ? DONE : WRONG_ENVIRONMENT;
        arena_free(&was.arena);
        arena_free(&is.arena);
        return code;
}

/* --- the command ------------------------------------------------------------------------------------------------------ */

/* The reason why a target can't be run this way; NULL: it can. */
static const char *lacks(Arena *a, const Target *t, When when)
{
        if (when == AHEAD_OF_TIME)
                return test_run_lacks(a, t);
        return test_run_jit_runs(t) ? NULL : "libtcc's kernels for it";
}

/* Just in time on every target that runs here; ahead of time, which takes a C compiler and time, on the
 * native one. Named targets in both ways, or in those that are possible. */
static bool target_is_asked(const CommandOptions *o, const Target *t, When when)
{
        bool named = false;
        for (int i = 0; i < o->target.n; i++)
                named |= target_find(o->target.at[i]) == t;
        if (o->target.n ? !named : when == AHEAD_OF_TIME ? t != target_find("native") : !test_run_jit_runs(t))
                return false;
        return o->jit == JIT_AUTO || jit_is_immediate(o->jit) == (when == JUST_IN_TIME);
}

typedef struct {
        const Target *target;
        When when;
        const char *lack; /* why it is skipped, or NULL */
} GoldenWay;

/* Ways to check a file; at least one way of each target is not skipped.  0 after a message. */
static int choose_ways(Arena *a, const CommandOptions *o, GoldenWay *way)
{
        int n = 0;
        for (int i = 0; i < target_count; i++) {
                const Target *t = &target_table[i];
                const char *missing = NULL;
                const GoldenWay *tried = NULL;
                for (When when = JUST_IN_TIME + 1; when-- > AHEAD_OF_TIME;) {
                        if (!target_is_asked(o, t, when))
                                continue;
                        way[n] = (GoldenWay){t, when, lacks(a, t, when)};
                        missing = way[n].lack ? way[n].lack : missing;
                        tried = way[n].lack ? tried : &way[n];
                        n++;
                }
                if (missing && tried)
                        fprintf(stderr, "lathe golden: note: %s is tried only by %s; missing: %s\n", t->name,
                                tried->when == JUST_IN_TIME ? "tcc" : "cc", missing);
                else if (missing) {
                        fprintf(stderr, "lathe golden: target %s can't be tried here; missing: %s\n", t->name,
                                missing);
                        return 0;
                }
        }
        return n;
}

/* An unreadable file is reported by a single check. */
static bool is_readable(const char *path)
{
        Golden g;
        bool good = golden_read(&g, path);
        arena_free(&g.arena);
        return good;
}

/* Lists each way for each file; for an unreadable file only the first that is not skipped.  Returns their
 * number. */
static int list_checks(const CommandOptions *o, const GoldenWay *way, int ways, GoldenCheck *c)
{
        int n = 0;
        for (int i = 1; i < o->nfile; i++) {
                const bool readable = is_readable(o->file[i]);
                bool told = false;
                for (int k = 0; k < ways && !told; k++) {
                        if (!readable && way[k].lack)
                                continue;
                        told = !readable;
                        c[n++] = (GoldenCheck){.path = o->file[i],
                                               .target = way[k].target,
                                               .when = way[k].when,
                                               .lack = way[k].lack,
                                               .jit = o->jit};
                }
        }
        return n;
}

static int report_checks(const CommandOptions *o, GoldenCheck *c, int n)
{
        FILE *to = o->given[OPT_JSON] ? fopen("/dev/null", "w") : stdout; /* the list has all results */
        if (!to) {
                fprintf(stderr, "lathe golden: /dev/null: %s\n", strerror(errno));
                return WRONG_ENVIRONMENT;
        }
        int code = run_checks(to, c, n, o);
        if (o->given[OPT_JSON]) {
                fclose(to);
                code = golden_json(c, n) ? code : WRONG_ENVIRONMENT;
        }
        if (o->junit && !golden_junit(o->junit, c, n))
                code = WRONG_ENVIRONMENT;
        for (int i = 0; i < n; i++)
                if (c[i].said)
                        fclose(c[i].said);
        return code;
}

static int golden_check(const CommandOptions *o)
{
        Arena a = {0};
        GoldenWay way[2 * MAX_TARGETS];
        const int ways = choose_ways(&a, o, way);
        int code = WRONG_ENVIRONMENT;
        if (ways) {
                GoldenCheck *c = calloc((size_t)(o->nfile - 1) * (size_t)ways, sizeof *c);
                if (!c)
                        end_without_memory();
                code = report_checks(o, c, list_checks(o, way, ways, c));
                free(c);
        }
        arena_free(&a);
        return code;
}

int golden_command(const CommandOptions *o)
{
        const char *what = o->file[0];
        if (!strcmp(what, "record"))
                return options_fit(o, "golden record") ? record(o) : WRONG_USAGE;
        if (strcmp(what, "check") != 0) {
                fprintf(stderr,
                        "lathe golden: record MODEL, or check FILE…, not %s; see `lathe help golden`\n",
                        what);
                return WRONG_USAGE;
        }
        if (!options_fit(o, "golden check"))
                return WRONG_USAGE;
        if (o->given[OPT_REVIEW])
                return golden_review(o);
        if (!o->given[OPT_UPDATE])
                return golden_check(o);
        int code = DONE;
        for (int i = 1; i < o->nfile; i++) {
                int one = update(o->file[i], o);
                code = one > code ? one : code;
        }
        return code;
}

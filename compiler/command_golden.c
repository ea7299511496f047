/* lathe golden: records what a model's outputs are, and holds it to that. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ending.h"
#include "golden.h"
#include "kernels.h"
#include "taps.h"
#include "text.h"
#include "trial.h"

/* --- record ------------------------------------------------------------------------------------------------------- */

/* Without --tap: what each block called in a repeat gives, position by position. */
static bool is_block_output(const Graph *g, const Tap *t)
{
        const char *dot = strchr(t->name, '.');
        return dot && !strchr(dot + 1, '.') && strstr(t->name, "[i].") && t->in_all_trips &&
               t->type.dtype == REAL && t->type.rank > 1 && g->nnamed && !dim_is_fixed(t->type.dim[1]);
}

static int compare_taps(const void *a, const void *b)
{
        const Tap *x = a, *y = b;
        return (x->at > y->at) - (x->at < y->at);
}

static bool choose_taps(Golden *g)
{
        Model m;
        int n = 0;
        bool good = model_load(&m, &g->o, &g->code);
        Tap *tap = good ? taps_of(&m.arena, m.graph, &n) : NULL;
        if (n)
                qsort(tap, (size_t)n, sizeof *tap, compare_taps);
        for (int i = 0; i < n && g->o.ntap < MAX_TAPS; i++)
                if (is_block_output(m.graph, &tap[i]))
                        g->o.tap[g->o.ntap++] = arena_strdup(&g->arena, tap[i].name);
        if (good && !g->o.model)
                g->o.model = arena_strdup(&g->arena, m.graph->name);
        model_free(&m);
        return good;
}

/* "layer[0].attn" is a value of the tap layer[i].attn. */
static bool is_of(const GoldenValue *v, const char *tap)
{
        const char *all = strstr(tap, "[i]"), *close = strchr(v->name, ']');
        return all && close && !strncmp(v->name, tap, (size_t)(all - tap) + 1) && !strcmp(close + 1, all + 3);
}

/* Does an earlier tap have the same values all through?  `x` after an identity is the same value by another name. */
static bool repeats_another(const Golden *g, const char *tap)
{
        bool any = false;
        for (int i = 0; i < g->nvalue; i++) {
                bool before = false;
                if (!is_of(&g->value[i], tap))
                        continue;
                for (int k = 0; k < i; k++)
                        before |= g->value[k].hash == g->value[i].hash;
                if (!before)
                        return false;
                any = true;
        }
        return any;
}

/* Of the taps that nobody asked for, those that say nothing new. */
static void drop_repeated(Golden *g)
{
        bool drop[MAX_TAPS];
        int ntap = 0, nvalue = 0;
        for (int i = 0; i < g->o.ntap; i++)
                drop[i] = repeats_another(g, g->o.tap[i]);
        for (int i = 0; i < g->nvalue; i++) {
                bool keep = true;
                for (int k = 0; k < g->o.ntap; k++)
                        keep &= !(drop[k] && is_of(&g->value[i], g->o.tap[k]));
                if (keep)
                        g->value[nvalue++] = g->value[i];
        }
        g->nvalue = nvalue;
        for (int i = 0; i < g->o.ntap; i++)
                if (!drop[i])
                        g->o.tap[ntap++] = g->o.tap[i];
        g->o.ntap = ntap;
}

static int record(const Options *o)
{
        Golden g = {.o = *o};
        if (o->nfile != 2) {
                fprintf(stderr, "lathe golden record: wants one model; `lathe help golden` says more\n");
                return WRONG_USAGE;
        }
        g.o.file[0] = o->file[1];
        g.o.nfile = 1;
        g.o.chunk = 64;
        if (g.o.steps == INT64_MAX)
                g.o.steps = 0;
        int given = g.o.ntap;
        bool chosen = choose_taps(&g);
        int code = g.code;
        if (chosen) {
                if (given)
                        g.o.ntap = given;
                g.path = o->out ? o->out : arena_printf(&g.arena, "%s.golden", g.o.model);
                const Target *t = target_find(o->ntarget ? o->target[0] : "native");
                const char *wrong = golden_run(&g, t, o->jit == JIT_CC ? JIT_CC : JIT_TCC);
                if (!wrong && !given)
                        drop_repeated(&g);
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

/* One golden file on one target by one compiler: a process of its own. */
typedef struct {
        const char *path;
        const Target *target;
        JitMode mode;
        pid_t process;    /* 0: not begun, or ended */
        int entry, error; /* of ending.h; why it can't be started */
        FILE *said;
        int code; /* that it exited with */
} Job;

static const char *mode_name(JitMode mode)
{
        return mode == JIT_CC ? "cc" : "tcc";
}

/* Floats between a and b. */
static int64_t ulps(float a, float b)
{
        int32_t i, k;
        memcpy(&i, &a, sizeof i);
        memcpy(&k, &b, sizeof k);
        int64_t x = i < 0 ? INT32_MIN - (int64_t)i : i, y = k < 0 ? INT32_MIN - (int64_t)k : k;
        return x > y ? x - y : y - x;
}

static bool close_enough(double was, double is, double scale, double bound)
{
        return was == is || (isnan(was) && isnan(is)) || fabs(was - is) <= bound * scale;
}

static bool within(const GoldenValue *was, const GoldenValue *is, double bound)
{
        bool good = close_enough(was->norm, is->norm, was->norm, bound);
        for (int i = 0; i < was->shown; i++)
                good = good && close_enough(was->first[i], is->first[i], was->norm, bound) &&
                       close_enough(was->last[i], is->last[i], was->norm, bound);
        return good;
}

static void say_where(Text *to, const GoldenValue *was, const GoldenValue *is)
{
        for (int end = 0; end < 2; end++)
                for (int i = 0; i < was->shown; i++) {
                        float a = end ? was->last[i] : was->first[i], b = end ? is->last[i] : is->first[i];
                        if (!memcmp(&a, &b, sizeof a))
                                continue;
                        text_printf(to,
                                    "     %s value %d was %.9g, is %.9g: %" PRId64
                                    " units in the last place apart\n",
                                    end ? "last" : "first", i, (double)a, (double)b, ulps(a, b));
                        return;
                }
        text_printf(to, "     not in the values that are kept; norm was %.6g, is %.6g\n", was->norm,
                    is->norm);
}

/* The first value that differs; true: none. */
static bool compare(Text *to, const Golden *was, const Golden *is, double bound)
{
        int n = was->nvalue < is->nvalue ? was->nvalue : is->nvalue;
        for (int i = 0; i < n; i++) {
                const GoldenValue *a = &was->value[i], *b = &is->value[i];
                if (strcmp(a->name, b->name) || strcmp(a->shape, b->shape)) {
                        text_printf(to, "     value %d was %s %s, is %s %s\n", i + 1, a->name, a->shape,
                                    b->name, b->shape);
                        return false;
                }
                if (a->hash == b->hash || (bound > 0 && within(a, b, bound)))
                        continue;
                text_printf(to, "     %s %s is the first that differs\n", a->name, a->shape);
                say_where(to, a, b);
                return false;
        }
        if (was->nvalue != is->nvalue) {
                text_printf(to, "     %d values were recorded, and there are %d\n", was->nvalue, is->nvalue);
                return false;
        }
        if (bound > 0 || !was->text || (is->text && !strcmp(was->text, is->text)))
                return true;
        text_printf(to, "     the text was %s\n     and is %s\n", was->text, is->text ? is->text : "none");
        return false;
}

static void say_what_changed(Text *to, const Golden *was, const Golden *is)
{
        if (was->spec != is->spec)
                text_printf(to, "     the model is not what it was when this was recorded\n");
        if (was->weights_hash != is->weights_hash)
                text_printf(to, "     %s has other bytes than when this was recorded\n", was->o.weights);
        if (was->tokenizer_hash != is->tokenizer_hash)
                text_printf(to, "     %s has other bytes than when this was recorded\n", was->o.tokenizer);
}

static int check_one(const Job *j, double bound)
{
        Golden was, is;
        if (!golden_read(&was, j->path) || !golden_read(&is, j->path))
                return was.code ? was.code : is.code;
        const char *wrong = golden_run(&is, j->target, j->mode);
        int code = wrong ? is.code : DONE;
        Text *log = text_new(&is.arena);
        if (wrong)
                text_printf(log, "     %s\n", wrong);
        else {
                code = compare(log, &was, &is, bound) ? DONE : WRONG_INPUT;
                say_what_changed(log, &was, &is);
        }
        printf("%s %s %s %s\n%s", code ? "FAIL" : "ok", j->path, j->target->name, mode_name(j->mode),
               log->data);
        arena_free(&is.arena);
        arena_free(&was.arena);
        return code;
}

static void begin(Job *j, double bound)
{
        j->said = tmpfile();
        fflush(NULL);
        j->process = j->said ? fork() : -1;
        if (j->process) {
                j->error = errno;
                j->entry = j->process > 0 ? ending_process(j->process) : -1;
                return;
        }
        int own = dup(STDERR_FILENO);
        dup2(fileno(j->said), STDOUT_FILENO);
        dup2(fileno(j->said), STDERR_FILENO);
        int code = check_one(j, bound);
        if (!fflush(stdout) && !ferror(stdout))
                _exit(code);
        dprintf(own, "lathe golden: a temporary file can't be written\n");
        _exit(WRONG_ENVIRONMENT);
}

static void end(Job *j)
{
        int status = WRONG_ENVIRONMENT << 8;
        while (j->process > 0 && waitpid(j->process, &status, 0) < 0 && errno == EINTR)
                ;
        if (j->process > 0)
                ending_forget(j->entry);
        else {
                printf("FAIL %s %s %s: no process can be started\n", j->path, j->target->name,
                       mode_name(j->mode));
                fprintf(stderr, "lathe golden: no process can be started: %s\n", strerror(j->error));
        }
        j->code = WIFEXITED(status) ? WEXITSTATUS(status) : WRONG_ENVIRONMENT;
        char line[4096];
        bool any = false;
        if (j->said)
                rewind(j->said);
        for (; j->said && fgets(line, sizeof line, j->said); any = true)
                fputs(line, stdout);
        if (j->process > 0 && !any && WIFEXITED(status)) {
                printf("FAIL %s %s %s: what it says can't be kept\n", j->path, j->target->name,
                       mode_name(j->mode));
                fprintf(stderr, "lathe golden: a temporary file can't be read\n");
                j->code = WRONG_ENVIRONMENT;
        }
        if (j->process > 0 && !WIFEXITED(status))
                printf("FAIL %s %s %s: ended by signal %d\n", j->path, j->target->name, mode_name(j->mode),
                       WTERMSIG(status));
        fflush(stdout);
}

/* As many at once as there are cores; in their order. */
static int run_jobs(Job *job, int n, double bound)
{
        int cores = (int)sysconf(_SC_NPROCESSORS_ONLN), begun = 0, passed = 0, worst = DONE;
        for (int i = 0; i < n; i++) {
                for (; begun < n && begun < i + (cores > 0 ? cores : 1); begun++)
                        begin(&job[begun], bound);
                end(&job[i]);
                passed += job[i].code == DONE;
                worst = job[i].code > worst ? job[i].code : worst;
        }
        printf("%d passed, %d failed\n", passed, n - passed);
        return worst;
}

/* --- reports --------------------------------------------------------------------------------------------------------- */

static void xml(Text *t, const char *text)
{
        for (; *text; text++)
                switch (*text) {
                case '&': text_add(t, "&amp;", 5); break;
                case '<': text_add(t, "&lt;", 4); break;
                case '"': text_add(t, "&quot;", 6); break;
                default: text_add(t, text, 1);
                }
}

static bool write_junit(const char *path, Job *job, int n)
{
        char line[4096];
        Arena arena = {0};
        Text *t = text_new(&arena);
        int failed = 0;
        for (int i = 0; i < n; i++)
                failed += job[i].code != DONE;
        text_printf(
                t,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"lathe golden\" tests=\"%d\" "
                "failures=\"%d\">\n",
                n, failed);
        for (int i = 0; i < n; i++) {
                text_printf(t, "  <testcase classname=\"");
                xml(t, job[i].path);
                text_printf(t, "\" name=\"%s %s\">", job[i].target->name, mode_name(job[i].mode));
                if (job[i].code != DONE) {
                        text_printf(t, "<failure>");
                        if (job[i].said)
                                rewind(job[i].said);
                        while (job[i].said && fgets(line, sizeof line, job[i].said))
                                xml(t, line);
                        text_printf(t, "</failure>");
                }
                text_printf(t, "</testcase>\n");
        }
        text_printf(t, "</testsuite>\n");
        bool good = write_file(path, t->data, t->n);
        arena_free(&arena);
        return good;
}

/* What is found takes the place of what was; lines that change are shown. */
static int update(const char *path)
{
        Golden was, is;
        if (!golden_read(&was, path) || !golden_read(&is, path))
                return was.code ? was.code : is.code;
        const char *wrong = golden_run(&is, target_find("native"), JIT_TCC);
        if (wrong)
                fprintf(stderr, "lathe golden: %s: %s\n", path, wrong);
        int changed = 0;
        for (int i = 0; !wrong && (i < was.nvalue || i < is.nvalue); i++) {
                Text *before = text_new(&is.arena), *after = text_new(&is.arena);
                if (i < was.nvalue)
                        golden_value_line(&was.value[i], before);
                if (i < is.nvalue)
                        golden_value_line(&is.value[i], after);
                if (!strcmp(before->data, after->data))
                        continue;
                changed++;
                printf("%s%s%s%s", before->n ? "-" : "", before->data, after->n ? "+" : "", after->data);
        }
        if (!wrong)
                printf("%s: %d values changed\n", path, changed);
        int code = wrong ? is.code : golden_write(&is) ? DONE : WRONG_ENVIRONMENT;
        arena_free(&was.arena);
        arena_free(&is.arena);
        return code;
}

/* --- the command ------------------------------------------------------------------------------------------------------ */

/* A golden check asks for the kernels of its target, whoever calls them. */
static int targets_of(const Options *o, const Target **target)
{
        int n = 0;
        for (int i = 0; i < o->ntarget; i++) {
                target[n] = target_find(o->target[i]);
                if (!trial_jit_runs(target[n])) {
                        fprintf(stderr, "lathe golden: %s doesn't run here\n", target[n]->name);
                        return 0;
                }
                n++;
        }
        for (int i = 0; i < target_count && !o->ntarget; i++)
                if (trial_jit_runs(&target_table[i]))
                        target[n++] = &target_table[i];
        return n;
}

/* By libtcc on every target; by the system's compiler, which takes its time, on the native one, unless it is asked for. */
static bool is_asked(const Options *o, const Target *t, JitMode mode)
{
        return o->jit == mode ||
               (o->jit == JIT_AUTO && (mode == JIT_TCC || o->ntarget || t == target_find("native")));
}

static int check(const Options *o)
{
        static const JitMode mode[] = {JIT_TCC, JIT_CC};
        const Target *target[MAX_TARGETS];
        int targets = targets_of(o, target), n = 0;
        if (!targets)
                return WRONG_ENVIRONMENT;
        Job *job = calloc((size_t)(o->nfile - 1) * (size_t)targets * 2 + 1, sizeof *job);
        if (!job)
                end_without_memory();
        for (int i = 1; i < o->nfile; i++)
                for (int t = 0; t < targets; t++)
                        for (int k = 0; k < 2; k++)
                                if (is_asked(o, target[t], mode[k]))
                                        job[n++] = (Job){
                                                .path = o->file[i], .target = target[t], .mode = mode[k]};
        int code = run_jobs(job, n, o->bound);
        if (o->junit && !write_junit(o->junit, job, n))
                code = WRONG_ENVIRONMENT;
        for (int i = 0; i < n; i++)
                if (job[i].said)
                        fclose(job[i].said);
        free(job);
        return code;
}

int golden_command(const Options *o)
{
        const char *what = o->nfile ? o->file[0] : "";
        if (!strcmp(what, "record"))
                return record(o);
        if (strcmp(what, "check") || o->nfile < 2) {
                fprintf(stderr,
                        "lathe golden: record MODEL, or check FILE…; `lathe help golden` says more\n");
                return WRONG_USAGE;
        }
        if (!o->update)
                return check(o);
        int code = DONE;
        for (int i = 1; i < o->nfile; i++) {
                int one = update(o->file[i]);
                code = one > code ? one : code;
        }
        return code;
}

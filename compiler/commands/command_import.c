/* lathe import: converts a published model to a model file, and to C if its weights are present. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands_private.h"
#include "import/import.h"

/* "dir/smol" of "dir/smol.model", "dir/smol.c" or itself */
static const char *import_stem(Arena *arena, const char *out)
{
        static const char *const suffix[] = {".model", ".c"};
        size_t n = strlen(out);
        for (int i = 0; i < 2; i++) {
                size_t k = strlen(suffix[i]);
                if (n > k && !strcmp(out + n - k, suffix[i]))
                        return arena_strndup(arena, out, (int64_t)(n - k));
        }
        return out;
}

/* Checks the printed model as `lathe check` does.  Sets *parameters, *loops (its C can have loops) and *runs (it can have a command line). */
static bool spec_holds(const Spec *spec, const CommandOptions *o, int64_t *parameters, bool *loops,
                       bool *runs)
{
        Model m;
        CommandOptions plain = *o;
        plain.noverride = 0; /* already in the text */
        bool good = model_open_text(&m, spec->model, spec->text) && model_check(&m, &plain, spec->model);
        if (good) {
                *parameters = parameter_count(m.oracle);
                EmittedLoops emitted; /* the build afterwards prints their notes */
                good = emitted_loops(&m, "import", true, &emitted) == DONE;
                *runs = good && !emitted.why_no_main;
                *loops = has_loops(m.graph);
        } else {
                fprintf(stderr, "lathe: the model that config %s generates has an error; its text:\n%s",
                        spec->item, spec->text);
        }
        model_free(&m);
        return good;
}

static const char *counted(Arena *arena, int64_t n)
{
        char digits[24];
        const char *text = "";
        int length = snprintf(digits, sizeof digits, "%lld", (long long)n);
        for (int i = 0; i < length; i++)
                text = arena_printf(arena, "%s%s%c", text, i && (length - i) % 3 == 0 ? "," : "", digits[i]);
        return text;
}

/* An existing model file with another text may have been edited: it keeps its text under another name. */
static bool keep_existing(Arena *arena, const char *path, const char *text)
{
        const char *why;
        if (access(path, F_OK))
                return true;
        const Source *before = read_source(arena, path, &why);
        if (!before || (before->length == (int32_t)strlen(text) && !memcmp(before->text, text, strlen(text))))
                return true;
        const char *kept = arena_printf(arena, "%s.old", path);
        if (rename(path, kept)) {
                fprintf(stderr, "lathe: %s: %s; nothing was written\n", kept, strerror(errno));
                return false;
        }
        fprintf(stderr, "lathe import: note: %s had another text, which is in %s now\n", path, kept);
        return true;
}

static int build_imported(Arena *arena, const CommandOptions *o, const Spec *spec, const char *stem,
                          bool loops, bool runs)
{
        CommandOptions build = *o;
        build.nfile = 1;
        options_set_model(arena, &build, arena_printf(arena, "%s.model", stem));
        build.weights = spec->weights;
        build.out = arena_printf(arena, "%s.c", stem);
        build.source.text = spec->text; /* the model file replaces it after all files are written */
        build.noverride = 0;
        build.given[OPT_LOOPS] = loops;
        build.given[OPT_MAIN] = runs;
        build.tokenizer = NULL;
        if (runs)
                source_tokenizer(arena, &build, spec->tokenizer ? spec->tokenizer : o->file[0], NULL);
        return build_command(&build);
}

static int import_all(Arena *arena, const CommandOptions *asked)
{
        CommandOptions own = *asked, *o = &own;
        options_set_model(arena, &own, source_file(arena, asked->file[0]));
        own.source.head = asked->draft.model;
        if (asked->given[OPT_DRAFT] && !own.source.head) {
                fprintf(stderr,
                        "lathe import: --draft must be a head of the model, such as mtp, not a number\n");
                return WRONG_USAGE;
        }
        bool to_stream = !o->out || !strcmp(o->out, "-");
        const char *stem = to_stream ? NULL : import_stem(arena, o->out),
                   *slash = stem ? strrchr(stem, '/') : NULL;
        Spec spec =
                import_spec(arena, o, o->file[0], o->nfile > 1 ? o->file[1] : NULL, slash ? slash + 1 : stem);
        int64_t parameters = 0;
        bool loops = false, runs = false;
        if (!spec.text)
                return spec.env_error ? WRONG_ENVIRONMENT : WRONG_INPUT;
        if (!spec_holds(&spec, o, &parameters, &loops, &runs))
                return WRONG_INPUT;
        if (to_stream && o->given[OPT_SPEC_ONLY])
                return write_file("-", spec.text, (int64_t)strlen(spec.text)) ? DONE : WRONG_ENVIRONMENT;
        const char *base = slash ? slash + 1 : stem;
        if (stem && (!*base || !strcmp(base, ".") || !strcmp(base, ".."))) {
                fprintf(stderr,
                        "lathe import: -o must be the name of files, such as %s%sNAME, not a folder\n",
                        o->out, *base ? "/" : "");
                return WRONG_USAGE;
        }
        stem = stem ? stem : spec.model;
        const char *path = arena_printf(arena, "%s.model", stem);
        if (!o->given[OPT_SPEC_ONLY] && !spec.weights) {
                fprintf(stderr,
                        "lathe import: %s has no weights (*.safetensors) beside its config.json; --spec-only "
                        "writes only the model file\n",
                        o->file[0]);
                return WRONG_INPUT;
        }
        WrittenFile written = {0};
        int code = DONE;
        if (output_bytes(&written, path, spec.text, (int64_t)strlen(spec.text)) && !o->given[OPT_SPEC_ONLY])
                code = build_imported(arena, o, &spec, stem, loops, runs);
        if (code == DONE && !written.error && !keep_existing(arena, path, spec.text))
                code = WRONG_ENVIRONMENT;
        if (code != DONE) {
                output_drop(&written);
                return code;
        }
        if (!output_finish(&written, 1))
                return WRONG_ENVIRONMENT;
        printf("%s     %s, %s parameters; from %s\n", path, spec.family, counted(arena, parameters),
               spec.architecture);
        return DONE;
}

int import_command(const CommandOptions *o)
{
        Arena arena = {0};
        int code = import_all(&arena, o);
        arena_free(&arena);
        return code;
}

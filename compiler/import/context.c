/* Contexts that are too long for lathe.
 *
 * Some publishers state a context of millions of positions.  Then the scores of all heads, one tensor of the
 * model, have more elements than lathe can count, and the model could not be elaborated.  Such a model is
 * imported with the largest possible of a few contexts.  A comment reports this; -D context=N sets
 * another. */
#include <math.h>

#include "import_private.h"

enum { LARGE_CONTEXT = 1 << 15, MAX_BOUNDED_CONTEXT = 1 << 17 };

static bool context_fits(const char *model, const char *text)
{
        Arena arena = {0};
        Interner names = {.arena = &arena};
        Diag diag = {.arena = &arena};
        const Source *source = source_new(&arena, model, arena_strdup(&arena, text), (int32_t)strlen(text));
        Program *program = program_load(&arena, &names, &diag, model, source);
        if (program)
                program->without_checkpoints = true;
        bool good = program && !diag.count && elaborate_model(program, model, NULL, 0, &diag) && !diag.count;
        arena_free(&arena);
        return good;
}

static StatedSetting *context_setting(Import *m)
{
        for (int i = 0; i < m->nsetting; i++)
                if (!strcmp(m->setting[i].name, "context"))
                        return &m->setting[i];
        return NULL;
}

const char *context_bounded(Import *m, const char *model, const char *text, const char *source,
                            const Paths *forced)
{
        StatedSetting *s = context_setting(m);
        if (!text || !s || s->given || s->value.kind != CONFIG_NUMBER || s->value.number <= LARGE_CONTEXT ||
            context_fits(model, text))
                return text;
        const ConfigValue stated = s->value;
        for (int bound = MAX_BOUNDED_CONTEXT; bound >= LARGE_CONTEXT; bound /= 2) {
                if (bound >= stated.number)
                        continue;
                s->value = config_number(bound, true);
                m->context_note =
                        arena_printf(m->arena,
                                     "Its context is %.0f positions, more than a plan can hold: %d here; "
                                     "-D context=N sets another.",
                                     stated.number, bound);
                const char *bounded = spec_print(m, model, source, forced);
                if (bounded && context_fits(model, bounded)) {
                        fprintf(stderr,
                                "lathe: note: %s: a context of %.0f positions is more than a plan can hold: "
                                "%d "
                                "here; -D context=N sets another\n",
                                source, stated.number, bound);
                        return bounded;
                }
        }
        s->value = stated; /* the model has another error, which is reported as usual */
        m->context_note = NULL;
        return text;
}

/* Prints the parts of a model for sentence vectors: settings, the block that computes the vector, and the
 * checkpoint of its weights. */
#include <string.h>

#include "import_private.h"

static const StatedSetting *stated_setting(const Import *m, const char *name)
{
        for (int i = 0; i < m->nsetting; i++)
                if (!strcmp(m->setting[i].name, name))
                        return &m->setting[i];
        return NULL;
}

static ConfigValue sentence_named(Import *m, const char *name)
{
        ConfigTerm *call = NEW(m->arena, ConfigTerm);
        call->head = intern(m->program->names, name, -1);
        return (ConfigValue){.kind = CONFIG_CALL, .call = call};
}

/* Maximum number of tokens of a text, which is truncated: the directory's limit, at most the context.  0:
 * no limit. */
static int64_t sentence_longest_text(Import *m)
{
        const StatedSetting *context = stated_setting(m, "context");
        int64_t most = context && context->value.kind == CONFIG_NUMBER ? (int64_t)context->value.number : 0;
        int64_t limit = m->sentence.limit;
        if (!limit && entry_find(m, intern(m->program->names, "max_position_embeddings", -1)))
                limit = most;
        return limit && most && limit > most ? most : limit;
}

/* Whether the pooling's width is this setting of the model. */
static bool width_fits(Import *m, const char *setting)
{
        const StatedSetting *width = stated_setting(m, setting);
        if (!m->sentence.width || !width || width->value.kind != CONFIG_NUMBER ||
            (int64_t)width->value.number == m->sentence.width)
                return true;
        config_error(m, m->sentence.pooling,
                     "this pooling is for vectors of %lld numbers, but the model's have %.0f",
                     (long long)m->sentence.width, width->value.number);
        return false;
}

/* Settings that all loops embed have. */
static void state_texts(Import *m)
{
        if (sentence_longest_text(m) && !m->gguf)
                import_set(m, "embed", "max_tokens", config_number((double)sentence_longest_text(m), true));
        if (m->sentence.prompts)
                import_set(m, "embed", "prompts", config_text(m->sentence.prompts));
        if (m->sentence.prompt)
                import_set(m, "embed", "prompt", config_text(m->sentence.prompt));
}

static bool sentence_state_sparse(Import *m)
{
        Definition *family = family_find(m, m->family->name);
        const StatedSetting *words = stated_setting(m, "lm");
        if (!item_loop_named(m, "embed") || !family ||
            !family_declares(m, family, intern(m->program->names, "word_pool", -1), false)) {
                config_error(m, m->sentence.pooling,
                             "SpladePooling is not supported in the family %s: its model file has no "
                             "`word_pool`",
                             m->family->name);
                return false;
        }
        if (words && words->value.kind == CONFIG_BOOL && words->value.number == 0) {
                config_error(m, m->sentence.pooling,
                             "SpladePooling reads logits for masked words, which %s has not; expected an "
                             "architecture …ForMaskedLM",
                             m->architecture);
                return false;
        }
        if (!width_fits(m, "vocab"))
                return false;
        import_set(m, NULL, "word_pool", sentence_named(m, "sentence"));
        item_loop_drop(m, "fill");
        state_texts(m);
        import_set(m, "embed", "sparse", config_bool(true));
        if (!m->sentence.is_cosine)
                import_set(m, "embed", "similarity", config_text("dot"));
        return true;
}

bool sentence_state(Import *m)
{
        if (m->sentence.is_sparse)
                return sentence_state_sparse(m);
        Definition *family = family_find(m, m->family->name);
        if (!item_loop_named(m, "embed") || !family ||
            !family_declares(m, family, intern(m->program->names, "pool", -1), false)) {
                config_error(
                        m, m->sentence.pooling,
                        "vectors of texts are not supported in the family %s: its model file has no `pool`",
                        m->family->name);
                return false;
        }
        if (!width_fits(m, "d_model"))
                return false;
        import_set(m, NULL, "pool", sentence_named(m, "sentence"));
        if (family_generates(m, family) &&
            family_declares(m, family, intern(m->program->names, "tied", -1), false))
                import_set(m, NULL, "tied",
                           config_bool(true)); /* no logits are computed, so there is no separate head */
        if (m->sentence.ranks)
                return sentence_state_ranks(m, sentence_longest_text(m));
        state_texts(m);
        return true;
}

bool sentence_state_score(Import *m)
{
        Definition *family = family_find(m, m->family->name);
        if (!item_loop_named(m, "classify") || !family ||
            !family_declares(m, family, intern(m->program->names, "yes_token", -1), false)) {
                config_error(
                        m, (Span){NULL, 0, 0},
                        "LogitScore is not supported in the family %s: its model file has no `yes_token`",
                        m->family->name);
                return false;
        }
        if (sentence_longest_text(m))
                import_set(m, "classify", "max_tokens",
                           config_number((double)sentence_longest_text(m), true));
        if (m->sentence.template)
                import_set(m, "classify", "template", config_text(m->sentence.template));
        if (m->sentence.template && m->sentence.prompts)
                import_set(m, "classify", "prompts", config_text(m->sentence.prompts));
        if (m->sentence.template && m->sentence.prompt)
                import_set(m, "classify", "prompt", config_text(m->sentence.prompt));
        return true;
}

/* --- lines ---------------------------------------------------------------------------------------------------------- */

static const char *weights_name(Import *m, const char *model)
{
        return arena_printf(m->arena, "%s_weights", model);
}

/* The weights of modules extend the family's checkpoint, or the item's. */
void sentence_checkpoint(Import *m, Definition *family, const char *model)
{
        const StatedSetting *stated = stated_setting(m, "checkpoint");
        if (!m->sentence.is_there || !m->sentence.entry.n)
                return;
        m->sentence.parent = stated && stated->value.kind == CONFIG_CALL ? stated->value.call->head
                                                                         : family_checkpoint(m, family);
        import_set(m, NULL, "checkpoint", sentence_named(m, weights_name(m, model)));
}

void sentence_print_head(Import *m, const char *model, Text *t)
{
        const Sentence *s = &m->sentence;
        if (!s->is_there)
                return;
        text_printf(t, "import embedding\n");
        if (!s->entry.n)
                return;
        text_printf(t, "\ncheckpoint %s%s%s {\n", weights_name(m, model), s->parent ? " : " : "",
                    s->parent ? s->parent : "");
        for (int i = 0; i < s->entry.n; i++)
                text_printf(t, "    %s\n", s->entry.path[i]);
        text_printf(t, "}\n");
}

void sentence_print_block(const Import *m, Text *t)
{
        const Sentence *s = &m->sentence;
        if (!s->is_there)
                return;
        text_printf(t, "    block sentence(x; keep) {\n");
        for (int i = 0; i < s->statement.n; i++)
                text_printf(t, "        %s\n", s->statement.path[i]);
        text_printf(t, "        return y\n    }\n");
}

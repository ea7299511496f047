/* Prompts of sentence-transformers: texts by name, and the name of the default one. */
#include <stdlib.h>

#include "sentence_private.h"

bool sentence_take_prompts(Modules *r, const ConfigObject *o)
{
        const ConfigField *prompts = sentence_key(r, o, "prompts");
        const char *chosen = sentence_word(r, o, "default_prompt_name");
        const ConfigObject *list =
                prompts && prompts->value.kind == CONFIG_OBJECT ? prompts->value.object : NULL;
        if (prompts && !list && prompts->value.kind != CONFIG_NONE)
                return sentence_wants(r, prompts, "an object of texts");
        json_t *all = json_object();
        bool any = false;
        for (int i = 0; list && i < list->n && !r->m->failed; i++) {
                const char *text = sentence_word(r, list, list->field[i].key);
                any |= text && *text;
                json_object_set_new(all, list->field[i].key, json_string(text ? text : ""));
        }
        char *dumped = json_dumps(all, JSON_COMPACT);
        if (!dumped)
                arena_fail(r->m->arena);
        r->s->prompts = any ? arena_strdup(r->m->arena, dumped) : NULL;
        free(dumped);
        if (chosen && !json_object_get(all, chosen))
                sentence_refuse(r, sentence_key(r, o, "default_prompt_name")->span,
                                sentence_text(r, "default_prompt_name: unknown prompt %s%s", chosen, ""));
        r->s->prompt = any ? chosen : NULL;
        json_decref(all);
        return !r->m->failed;
}

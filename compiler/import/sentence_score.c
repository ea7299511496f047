/* A cross-encoder that is a causal model: LogitScore compares the logits of two tokens after a pair, which a chat
 * template writes from messages of the roles query and document, with a prompt as the system's. */
#include "chat/chat.h"
#include "sentence_private.h"

/* --- keys ----------------------------------------------------------------------------------------------------------- */

/* {"method": "forward", "method_output_name": "logits", "format": "flat"}; NULL: pairs are no messages. */
bool sentence_takes_messages(Modules *r, const ConfigField *f)
{
        if (!f || f->value.kind == CONFIG_NONE)
                return true;
        if (f->value.kind != CONFIG_OBJECT)
                return sentence_wants(r, f, "an object");
        const ConfigObject *o = f->value.object;
        const char *method = sentence_word(r, o, "method"),
                   *output = sentence_word(r, o, "method_output_name"),
                   *format = sentence_word(r, o, "format");
        if (r->m->failed ||
            !sentence_keys(r, o, "method method_output_name format ", "modality_config.message"))
                return false;
        if ((method && strcmp(method, "forward") != 0) || (output && strcmp(output, "logits") != 0) ||
            (format && strcmp(format, "flat") != 0 && strcmp(format, "structured") != 0))
                return sentence_wants(r, f,
                                      "the method forward, its logits, and a format flat or structured");
        r->has_messages = true;
        r->has_parts = format && !strcmp(format, "structured");
        return true;
}

/* {"chat_template": {variables}} */
bool sentence_chat_arguments(Modules *r, const ConfigField *f)
{
        if (sentence_is_empty(f->value))
                return true;
        if (f->value.kind != CONFIG_OBJECT)
                return sentence_wants(r, f, "an object");
        const ConfigField *chat = sentence_key(r, f->value.object, "chat_template");
        if (!sentence_keys(r, f->value.object, "chat_template ", f->key))
                return false;
        if (chat && !sentence_is_empty(chat->value) && chat->value.kind != CONFIG_OBJECT)
                return sentence_wants(r, chat, "an object");
        r->chat_variables = chat && chat->value.kind == CONFIG_OBJECT ? chat->value.object : NULL;
        return true;
}

static int64_t score_token(Modules *r, const char *key)
{
        const ConfigField *f = sentence_key(r, r->config, key);
        if (!f || f->value.kind == CONFIG_NONE)
                return -1;
        const double x = f->value.kind == CONFIG_NUMBER ? f->value.number : -1;
        if (x < 0 || x > INT32_MAX || x != (double)(int64_t)x)
                sentence_wants(r, f, "the number of a token");
        return (int64_t)x;
}

bool take_logit_score(Modules *r)
{
        const char *input = sentence_word(r, r->config, "module_input_name");
        if (!sentence_keys(r, r->config, "true_token_id false_token_id module_input_name ", "LogitScore"))
                return false;
        if (!r->is_causal || r->s->is_scored || (input && strcmp(input, "causal_logits") != 0))
                return sentence_refuse(
                        r, r->span,
                        "LogitScore is supported once, for the causal_logits of a cross-encoder "
                        "with the transformer_task text-generation");
        r->s->is_scored = true;
        r->s->yes = score_token(r, "true_token_id");
        r->s->no = score_token(r, "false_token_id");
        return r->m->failed || r->s->yes >= 0 ||
               sentence_refuse(r, r->span,
                               sentence_text(r, "%s%s/config.json: true_token_id is missing", r->path, ""));
}

/* --- the template ----------------------------------------------------------------------------------------------------- */

/* A simple value as JSON; NULL: another one. */
static json_t *json_of_variable(ConfigValue v)
{
        switch (v.kind) {
        case CONFIG_BOOL: return json_boolean(v.number != 0);
        case CONFIG_NUMBER:
                return v.number == (double)(int64_t)v.number ? json_integer((json_int_t)v.number)
                                                             : json_real(v.number);
        case CONFIG_TEXT: return json_string(v.text);
        case CONFIG_NONE: return json_null();
        default: return NULL;
        }
}

/* The variables of the chat template, in addition to tokens. */
static bool add_chat_variables(Modules *r, json_t *to)
{
        const ConfigObject *o = r->chat_variables;
        for (int i = 0; o && i < o->n; i++) {
                json_t *value = json_of_variable(o->field[i].value);
                if (!value)
                        return sentence_wants(r, &o->field[i], "true, false, a number or a text");
                json_object_set_new(to, o->field[i].key, value);
        }
        return true;
}

/* Adds the prompt that the template has by itself, as the default one. */
static void add_own_prompt(Modules *r, const char *own)
{
        json_error_t error;
        json_t *all = json_loads(r->s->prompts ? r->s->prompts : "{}", 0, &error);
        const char *name = "default";
        while (json_object_get(all, name))
                name = arena_printf(r->m->arena, "%s_template", name);
        json_object_set_new(all, name, json_string(own));
        char *dumped = json_dumps(all, JSON_COMPACT);
        if (!dumped)
                arena_fail(r->m->arena);
        r->s->prompts = arena_strdup(r->m->arena, dumped);
        r->s->prompt = r->s->prompt ? r->s->prompt : name;
        free(dumped);
        json_decref(all);
}

static bool cut_pair_template(Modules *r, const ChatSource *s)
{
        Arena *a = r->m->arena;
        ChatFault fault = {0};
        const char *why = s->wrong, *with_prompt, *own;
        ChatTemplate *t = s->text ? chat_parse(a, s->path, s->text, s->n, &fault) : NULL;
        json_t *variables = s->variables ? json_copy(s->variables) : json_object();
        const bool known = add_chat_variables(r, variables);
        const ChatWriter w = {
                .template = t, .variables = variables, .date = chat_today(), .parts = r->has_parts};
        const char *plain = t && known ? chat_pair(a, &w, &with_prompt, &own, &fault, &why) : NULL;
        json_decref(variables);
        if (!known)
                return false;
        if (!plain)
                return sentence_refuse(
                        r, fault.message ? fault.at : (Span){NULL, 0, 0},
                        arena_printf(a, "the chat template can't write a query and a document: %s",
                                     fault.message ? fault.message
                                     : why         ? why
                                                   : "there is none"));
        const bool prompts = with_prompt && (own || r->s->prompt);
        if (r->s->prompts && !prompts)
                return sentence_refuse(r, (Span){NULL, 0, 0},
                                       "the chat template has no place for the prompts of "
                                       "config_sentence_transformers.json");
        r->s->template = prompts ? with_prompt : plain;
        if (prompts && own)
                add_own_prompt(r, own);
        return true;
}

bool sentence_pair_template(Modules *r)
{
        if (r->is_causal && !r->s->is_scored)
                return sentence_refuse(
                        r, r->span,
                        "a cross-encoder with the transformer_task text-generation must have a "
                        "LogitScore");
        if (!r->s->is_scored && r->s->prompts)
                return sentence_refuse(r, r->span,
                                       "prompts of a cross-encoder with classes are not supported");
        if (!r->has_messages && r->s->prompts)
                return sentence_refuse(
                        r, r->span, "prompts of a cross-encoder without a chat template are not supported");
        if (!r->has_messages)
                return true;
        const char *folder = sentence_text(r, "%s%s", r->folder, r->s->backbone);
        ChatSource s = chat_source(r->m->arena, *folder ? folder : ".", false);
        const bool good = cut_pair_template(r, &s);
        chat_source_free(&s);
        return good;
}

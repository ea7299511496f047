/* SparseEncoder: vectors with a weight for each token of the vocabulary, from the logits for masked words (Formal et
 * al. 2021, "SPLADE"); and the documents' route of a Router. */
#include "sentence_private.h"

/* {"pooling_strategy": "max", "activation_function": "relu", "embedding_dimension": null} */
bool take_splade_pooling(Modules *r)
{
        if (!sentence_keys(r, r->config,
                           "pooling_strategy activation_function embedding_dimension "
                           "word_embedding_dimension ",
                           "SpladePooling"))
                return false;
        const char *strategy = sentence_word(r, r->config, "pooling_strategy"),
                   *activation = sentence_word(r, r->config, "activation_function");
        const int64_t width = sentence_size(r, r->config, "embedding_dimension"),
                      old_width = sentence_size(r, r->config, "word_embedding_dimension");
        const bool sums = strategy && !strcmp(strategy, "sum"),
                   twice = activation && !strcmp(activation, "log1p_relu");
        if (!r->is_masked)
                return sentence_refuse(r, r->span,
                                       "SpladePooling is supported after a Transformer with logits: its "
                                       "transformer_task must be fill-mask");
        if (r->pooled)
                return sentence_refuse(r, r->span, "a second pooling is not supported");
        if (strategy && !sums && strcmp(strategy, "max") != 0)
                return sentence_wants(r, sentence_key(r, r->config, "pooling_strategy"), "max or sum");
        if (activation && !twice && strcmp(activation, "relu") != 0)
                return sentence_wants(r, sentence_key(r, r->config, "activation_function"),
                                      "relu or log1p_relu");
        r->s->width = width ? width : old_width;
        r->s->pooling = r->span;
        r->s->is_sparse = r->pooled = true;
        paths_add(r->m->arena, &r->s->statement, "x = log(1 + relu(x))");
        if (twice)
                paths_add(r->m->arena, &r->s->statement, "x = log(1 + x)");
        paths_add(r->m->arena, &r->s->statement,
                  sums ? "y = sum_tokens(x, keep:)" : "y = max_tokens(x, keep:)");
        return !r->m->failed;
}

bool sentence_take_similarity(Modules *r, const ConfigObject *o)
{
        const char *type = sentence_word(r, o, "model_type"),
                   *similarity = sentence_word(r, o, "similarity_fn_name");
        if (type && strcmp(type, "SparseEncoder") != 0)
                return sentence_wants(r, sentence_key(r, o, "model_type"),
                                      "SparseEncoder, for a SpladePooling");
        r->s->is_cosine = similarity && !strcmp(similarity, "cosine");
        return r->m->failed || !similarity || r->s->is_cosine || !strcmp(similarity, "dot")
                       ? !r->m->failed
                       : sentence_wants(r, sentence_key(r, o, "similarity_fn_name"), "dot or cosine");
}

/* --- Router ------------------------------------------------------------------------------------------------------------- */

/* The type of a module of a Router, without the names of its packages. */
static const char *last_name(const char *type)
{
        const char *dot = strrchr(type, '.');
        return dot ? dot + 1 : type;
}

static const ConfigField *router_object(Modules *r, const ConfigObject *o, const char *key, ConfigKind kind)
{
        const ConfigField *f = sentence_key(r, o, key);
        if (f && f->value.kind == kind)
                return f;
        sentence_refuse(r, f ? f->span : r->span,
                        sentence_text(r, "a Router: expected %s as %s", key,
                                      kind == CONFIG_OBJECT ? "an object" : "a list of names"));
        return NULL;
}

/* The modules of a route, as "A, B". */
static const char *router_types(Modules *r, const ConfigList *route, const ConfigObject *types)
{
        const char *all = "";
        for (int i = 0; i < route->n; i++) {
                const char *type = route->item[i].kind == CONFIG_TEXT
                                           ? sentence_word(r, types, route->item[i].text)
                                           : NULL;
                all = arena_printf(r->m->arena, "%s%s%s", all, i ? ", " : "", type ? last_name(type) : "?");
        }
        return all;
}

/* {"types": {"document_0_Transformer": ...}, "structure": {"query": [..], "document": ["document_0_Transformer", ..]}, "parameters": ..} */
bool sentence_take_router(Modules *r, const char *path,
                          bool (*take)(Modules *r, const char *type, const char *path, int i))
{
        const char *inside = *path ? sentence_text(r, "%s%s", path, "/") : "",
                   *file = sentence_text(r, "%s%s", inside, "router_config.json");
        ConfigValue v = {0};
        if (!sentence_has(r, file))
                file = sentence_text(r, "%s%s", inside, "config.json");
        if (!sentence_file(r, file, CONFIG_OBJECT, &v) ||
            !sentence_keys(r, v.object, "types structure parameters ", file))
                return false;
        const ConfigField *types = router_object(r, v.object, "types", CONFIG_OBJECT),
                          *structure = router_object(r, v.object, "structure", CONFIG_OBJECT);
        if (r->m->failed ||
            !sentence_keys(r, structure->value.object, "query document ", "a Router's structure"))
                return false;
        const ConfigField *query = router_object(r, structure->value.object, "query", CONFIG_LIST),
                          *document = router_object(r, structure->value.object, "document", CONFIG_LIST);
        if (r->m->failed)
                return false;
        const ConfigList *route = document->value.list;
        for (int i = 0; i < route->n && !r->m->failed; i++) {
                const char *name = route->item[i].kind == CONFIG_TEXT ? route->item[i].text : NULL;
                r->span = document->span;
                if (!name)
                        return sentence_wants(r, document, "a list of names");
                take(r, sentence_word(r, types->value.object, name), sentence_text(r, "%s%s", inside, name),
                     i);
        }
        if (r->m->failed)
                return false;
        const ConfigList *others = query->value.list;
        const char *types_of_query = router_types(r, others, types->value.object);
        const bool is_table = others->n == 1 && !strcmp(types_of_query, "SparseStaticEmbedding");
        fprintf(stderr,
                "lathe: note: %s%s: the vectors are those of documents; its other route, of queries (%s), is "
                "%s%s%s%s\n",
                r->folder, file, types_of_query,
                is_table ? "the model in "
                         : "not imported: compute them by sentence-transformers, encode_query()",
                is_table ? r->folder : "", is_table ? inside : "", is_table ? others->item[0].text : "");
        return true;
}

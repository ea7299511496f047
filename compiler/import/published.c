/* Reads a directory in Hugging Face's layout or a GGUF, and converts it to a spec.
 *
 * config.json describes the model, modules.json the modules of an embedder (sentence.c),
 * generation_config.json the end of a text, preprocessor_config.json the preprocessing of pictures.  Weights
 * in the directory give tensor names, a tokenizer gives its mask token.  Adapters, pipelines and pickles
 * can't be imported and are rejected by name. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "import_private.h"

typedef struct {
        Import m;
        /* folder: with a slash at its end; NULL: standard input, or a single file */
        const char *source, *folder;
        const char *top;  /* the directory that contains `folder`, or itself; NULL: same as `folder` */
        const char *path; /* of the configuration */
        const char *head; /* of the source, in place of the whole model; NULL: none */
        Diag diag;
        Interner names;
        bool env_error, gguf; /* gguf: the source is a GGUF */
} PublishedReading;

static bool published_refuse(PublishedReading *r, const char *format, const char *what, const char *advice)
{
        fprintf(stderr, "lathe: ");
        fprintf(stderr, format, what);
        fprintf(stderr, "\n");
        if (advice)
                fprintf(stderr, "note: %s\n", advice);
        (void)r;
        return false;
}

static bool is_there(PublishedReading *r, const char *name)
{
        struct stat s;
        return stat(arena_printf(r->m.arena, "%s%s", r->folder, name), &s) == 0;
}

/* The first file of the folder, by name, with this ending; NULL: none. */
static const char *file_that_ends(PublishedReading *r, const char *end)
{
        const char *first = NULL;
        DIR *folder = opendir(*r->folder ? r->folder : ".");
        for (struct dirent *d; folder && (d = readdir(folder));)
                if (text_ends_with(d->d_name, end) && (!first || strcmp(d->d_name, first) < 0))
                        first = arena_strdup(r->m.arena, d->d_name);
        if (folder)
                closedir(folder);
        return first;
}

/* ---- formats that are rejected by name ---- */

static const char *published_text(PublishedReading *r, const ConfigObject *o, const char *key)
{
        ConfigField *f = object_find(o, intern(&r->names, key, -1));
        return f && f->value.kind == CONFIG_TEXT ? f->value.text : "";
}

static bool refuse_format(PublishedReading *r, const char *path, const Format *format)
{
        const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
        published_refuse(r, "%s",
                         arena_printf(r->m.arena,
                                      "%s: this is %s: expected a directory with config.json and "
                                      "safetensors, a config.json, or a .gguf",
                                      path, format->name),
                         format->advice);
        if (format->kind == FORMAT_PICKLE)
                fprintf(stderr,
                        "    import torch, safetensors.torch\n"
                        "    weights = torch.load(\"%s\", weights_only=True, map_location=\"cpu\")\n"
                        "    safetensors.torch.save_file({k: v.clone().contiguous() for k, v in "
                        "weights.items()}, \"model.safetensors\")\n",
                        name);
        return false;
}

/* Whether weights are present only in unsupported formats. */
static bool holds_other_weights_alone(PublishedReading *r)
{
        static const char *const end[] = {".bin", ".pt",    ".pth",     ".ckpt", ".onnx",
                                          ".h5",  ".keras", ".msgpack", ".npz",  ".pb"};
        if (file_that_ends(r, ".safetensors") || file_that_ends(r, ".safetensors.index.json"))
                return false;
        for (size_t i = 0; i < sizeof end / sizeof *end; i++) {
                const char *name = file_that_ends(r, end[i]);
                if (!name || strstr(name, "training_args") || strstr(name, "optimizer") ||
                    !strncmp(name, "tokenizer", 9))
                        continue;
                const char *path = arena_printf(r->m.arena, "%s%s", r->folder, name);
                const Format *format = format_of_file(path);
                if (format && format->advice)
                        refuse_format(r, path, format);
                else
                        published_refuse(r,
                                         "%s is not a format that lathe reads, and there is no *.safetensors "
                                         "beside it",
                                         path, "save the weights as safetensors");
                return true;
        }
        return false;
}

/* Quantisation methods in config.json that lathe does not read, each with advice. */
static const struct {
        const char *method, *name, *advice;
} packing_table[] = {
        {"bitsandbytes", "bitsandbytes",
         "import the files before quantisation; transformers writes them with dequantize() and "
         "save_pretrained()"},
        {"mlx", "MLX", "import the files before quantisation; mlx_lm.convert --dequantize writes them"},
};

static const char *packing_method(PublishedReading *r, Span *span)
{
        ConfigField *mlx = object_find(r->m.root, intern(&r->names, "quantization", -1)),
                    *other = object_find(r->m.root, intern(&r->names, "quantization_config", -1));
        ConfigField *f = mlx && mlx->value.kind == CONFIG_OBJECT ? mlx : other;
        if (!f || f->value.kind != CONFIG_OBJECT)
                return NULL;
        *span = f->span;
        const char *method = published_text(r, f->value.object, "quant_method");
        return *method ? method : f == mlx ? "mlx" : "an unnamed method";
}

/* Tested first, since such a file has other tensors than the model needs. */
static bool refuse_packed(PublishedReading *r)
{
        Span span = {0};
        const char *method = packing_method(r, &span), *name = method,
                   *advice = "import the files before quantisation, or a GGUF of the model";
        if (!method || quantization_is_read(method))
                return true;
        for (size_t i = 0; i < sizeof packing_table / sizeof *packing_table; i++)
                if (!strcmp(method, packing_table[i].method)) {
                        name = packing_table[i].name;
                        advice = packing_table[i].advice;
                }
        diag_error(&r->diag, span, "its weights are packed by %s, which lathe does not read", name);
        diag_hint(&r->diag, "%s", advice);
        return false;
}

static bool find_config(PublishedReading *r)
{
        struct stat s;
        Arena *arena = r->m.arena;
        if (!strcmp(r->source, "-"))
                return r->path = "-", true;
        if (stat(r->source, &s) != 0) {
                r->env_error = true;
                return published_refuse(r, "can't read %s: there is no such file or directory", r->source,
                                        NULL);
        }
        if (!S_ISDIR(s.st_mode)) {
                const char *slash = strrchr(r->source, '/'), *name = slash ? slash + 1 : r->source;
                r->path = r->source;
                if (!strcmp(name, "config.json"))
                        r->folder = folder_of(arena, r->source);
                const Format *format = format_of_file(r->source);
                r->gguf = text_ends_with(name, ".gguf") ? !format || !format->advice
                                                        : format && format->kind == FORMAT_GGUF;
                return r->gguf || !format || format->kind == FORMAT_JSON ||
                       refuse_format(r, r->source, format);
        }
        r->folder = text_ends_with(r->source, "/") ? r->source : arena_printf(arena, "%s/", r->source);
        r->top = r->folder;
        if (!sentence_read(&r->m, &r->names, r->folder))
                return r->env_error = r->m.sentence.env_error, false;
        r->folder = arena_printf(arena, "%s%s", r->folder, r->m.sentence.backbone);
        r->path = arena_printf(arena, "%sconfig.json", r->folder);
        if (is_there(r, "adapter_config.json"))
                return published_refuse(
                        r,
                        "%sadapter_config.json: an adapter (LoRA) holds changes to another model's weights",
                        r->folder,
                        "pass its model, and the adapter by --lora: lathe run MODEL --lora ADAPTER");
        if (is_there(r, "model_index.json"))
                return published_refuse(r, "%smodel_index.json: a pipeline of diffusers is several models",
                                        r->folder, "import one of its folders, such as transformer/");
        if (!is_there(r, "config.json"))
                return published_refuse(r, "%s has no config.json",
                                        *r->m.sentence.backbone ? r->folder : r->source,
                                        "expected the files of a repository as they are published");
        return true;
}

/* ---- JSON files ---- */

static const Source *read_json_source(PublishedReading *r, const char *path)
{
        const char *why = NULL;
        const Source *source = read_source(r->m.arena, path, &why);
        const Format *format = source ? format_of((const unsigned char *)source->text, source->length) : NULL;
        if (format && format->advice)
                return refuse_format(r, path, format), NULL;
        if (source)
                return source;
        r->env_error = true;
        published_refuse(r, "can't read %s", arena_printf(r->m.arena, "%s: %s", path, why), NULL);
        return NULL;
}

/* A file's value, which must have a kind. */
static bool published_value(PublishedReading *r, const char *path, ConfigKind kind, ConfigValue *value)
{
        const Source *source = read_json_source(r, path);
        if (!source || !json_read(r->m.arena, &r->names, &r->diag, source, value))
                return false;
        if (value->kind != kind)
                diag_error(&r->diag, (Span){source, 0, 1}, "expected %s here",
                           kind == CONFIG_OBJECT ? "an object of keys, { … }," : "a list, [ … ],");
        return value->kind == kind;
}

static bool read_object(PublishedReading *r, const char *path, ConfigObject **object)
{
        ConfigValue v = {0};
        bool good = published_value(r, path, CONFIG_OBJECT, &v);
        *object = good ? v.object : NULL;
        return good;
}

static void add_beside(PublishedReading *r, const char *key, ConfigValue value)
{
        ConfigObject *o = r->m.beside;
        o->field[o->n++] = (ConfigField){.key = intern(&r->names, key, -1), .value = value, .seen = true};
}

static bool read_beside(PublishedReading *r)
{
        ConfigValue generation = {0}, preprocessor = {0};
        ConfigObject *beside = r->m.beside = NEW(r->m.arena, ConfigObject);
        if (r->folder && is_there(r, "generation_config.json") &&
            !published_value(r, arena_printf(r->m.arena, "%sgeneration_config.json", r->folder),
                             CONFIG_OBJECT, &generation))
                return false;
        if (r->folder && is_there(r, "preprocessor_config.json") &&
            !published_value(r, arena_printf(r->m.arena, "%spreprocessor_config.json", r->folder),
                             CONFIG_OBJECT, &preprocessor))
                return false;
        if (r->folder && tokenizer_is_in(r->m.arena, *r->folder ? r->folder : "."))
                r->m.tokenizer = *r->folder ? r->folder : ".";
        beside->field = NEW_ARRAY(r->m.arena, ConfigField, 2);
        if (generation.kind == CONFIG_OBJECT)
                add_beside(r, "generation_config", generation);
        if (preprocessor.kind == CONFIG_OBJECT)
                add_beside(r, "preprocessor", preprocessor);
        return true;
}

/* first: the checkpoint of the model for which a head drafts; NULL: none */
static bool open_weights_beside(PublishedReading *r, const char *first)
{
        CkError error;
        if (!r->folder)
                return true;
        if (holds_other_weights_alone(r))
                return false;
        if (!file_that_ends(r, ".safetensors") && !file_that_ends(r, ".safetensors.index.json"))
                return true;
        const char *all = r->top ? r->top : r->folder;
        all = *all ? all : ".";
        r->m.tensors = checkpoint_open(first ? arena_printf(r->m.arena, "%s,%s", all, first) : all, &error);
        if (r->m.tensors)
                return true;
        r->env_error = error.environment;
        return published_refuse(r, "%s", error.message, NULL);
}

/* A GGUF contains the configuration, in place of config.json, and the weights. */
static bool read_gguf(PublishedReading *r)
{
        CkError error;
        r->m.gguf = true;
        r->m.beside = NEW(r->m.arena, ConfigObject);
        r->m.beside->field = NEW(r->m.arena, ConfigField);
        r->m.tensors = checkpoint_open(r->path, &error);
        if (r->m.tensors)
                return pairs_read(r->m.arena, &r->names, &r->diag, r->m.tensors, &r->m.root,
                                  &r->m.architecture) &&
                       sentence_of_gguf(&r->m, &r->names);
        r->env_error = error.environment;
        return published_refuse(r, "%s", error.message, NULL);
}

/* ---- the item ---- */

/* The object at a path, whose last name may be a key with another value: then the object that has the key.  *depth: names
 * up to the object.  NULL: not present. */
static ConfigObject *at_path(const Import *m, const Ast *source, int *depth)
{
        ConfigObject *o = m->root;
        for (*depth = 0; o && *depth < source->nkid; (*depth)++) {
                ConfigField *f = object_find(o, source->kid[*depth]->name);
                const bool is_object = f && f->value.kind == CONFIG_OBJECT;
                if (f && !is_object && f->value.kind != CONFIG_NONE && *depth == source->nkid - 1)
                        return o;
                o = is_object ? f->value.object : NULL;
        }
        return o;
}

typedef struct {
        const Ast *item, *source;
        File *file;
        int fitting;          /* items with the longest path that is present */
        const Ast *elsewhere; /* item with the architecture whose path is missing */
} ItemChoice;

static void consider(PublishedReading *r, ItemChoice *c, const Ast *item, File *file)
{
        for (int i = 0; i < item->kid[2]->nkid; i++) {
                const Ast *source = item->kid[2]->kid[i];
                if (strcmp(source->name, r->m.architecture) != 0)
                        continue;
                int depth;
                if (!at_path(&r->m, source, &depth)) {
                        c->elsewhere = source;
                        continue;
                }
                if (c->source && source->nkid < c->source->nkid)
                        continue;
                c->fitting = c->source && source->nkid == c->source->nkid ? c->fitting + 1 : 1;
                *c = (ItemChoice){item, source, file, c->fitting, c->elsewhere};
        }
}

static bool names_family(const Ast *e)
{
        bool found = e->kind == AST_STATED && e->kid[0];
        for (int i = 0; i < e->nkid && !found; i++)
                found = e->kid[i] && names_family(e->kid[i]);
        return found;
}

/* Whether an item, or an ancestor, states a model; others only give the reason why there is none. */
static bool item_has_family(Program *p, const Ast *item)
{
        File *file;
        item_read(p, item);
        for (int depth = 0; item && depth < MAX_ITEM_CHAIN; depth++) {
                if (names_family(item->kid[1]))
                        return true;
                item = item->kid[0] ? config_find(p, item->kid[0]->name, &file) : NULL;
        }
        return false;
}

static void hint_architectures(PublishedReading *r)
{
        const char *name[1024];
        int n = 0;
        Program *p = r->m.program;
        for (int i = 0; i < p->nfile; i++)
                for (int k = 0; k < p->file[i]->tree->nkid; k++) {
                        const Ast *item = p->file[i]->tree->kid[k];
                        bool known = item->kind == AST_CONFIG && item_has_family(p, item);
                        for (int a = 0; known && a < item->kid[2]->nkid && n < 1024; a++)
                                name[n++] = item->kid[2]->kid[a]->name;
                }
        const char *text = NULL, *near;
        for (int shown = 0; shown < 3 && (near = nearest_name(r->m.architecture, name, n)); shown++) {
                text = text ? arena_printf(r->m.arena, "%s, %s", text, near) : near;
                for (int i = 0; i < n; i++)
                        if (!strcmp(name[i], near))
                                name[i--] = name[--n];
        }
        if (text)
                diag_hint(&r->diag, "near it are: %s", text);
        diag_hint(&r->diag, "pass an item of your own after the source: lathe import SOURCE ITEMS.model");
}

/* Replaces the item by the one of its head: NAME_HEAD. */
static bool choose_head(PublishedReading *r, ItemChoice *c, Span where)
{
        const char *name = r->head ? arena_printf(r->m.arena, "%s_%s", c->item->name, r->head) : NULL;
        File *file;
        const Ast *item = name ? config_find(r->m.program, intern(&r->names, name, -1), &file) : NULL;
        if (name && !item)
                config_error(&r->m, where, "%s has no head %s: there is no config %s", r->m.architecture,
                             r->head, name);
        if (item)
                *c = (ItemChoice){item, c->source, file, 1, NULL};
        return !r->m.failed;
}

static bool choose_item(PublishedReading *r, Span where)
{
        ItemChoice c = {0};
        Program *p = r->m.program;
        for (int i = 0; i < p->nfile; i++)
                for (int k = 0; k < p->file[i]->tree->nkid; k++)
                        if (p->file[i]->tree->kid[k]->kind == AST_CONFIG)
                                consider(r, &c, p->file[i]->tree->kid[k], p->file[i]);
        if (!c.item && c.elsewhere) {
                config_error(&r->m, where, "%s has its keys in %s, which does not exist", r->m.architecture,
                             c.elsewhere->kid[0]->name);
        } else if (!c.item) {
                config_error(&r->m, where, "no config item for %s", r->m.architecture);
                hint_architectures(r);
        } else if (c.fitting > 1) {
                config_error(&r->m, c.item->name_span, "two config items for %s", r->m.architecture);
        }
        if (r->m.failed || !choose_head(r, &c, where))
                return false;
        int depth;
        r->m.inner = at_path(&r->m, c.source, &depth);
        for (int i = 0; i < depth; i++)
                paths_add(r->m.arena, &r->m.path, c.source->kid[i]->name);
        return import_chain(&r->m, c.item, c.file);
}

static bool find_architecture(PublishedReading *r)
{
        if (r->gguf)
                return choose_item(r, (Span){0});
        ConfigField *f = object_find(r->m.root, intern(&r->names, "architectures", -1));
        ConfigValue first = f && f->value.kind == CONFIG_LIST && f->value.list->n ? f->value.list->item[0]
                                                                                  : (ConfigValue){0};
        r->m.architecture = first.kind == CONFIG_TEXT ? first.text : NULL;
        if (r->m.architecture && r->m.sentence.is_colbert && !strcmp(r->m.architecture, "HF_ColBERT"))
                r->m.architecture = "BertModel"; /* the weight linear.weight is that of a module */
        if (!f && object_find(r->m.root, intern(&r->names, "frozen", -1))) {
                r->m.architecture = "SparseStaticEmbedding"; /* the folder of this module, which names none */
                r->m.sentence.limit = limit_of_tokenizer(r->m.arena, r->folder ? r->folder : "");
        }
        if (r->m.architecture)
                return choose_item(r, f ? f->span : (Span){0});
        diag_error(&r->diag, f ? f->span : (Span){0}, "%s names no architecture", r->path);
        diag_hint(&r->diag, "\"architectures\": [\"LlamaForCausalLM\"], for example: model_type does not "
                            "specify the head");
        return false;
}

/* ---- the name ---- */

static bool is_word_of_language(PublishedReading *r, const char *name)
{
        Diag quiet = {.arena = r->m.arena};
        Ast *tree = NULL;
        char *text = arena_printf(r->m.arena, "%s = 1", name);
        Source *source = source_new(r->m.arena, "name", text, (int32_t)strlen(text));
        return parse_lines(r->m.arena, &r->names, &quiet, source, &tree) != PARSE_COMPLETE;
}

/* A valid name of the language that is not defined by the library. */
static const char *model_name(PublishedReading *r, const char *name)
{
        char *text = arena_strdup(r->m.arena, *name ? name : "imported");
        for (char *c = text; *c; c++)
                if (!((*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z')))
                        *c = '_';
        if (*text >= '0' && *text <= '9')
                text = arena_printf(r->m.arena, "m_%s", text);
        if (is_word_of_language(r, text) || library_has(&r->m, intern(&r->names, text, -1)))
                text = arena_printf(r->m.arena, "%s_model", text);
        return text;
}

/* Name of the directory, or of the file without its suffix. */
static const char *name_of_source(PublishedReading *r)
{
        Arena *arena = r->m.arena;
        if (!strcmp(r->path, "-"))
                return "imported";
        const char *folder = r->top ? r->top : r->folder;
        char *path = folder ? realpath(*folder ? folder : ".", NULL) : NULL;
        const char *whole = path ? arena_strdup(arena, path) : r->path, *slash = strrchr(whole, '/');
        free(path);
        const char *name = slash ? slash + 1 : whole;
        return !r->folder && (text_ends_with(name, ".gguf") || text_ends_with(name, ".json"))
                       ? arena_strndup(arena, name, (int64_t)strlen(name) - 5)
                       : name;
}

/* ---- main function ---- */

/* The library's items, preceded by those of a file. */
static Program *load_items(PublishedReading *r, const char *items)
{
        Arena *arena = r->m.arena;
        Ast *import = ast_new(arena, AST_IMPORT, (Span){0}, 0);
        Program *p = items ? program_load(arena, &r->names, &r->diag, items, NULL)
                           : program_empty(arena, &r->names, &r->diag);
        import->name = intern(&r->names, r->gguf ? "gguf_items" : "huggingface", -1);
        if (p && !r->diag.count)
                program_import(p, "", import);
        return p && !r->diag.count ? p : NULL;
}

static bool read_all_files(PublishedReading *r, const char *items, const char *first)
{
        return find_config(r) &&
               (r->gguf ? read_gguf(r)
                        : read_object(r, r->path, &r->m.root) && refuse_packed(r) && read_beside(r) &&
                                  open_weights_beside(r, first)) &&
               (r->m.inner = r->m.root, r->m.program = load_items(r, items)) != NULL;
}

static void note_missing_weights(const PublishedReading *r)
{
        if (r->m.asked_tensors && !r->m.tensors)
                fprintf(stderr,
                        "lathe: note: there are no weights beside %s; names of tensors are assumed to be the "
                        "defaults\n",
                        r->path);
}

Spec import_spec(Arena *arena, const CommandOptions *o, const char *source, const char *items,
                 const char *name)
{
        PublishedReading r = {
                .source = source,
                .head = o->source.head,
                .m = {.arena = arena, .ends = {-1, -1}, .begin = -1, .sentence = {.backbone = ""}}};
        Paths forced = {0};
        Spec spec = {0};
        r.names.arena = r.diag.arena = arena;
        r.diag.limit = 1000;
        r.m.diag = &r.diag;
        bool good = read_all_files(&r, items, o->first_weights) && find_architecture(&r) &&
                    import_run(&r.m, o->override, o->noverride);
        if (good && r.m.sentence.is_there)
                good = sentence_state(&r.m);
        if (good && r.m.sentence.is_scored)
                good = sentence_state_score(&r.m);
        if (good)
                good = spec_complete(&r.m);
        if (good)
                good = strict_keys(&r.m, r.path, o->given[OPT_FORCE], &forced);
        if (good && r.gguf)
                add_beside(&r, "generation_config", gguf_generation(&r.m));
        if (good && (r.folder || r.gguf) && !r.m.sentence.is_there &&
            family_generates(&r.m, family_find(&r.m, r.m.family->name)))
                conversation_read(&r.m, r.folder);
        if (good) {
                const char *whole = name ? name : name_of_source(&r);
                spec.model =
                        model_name(&r, r.head && !name ? arena_printf(arena, "%s_%s", whole, r.head) : whole);
                spec.text = spec_print(&r.m, spec.model, r.path, &forced);
                spec.text = context_bounded(&r.m, spec.model, spec.text, r.path, &forced);
                spec.item = r.m.item->name;
                spec.family = r.m.family->name;
                spec.architecture = r.m.architecture;
                const char *all = r.top ? r.top : r.folder ? r.folder : "";
                spec.weights = !r.m.tensors ? NULL : r.gguf ? r.path : *all ? all : ".";
                spec.tokenizer = *r.m.sentence.backbone ? r.m.tokenizer : NULL;
                spec.chat = !r.m.chat ? NULL : r.gguf ? r.path : *r.folder ? r.folder : ".";
                spec.chat_fault = r.m.chat_fault;
                spec.sampling = r.m.sampling;
                note_missing_weights(&r);
                const char *note =
                        r.m.tensors && !o->quant && !o->weights ? scaled_note(arena, r.m.tensors) : NULL;
                if (note)
                        fprintf(stderr, "lathe: note: %s\n", note);
        }
        diag_print(&r.diag, stderr);
        if (r.diag.count)
                spec.text = NULL;
        spec.env_error = r.env_error;
        checkpoint_close(r.m.tensors);
        return spec;
}

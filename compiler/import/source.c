/* A published model in place of a model file: the model is converted in memory; weights and tokenizer are
 * the source's. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "import.h"
#include "run/run.h"

static bool gguf_has_tokenizer(const char *path)
{
        CkError error;
        Checkpoint *file = checkpoint_open(path, &error);
        bool has = file && checkpoint_pair(file, "tokenizer.ggml.model");
        checkpoint_close(file);
        return has;
}

static bool has_tokenizer(Arena *arena, const char *source)
{
        if (path_is_folder(source))
                return tokenizer_is_in(arena, source);
        const Format *format = format_of_file(source);
        return format && format->kind == FORMAT_GGUF && gguf_has_tokenizer(source);
}

static const TokenBlock *published_tables(Arena *arena, const CommandOptions *o, const char *source,
                                          const char *name)
{
        const TokenBlock *tables;
        if (!has_tokenizer(arena, source))
                return NULL;
        const char *why = source_tables(arena, o, source, name, &tables);
        if (why)
                fprintf(stderr, "lathe: note: %s; text goes in and out as token numbers\n", why);
        return why ? NULL : tables;
}

void source_tokenizer(Arena *arena, CommandOptions *o, const char *source, const char *name)
{
        o->source.tables = published_tables(arena, o, source, name);
        o->tokenizer = o->source.tables ? source : NULL;
}

bool is_source(const char *path)
{
        size_t n = strlen(path);
        if (!strcmp(path, "-") || (n > 6 && !strcmp(path + n - 6, ".model")))
                return false;
        return path_is_folder(path) || format_of_file(path);
}

/* Whether it is a shard other than the first: NAME-00002-of-00003.gguf */
static bool source_is_later_shard(const char *name)
{
        const char *of = strstr(name, "-of-");
        return of && of - name >= 6 && of[-6] == '-' && strncmp(of - 5, "00001", 5) != 0;
}

const char *source_file(Arena *arena, const char *path)
{
        DIR *folder = path_is_folder(path) ? opendir(path) : NULL;
        const char *found = NULL;
        int n = 0;
        bool others = false;
        for (struct dirent *d; folder && (d = readdir(folder));) {
                others |= text_ends_with(d->d_name, ".safetensors") ||
                          text_ends_with(d->d_name, ".safetensors.index.json");
                if (!text_ends_with(d->d_name, ".gguf") || source_is_later_shard(d->d_name))
                        continue;
                found = arena_printf(arena, "%s%s%s", path, text_ends_with(path, "/") ? "" : "/", d->d_name);
                n++;
        }
        if (folder)
                closedir(folder);
        return n == 1 && !others ? found : path;
}

/* Rejects a published model without weights, whose results would be random. */
static bool source_has_numbers(const CommandOptions *o, const Spec *spec, SourceParts parts)
{
        if (!parts.wants || o->weights || spec->weights || o->given[OPT_RANDOM])
                return true;
        fprintf(stderr,
                "lathe: %s has no weights (*.safetensors, or one .gguf); --weights FILE takes others, and "
                "--random "
                "makes them by a hash of their names\n",
                o->file[0]);
        return false;
}

/* False after a message, with *code. */
static bool random_has_effect(const CommandOptions *o, const char *why, int *code)
{
        if (!o->given[OPT_RANDOM])
                return true;
        fprintf(stderr,
                "lathe: --random has no effect: it is for a published model without weights, and %s %s\n",
                o->file[0], why);
        *code = WRONG_USAGE;
        return false;
}

bool source_open(Arena *arena, CommandOptions *o, SourceParts parts, int *code)
{
        if (!o->nfile || o->source.path)
                return true;
        if (!is_source(o->file[0]))
                return random_has_effect(o, "is a model file", code);
        CommandOptions plain = *o;
        plain.noverride = 0; /* they are for the converted model */
        options_set_model(arena, o, source_file(arena, o->file[0]));
        Spec spec = import_spec(arena, &plain, o->file[0], NULL, o->model);
        *code = spec.env_error ? WRONG_ENVIRONMENT : WRONG_INPUT;
        if (!spec.text || !source_has_numbers(o, &spec, parts) ||
            (spec.weights && !random_has_effect(o, "has weights", code)))
                return false;
        o->source.path = o->file[0];
        o->file[0] = spec.model;
        o->source.text = spec.text;
        o->source.chat = spec.chat;
        o->source.chat_fault = spec.chat_fault;
        o->source.sampling = spec.sampling;
        if (parts.weights && !o->weights)
                o->weights = spec.weights;
        if (parts.tokenizer && !o->tokenizer)
                source_tokenizer(arena, o, spec.tokenizer ? spec.tokenizer : o->source.path,
                                 parts.kept ? spec.model : NULL);
        return true;
}

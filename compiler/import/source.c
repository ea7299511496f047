/* A published model in place of a model file: the model is made in memory, its weights and tokenizer are those of the source. */
#include <stdio.h>
#include <sys/stat.h>

#include "import.h"
#include "run/run.h"

static bool is_directory(const char *path)
{
        struct stat about;
        return !stat(path, &about) && S_ISDIR(about.st_mode);
}

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
        if (is_directory(source))
                return tokenizer_is_in(arena, source);
        const Format *format = format_of_file(source);
        return format && format->kind == FORMAT_GGUF && gguf_has_tokenizer(source);
}

static const TokenBlock *tables_of(Arena *arena, const Options *o, const char *source, const char *name)
{
        const TokenBlock *tables;
        if (!has_tokenizer(arena, source))
                return NULL;
        const char *why = source_tables(arena, o, source, name, &tables);
        if (why)
                fprintf(stderr, "lathe: note: %s; text goes in and out as token numbers\n", why);
        return why ? NULL : tables;
}

void source_tokenizer(Arena *arena, Options *o, const char *source, const char *name)
{
        o->tables = tables_of(arena, o, source, name);
        o->tokenizer = o->tables ? source : NULL;
}

bool is_source(const char *path)
{
        size_t n = strlen(path);
        if (!strcmp(path, "-") || (n > 6 && !strcmp(path + n - 6, ".model")))
                return false;
        return is_directory(path) || format_of_file(path);
}

bool source_open(Arena *arena, Options *o, SourceParts parts, int *code)
{
        if (!o->nfile || o->source || !is_source(o->file[0]))
                return true;
        Options plain = *o;
        plain.noverride = 0; /* they are for the model */
        Spec spec = import_spec(arena, &plain, o->file[0], NULL, o->model);
        *code = spec.lacking ? WRONG_ENVIRONMENT : WRONG_INPUT;
        if (!spec.text)
                return false;
        o->source = o->file[0];
        o->file[0] = spec.model;
        o->text = spec.text;
        if (parts.weights && !o->weights)
                o->weights = spec.weights;
        if (parts.tokenizer && !o->tokenizer)
                source_tokenizer(arena, o, o->source, parts.kept ? spec.model : NULL);
        return true;
}

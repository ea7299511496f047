/* embed: a program that runs during the build, and writes build/embedded.c.
 *
 *   embed FILE… > embedded.c
 *
 * Files become C strings.  For headers, those of the runtime, it also writes tables of chunks, of the
 * words in each and of the names that each declares, so that paste.c and c_names.c need not parse them for
 * each model. */
#include "base/base.h"

#include <stdlib.h>

enum { MAX_FILES = 256, MAX_CHUNKS = 1 << 14, MAX_USES = 1 << 18, MAX_LETTERS = 1 << 18, MAX_TEXT = 1 << 20 };

static EmbeddedWord word[EMBEDDED_WORDS];
static char letters[MAX_LETTERS];
static EmbeddedChunk chunk[MAX_CHUNKS];
static int use[MAX_USES], declared[MAX_USES]; /* declared: pairs of a word's index and a chunk */
static int words, nletters, nchunk, nuse, ndeclared;

static void embed_fail(const char *what)
{
        fprintf(stderr, "embed: %s\n", what);
        exit(1);
}

/* Index of a new element. */
static int next_of(int *n, int most)
{
        if (*n == most)
                embed_fail("a table is too small");
        return (*n)++;
}

static int word_index(const char *name, int64_t n)
{
        int at = word_slot(word, letters, name, n);
        if (word[at].n)
                return at;
        if (words++ > EMBEDDED_WORDS / 2 || nletters + n >= MAX_LETTERS)
                embed_fail("too many words");
        word[at] = (EmbeddedWord){.at = nletters, .n = (int)n};
        memcpy(letters + nletters, name, (size_t)n);
        nletters += (int)n;
        return at;
}

/* --- words ----------------------------------------------------------------------------------------------------- */

/* Whether the name is at the end of a typedef: "} v16;" or "typedef __m512 v16;" */
static bool ends_typedef(const char *text, const char *at, int64_t n)
{
        if (at[n] != ';' || at - text < 2 || at[-1] != ' ')
                return false;
        const char *line = at;
        while (line > text && line[-1] != '\n')
                line--;
        return at[-2] == '}' || !strncmp(line, "typedef ", 8);
}

/* Whether the name looks like a macro: "NULL", "TILE_ROWS" */
static bool is_capital(const char *at, int64_t n)
{
        for (int64_t i = 0; i < n; i++)
                if (at[i] >= 'a' && at[i] <= 'z')
                        return false;
        return n > 1 && (at[0] < '0' || at[0] > '9');
}

static void gather_words(const char *text)
{
        CScan s = {.at = text, .end = text + strlen(text)};
        const char *at;
        int64_t n;
        while ((at = next_name(&s, &n))) {
                if (at > text && at[-1] == '$') /* the model's own */
                        continue;
                EmbeddedWord *w = &word[word_index(at, n)];
                w->named = true;
                w->outer = w->outer || *s.at == '(' || is_capital(at, n) || ends_typedef(text, at, n);
        }
}

/* --- chunks ---------------------------------------------------------------------------------------------------- */

static bool has_condition(const CChunk *c)
{
        for (const char *at = c->text; at < c->text + c->n; at++)
                if (!strncmp(at, "#if", 3) && (at == c->text || at[-1] == '\n'))
                        return true;
        return false;
}

static void add_chunk(const char *text, const CChunk *c, int file)
{
        int number = next_of(&nchunk, MAX_CHUNKS), before = ndeclared;
        EmbeddedChunk *to = &chunk[number];
        *to = (EmbeddedChunk){.at = (int)(c->text - text),
                              .n = (int)c->n,
                              .file = file,
                              .use = nuse,
                              .comment_only = c->comment_only,
                              .conditional = has_condition(c)};
        CScan all = {.at = c->text, .end = c->text + c->n};
        CDeclared d = {.text = "", .scan = all, .before = ""};
        const char *name;
        int64_t n;
        while ((name = next_name(&all, &n)))
                use[next_of(&nuse, MAX_USES)] = word_index(name, n);
        while ((name = next_declared(&d, &n))) {
                declared[next_of(&ndeclared, MAX_USES)] = word_index(name, n);
                declared[next_of(&ndeclared, MAX_USES)] = number;
        }
        to->uses = nuse - to->use;
        to->declares = ndeclared > before;
}

/* --- output ---------------------------------------------------------------------------------------------------- */

static void print_string(const char *text)
{
        putchar('"');
        for (const char *c = text; *c; c++) {
                if (*c == '\\' || *c == '"')
                        putchar('\\');
                if (*c == '\n')
                        fputs(c[1] ? "\\n\"\n\"" : "\\n", stdout);
                else
                        putchar(*c);
        }
        putchar('"');
}

static void print_file(const char *path, int file)
{
        static char text[MAX_TEXT];
        FILE *f = fopen(path, "r");
        size_t n = f ? fread(text, 1, sizeof text, f) : sizeof text;
        if (n == sizeof text)
                embed_fail(path);
        fclose(f);
        text[n] = 0;
        const char *slash = strrchr(path, '/'), *at = text;
        int first = nchunk;
        CChunk c;
        if (text_ends_with(path, ".h") || text_ends_with(path, ".json"))
                gather_words(text);
        while (text_ends_with(path, ".h") && next_chunk(&at, &c))
                add_chunk(text, &c, file);
        printf("{\"%s\",\n", slash ? slash + 1 : path);
        print_string(text);
        printf(", %d, %d},\n", first, nchunk - first);
}

/* Chunks sorted by the words that they declare: [ndeclared / 2] */
static void print_declarations(void)
{
        int n = 0;
        printf("const int embedded_declaration[] = {");
        for (int w = 0; w < EMBEDDED_WORDS; w++) {
                word[w].declaration = n;
                for (int i = 0; word[w].n && i < ndeclared; i += 2)
                        if (declared[i] == w)
                                printf("%s%d", n++ ? ", " : "", declared[i + 1]);
                word[w].declarations = n - word[w].declaration;
        }
        printf("};\n");
}

static void print_words(void)
{
        printf("const char embedded_words[] = \"%.*s\";\n", nletters, letters);
        printf("const EmbeddedWord embedded_word[EMBEDDED_WORDS] = {\n");
        for (int i = 0; i < EMBEDDED_WORDS; i++)
                if (word[i].n)
                        printf("[%d] = {%d, %d, %d, %d, %d, %d},\n", i, word[i].at, word[i].n,
                               word[i].declaration, word[i].declarations, word[i].outer, word[i].named);
        printf("};\n");
}

static void print_chunks(void)
{
        printf("const int embedded_chunks = %d;\nconst EmbeddedChunk embedded_chunk[] = {\n", nchunk);
        for (const EmbeddedChunk *c = chunk; c < chunk + nchunk; c++)
                printf("{%d, %d, %d, %d, %d, %d, %d, %d},\n", c->at, c->n, c->file, c->use, c->uses,
                       c->declares, c->comment_only, c->conditional);
        printf("};\nconst int embedded_use[] = {");
        for (int i = 0; i < nuse; i++)
                printf("%s%d", i ? ", " : "", use[i]);
        printf("};\n");
}

int main(int argc, char **argv)
{
        printf("#include \"base/base.h\"\nconst EmbeddedFile embedded_file[] = {\n");
        for (int i = 1; i < argc; i++)
                print_file(argv[i], i - 1);
        printf("{0, 0, 0, 0}};\n");
        print_declarations();
        print_words();
        print_chunks();
        return ferror(stdout) || fflush(stdout);
}

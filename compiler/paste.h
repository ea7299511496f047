/* The runtime's text, and the choice of what an emitted file needs of it. */
#ifndef PASTE_H
#define PASTE_H
#include "text.h"

typedef struct {
        const char *name; /* "matmul.h", "decoder.model" */
        const char *text;
} EmbeddedFile;

/* made from runtime/ and models/lib/ when lathe is built; ends with a NULL name */
extern const EmbeddedFile embedded_file[];
const char *embedded_text(const char *name);

/* The first identifier from *at on, [*n], outside of comments and strings; *at moves behind it.  NULL: there is none. */
const char *next_identifier(const char **at, const char *end, int64_t *n);

/* Adds to `out`, in order, the declarations of the named runtime files (NULL at the end) that `user` needs, or that these
 * need.  given: a text that will stand before them, whose own declarations take the place of theirs; or NULL. */
void paste_runtime(Text *out, const char *const *files, const char *given, const char *user);

/* Adds `text` with every name that it declares at the outermost level given a suffix: a second copy beside the first. */
void paste_renamed(Text *out, const char *text, const char *suffix);
#endif

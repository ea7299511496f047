#include "base.h"

#include <stddef.h>
#include <string.h>

const EmbeddedFile *embedded_find(const char *name)
{
        for (const EmbeddedFile *f = embedded_file; f->name; f++)
                if (!strcmp(f->name, name))
                        return f;
        return NULL;
}

const char *embedded_text(const char *name)
{
        const EmbeddedFile *f = embedded_find(name);
        return f ? f->text : NULL;
}

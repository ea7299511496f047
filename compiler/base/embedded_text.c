#include "base.h"

#include <stddef.h>
#include <string.h>

const char *embedded_text(const char *name)
{
        for (const EmbeddedFile *f = embedded_file; f->name; f++)
                if (!strcmp(f->name, name))
                        return f->text;
        return NULL;
}

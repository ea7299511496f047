/* The library in the language (models/lib/), built in, so that `import decoder` works without an installed folder. */
#include <string.h>

#include "elaborate_private.h"

/* The module as a source named lib/NAME.model, or NULL. */
const Source *library_source(Arena *arena, const char *name)
{
        const char *text = embedded_text(arena_printf(arena, "%s.model", name));
        if (!text)
                return NULL;
        Source *source =
                source_new(arena, arena_printf(arena, "lib/%s.model", name), text, (int32_t)strlen(text));
        source->library = true;
        return source;
}

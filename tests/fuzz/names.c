/* What is said on a command line in the language's words, for small.model: lines of --tap, and of -D where they have a =. */
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "harness.h"
#include "tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        char *text = harness_text(data, size);
        Model m;
        CommandOptions o;
        int code;
        options_begin(&o);
        for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
                char *equals = strchr(line, '=');
                if (equals && equals > line && o.noverride < MAX_OVERRIDES) {
                        *equals = 0;
                        o.override[o.noverride++] = (Override){line, equals + 1, NULL};
                } else if (!equals && o.tap.n < MAX_TAPS) {
                        o.tap.at[o.tap.n++] = line;
                }
        }
        harness_listen();
        bool good = model_open(&m, harness_small_path(), &code) && model_elaborate(&m, &o, NULL) &&
                    model_passes(&m, &o) && model_plan(&m, &o, target_find("scalar"));
        harness_heard_why(!good);
        model_free(&m);
        free(text);
        return 0;
}

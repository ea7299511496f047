/* Reports of golden checks for programs: JUnit's XML, one testcase per check, and JSON. */
#include "check.h"

#include <string.h>

static void xml(Text *t, const char *text)
{
        for (; *text; text++)
                switch (*text) {
                case '&': text_add(t, "&amp;", 5); break;
                case '<': text_add(t, "&lt;", 4); break;
                case '>': text_add(t, "&gt;", 4); break;
                case '"': text_add(t, "&quot;", 6); break;
                default: /* of the control characters, XML has only these two and a carriage return */
                        text_add(t, (unsigned char)*text < ' ' && *text != '\n' && *text != '\t' ? "?" : text,
                                 1);
                }
}

const char *golden_how(const GoldenCheck *c)
{
        return c->when == AHEAD_OF_TIME ? "cc" : c->jit == JIT_CODE ? "code" : "tcc";
}

bool golden_junit(const char *path, const GoldenCheck *check, int n)
{
        char line[4096];
        Arena arena = {0};
        Text *t = text_new(&arena);
        int failed = 0, skipped = 0;
        for (int i = 0; i < n; i++) {
                failed += check[i].code != DONE;
                skipped += check[i].lack != NULL;
        }
        text_printf(
                t,
                "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"lathe golden\" tests=\"%d\" "
                "skipped=\"%d\" failures=\"%d\">\n",
                n, skipped, failed);
        for (int i = 0; i < n; i++) {
                text_printf(t, "  <testcase classname=\"");
                xml(t, check[i].path);
                text_printf(t, "\" name=\"%s %s\">", check[i].target->name, golden_how(&check[i]));
                if (check[i].lack) {
                        text_printf(t, "<skipped message=\"missing: ");
                        xml(t, check[i].lack);
                        text_printf(t, "\"/>");
                }
                if (check[i].code != DONE) {
                        text_printf(t, "<failure>");
                        if (check[i].said)
                                rewind(check[i].said);
                        while (check[i].said && fgets(line, sizeof line, check[i].said))
                                xml(t, line);
                        text_printf(t, "</failure>");
                }
                text_printf(t, "</testcase>\n");
        }
        text_printf(t, "</testsuite>\n");
        bool good = write_file(path, t->data, t->n);
        arena_free(&arena);
        return good;
}

/* The output lines of a check; invalid UTF-8 is "?". */
static json_t *lines_said(Arena *a, FILE *said)
{
        char line[4096];
        json_t *list = json_array();
        if (said)
                rewind(said);
        while (said && fgets(line, sizeof line, said))
                json_array_append_new(list, json_string(comment_text(a, line, (int64_t)strcspn(line, "\n"))));
        return list;
}

bool golden_json(const GoldenCheck *check, int n)
{
        Arena arena = {0};
        json_begin();
        json_t *list = json_array();
        for (int i = 0; i < n; i++) {
                const GoldenCheck *c = &check[i];
                const char *path = comment_text(&arena, c->path, (int64_t)strlen(c->path));
                json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:b, s:b, s:s?, s:i, s:o}", "file",
                                                      path, "target", c->target->name, "how", golden_how(c),
                                                      "passed", c->code == DONE && !c->lack, "skipped",
                                                      c->lack != NULL, "missing", c->lack, "code", c->code,
                                                      "said", lines_said(&arena, c->said)));
        }
        const bool good = json_write(list);
        if (!good)
                fprintf(stderr, "lathe: out of memory\n");
        arena_free(&arena);
        return good;
}

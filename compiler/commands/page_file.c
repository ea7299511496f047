/* The page: runtime/page.html with its placeholders replaced, followed by modules and weights in base64,
 * each with a length and a check, so that a truncated file is detected. */
#include <inttypes.h>
#include <string.h>

#include "commands_private.h"

static void add_base64(const PagePart *part, Text *to)
{
        static const char letter[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        const unsigned char *at = part->bytes;
        char line[4 * 1024];
        for (int64_t left = part->n; left > 0;) {
                int n = 0;
                for (; n < (int)sizeof line && left > 0; at += 3, left -= 3) {
                        const uint32_t three = (uint32_t)at[0] << 16 | (left > 1 ? (uint32_t)at[1] << 8 : 0) |
                                               (left > 2 ? at[2] : 0u);
                        line[n++] = letter[three >> 18];
                        line[n++] = letter[three >> 12 & 63];
                        line[n++] = left > 1 ? letter[three >> 6 & 63] : '=';
                        line[n++] = left > 2 ? letter[three & 63] : '=';
                }
                text_add(to, line, n);
        }
}

/* FNV-1a of 32 bits, which is fast in a script. */
static uint32_t check_of(const PagePart *part)
{
        const unsigned char *byte = part->bytes;
        uint32_t h = 0x811c9dc5;
        for (int64_t i = 0; byte && i < part->n; i++)
                h = (h ^ byte[i]) * 0x01000193;
        return h;
}

static void page_add_part(const char *name, const PagePart *part, Text *to)
{
        text_printf(to, ", \"%s\": {\"bytes\": %" PRId64 ", \"check\": %" PRIu32 "}", name, part->n,
                    check_of(part));
}

void page_say(Text *to, const char *name, const char *text)
{
        text_printf(to, ", \"%s\": \"", name);
        for (; *text; text++)
                text_printf(to, strchr("\"\\<", *text) || (unsigned char)*text < ' ' ? "\\u%04x" : "%c",
                            (unsigned)(unsigned char)*text);
        text_printf(to, "\"");
}

static void add_config(const Page *p, Text *to)
{
        text_printf(to, "{\"name\": \"%s\", \"kind\": \"%s\", \"version\": \"%s\"%s", p->name, p->kind,
                    LATHE_VERSION, p->settings);
        if (p->link)
                text_printf(to, ", \"link\": \"%s\"", p->link);
        page_add_part("relaxed", &p->relaxed, to);
        page_add_part("exact", &p->exact, to);
        page_add_part("weights", &p->weights, to);
        text_printf(to, "}");
}

static void page_add_data(const Page *p, Text *to)
{
        const PagePart *const part[] = {&p->relaxed, &p->exact, &p->weights};
        static const char *const name[] = {"relaxed", "exact", "weights"};
        for (int i = 0; i < 3; i++) {
                if (!part[i]->bytes)
                        continue;
                text_printf(to, "<script type=\"application/octet-stream\" id=\"%s\">", name[i]);
                add_base64(part[i], to);
                text_printf(to, "</script>\n");
        }
}

/* Content security policy: allows the page's own parts, and nothing from outside except separate weights.
 * A model's text could not load or send anything even if it became markup.  Workers made from a text
 * inherit the policy. */
static void add_policy(const Page *p, Text *to)
{
        text_printf(to,
                    "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; worker-src blob:; "
                    "style-src 'unsafe-inline'; connect-src %s; base-uri 'none'; form-action 'none'",
                    p->link ? "'self'" : "'none'");
        if (!strcmp(p->kind, "transcribe"))
                text_printf(to, "; media-src blob:");
}

static void page_word(const Page *p, const char *word, size_t n, Text *to)
{
        Arena *a = to->arena;
        if (!strncmp(word, "$policy", n))
                add_policy(p, to);
        else if (!strncmp(word, "$name", n))
                text_put(to, p->name);
        else if (!strncmp(word, "$about", n))
                text_put(to, p->about);
        else if (!strncmp(word, "$style", n))
                text_put(to, embedded_text("page.css"));
        else if (!strncmp(word, "$form", n))
                text_printf(to, "%s%s", embedded_text(arena_printf(a, "page_%s.html", p->kind)),
                            p->attends ? embedded_text("page_attention.html") : "");
        else if (!strncmp(word, "$config", n))
                add_config(p, to);
        else if (!strncmp(word, "$engine", n))
                text_put(to, embedded_text("page_engine.js"));
        else if (!strncmp(word, "$loader", n))
                text_put(to, embedded_text("page_loader.js"));
        else if (!strncmp(word, "$show", n))
                text_printf(to, "%s%s", p->attends ? embedded_text("page_attention.js") : "",
                            embedded_text(arena_printf(a, "page_%s.js", p->kind)));
        else if (!strncmp(word, "$data", n))
                page_add_data(p, to);
}

void page_text(const Page *page, Text *to)
{
        static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
        for (const char *at = embedded_text("page.html"); *at;) {
                size_t n = strcspn(at, "$");
                text_add(to, at, (int64_t)n);
                at += n;
                n = *at ? 1 + strspn(at + 1, letters) : 0;
                if (n)
                        page_word(page, at, n, to);
                at += n;
        }
}

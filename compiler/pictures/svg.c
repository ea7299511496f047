/* SVG elements, and the common style of all pictures. */
#include "pictures_private.h"

/* Names and numbers have a fixed-width font, so that their width is known. */
static const char style[] =
        "text { font-family: 'DejaVu Sans Mono', 'Liberation Mono', Menlo, Consolas, monospace; fill: #222 "
        "}\n"
        ".text { font-size: 11px } .small { font-size: 9px } .title { font-size: 15px; font-weight: bold }\n"
        ".bold { font-weight: bold } .grey { fill: #666 } .red { fill: #b02020 }\n"
        ".middle { text-anchor: middle } .end { text-anchor: end }\n"
        ".halo { paint-order: stroke; stroke: #fff; stroke-width: 4px; stroke-linejoin: round }\n"
        ".axis { stroke: #222; stroke-width: 1; fill: none } .grid { stroke: #e2e2e2; stroke-width: 1 }\n"
        ".box { stroke: #333; stroke-width: 0.8 } .mark { stroke: #222; stroke-width: 0.8 }\n"
        ".inner { stroke: #333; stroke-width: 0.8; stroke-dasharray: 3 2 }\n"
        ".frame { stroke: #999; stroke-width: 1 } .group { stroke: #888; stroke-width: 1 }\n"
        ".peak { stroke: #b02020; stroke-width: 1.5; stroke-dasharray: 6 3; fill: none }\n"
        ".wait { stroke: #b02020; stroke-width: 1.2 } .live { stroke: #6a3d9a; stroke-width: 1.8; fill: none "
        "}\n"
        ".roof { stroke: #222; stroke-width: 2; fill: none }\n"
        ".edge { stroke: #444; stroke-width: 1.2; fill: none } .tip { fill: #444 }\n";

void svg_begin(Text *t, double width, double height, const char *title)
{
        text_printf(
                t,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
                "%.0f\">\n<title>",
                width, height, width, height);
        svg_escape(t, title);
        text_printf(
                t,
                "</title>\n<style>\n%s</style>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                style);
}

void svg_end(Text *t)
{
        text_put(t, "</svg>\n");
}

/* Characters that are not valid in XML become question marks. */
void svg_escape(Text *t, const char *text)
{
        for (int32_t left = (int32_t)strlen(text), n; left > 0; left -= n, text += n) {
                uint32_t code = 0;
                n = decode_utf8(text, left, &code);
                if (n == 0 || (code < 0x20 && code != '\t' && code != '\n') || code == 0xfffe ||
                    code == 0xffff)
                        text_put(t, "?");
                else if (code == '&' || code == '<' || code == '>' || code == '"')
                        text_printf(t, "&#%u;", (unsigned)code);
                else
                        text_add(t, text, n);
                n = n ? n : 1;
        }
}

void svg_open(Text *t, const char *format, ...)
{
        va_list args;
        va_start(args, format);
        text_printf(t, "<g%s>", arena_vprintf(t->arena, format, args));
        va_end(args);
}

void svg_close(Text *t)
{
        text_put(t, "</g>\n");
}

void svg_box(Text *t, double x, double y, double width, double height, const char *classes, const char *fill,
             const char *title)
{
        text_printf(t, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" class=\"%s\" fill=\"%s\"",
                    x, y, width > 0 ? width : 0, height > 0 ? height : 0, classes, fill);
        if (!title) {
                text_put(t, "/>\n");
                return;
        }
        text_put(t, "><title>");
        svg_escape(t, title);
        text_put(t, "</title></rect>\n");
}

void svg_line(Text *t, double x0, double y0, double x1, double y1, const char *classes)
{
        text_printf(t, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n", x0, y0, x1,
                    y1, classes);
}

void svg_path(Text *t, const char *classes, const char *path)
{
        text_printf(t, "<path class=\"%s\" d=\"%s\"/>\n", classes, path);
}

void svg_text(Text *t, double x, double y, const char *classes, const char *text)
{
        text_printf(t, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, classes);
        svg_escape(t, text);
        text_put(t, "</text>\n");
}

void svg_text_up(Text *t, double x, double y, const char *classes, const char *text)
{
        text_printf(t, "<text transform=\"translate(%.1f %.1f) rotate(-90)\" class=\"%s\">", x, y, classes);
        svg_escape(t, text);
        text_put(t, "</text>\n");
}

double svg_width(const char *text, int size)
{
        int letters = 0;
        for (int i = 0; text[i]; i++)
                letters += (text[i] & 0xc0) != 0x80;
        return 0.602 * size * letters;
}

void svg_text_within(Text *t, double x, double y, double room, const char *classes, const char *text,
                     const char *shorter)
{
        const char *try[] = {text, text, shorter};
        for (int i = 0; i < 3; i++) {
                const int size = i ? SVG_SMALL : SVG_SIZE;
                if (svg_width(try[i], size) > room)
                        continue;
                svg_text(t, x, y, arena_printf(t->arena, "%s %s", i ? "small" : "text", classes), try[i]);
                return;
        }
}

/* --- kinds ------------------------------------------------------------------------------------------------------------ */

/* Distinguishable with most kinds of colour blindness (after Okabe and Ito, 2008), and light enough for
 * dark letters. */
const char *const kind_fill[KINDS] = {
        [KIND_PRODUCT] = "#7fb8e6", [KIND_ATTENTION] = "#f2b04c", [KIND_ELEMENTWISE] = "#9fd8a4",
        [KIND_SCAN] = "#e39ac0",    [KIND_CARRIED] = "#f3e57c",   [KIND_OTHER] = "#d0d0d0"};
static const char *const kind_text[KINDS] = {[KIND_PRODUCT] = "product",
                                             [KIND_ATTENTION] = "attention",
                                             [KIND_ELEMENTWISE] = "elementwise",
                                             [KIND_SCAN] = "scan",
                                             [KIND_CARRIED] = "carried from iteration to iteration",
                                             [KIND_OTHER] = "other"};

DrawnKind kind_of_kernel(const Kernel *k)
{
        switch (k->op) {
        case K_MATMUL:
        case K_ACTIVATION_MATMUL: return KIND_PRODUCT;
        case K_ATTENTION: return KIND_ATTENTION;
        case K_LOOP: return KIND_ELEMENTWISE;
        case K_SCAN: return KIND_SCAN;
        case K_SELECT:
        case K_ACTIVE:
        case K_FILL:
        case K_REPEAT: break;
        }
        return KIND_OTHER;
}

void svg_legend(Text *t, double x, double y, unsigned kinds)
{
        for (int i = 0; i < KINDS; i++) {
                if (!(kinds >> i & 1))
                        continue;
                svg_box(t, x, y - 9, 14, 10, "box", kind_fill[i], NULL);
                svg_text(t, x + 19, y, "text", kind_text[i]);
                x += 19 + svg_width(kind_text[i], SVG_SIZE) + 18;
        }
}

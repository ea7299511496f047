/* Chat templates: a template, a NUL, and the variables as JSON (left out: a conversation).  It is rendered and cut into pieces; what it
 * is refused with has words and a place.  What follows the NUL is read as an answer, too. */
#include "harness.h"

#include "chat/chat.h"

static const char usual[] =
        "{\"messages\": [{\"role\": \"system\", \"content\": \"Be kind.\"}, {\"role\": \"user\", "
        "\"content\": \" Hi \"},"
        " {\"role\": \"assistant\", \"content\": \"Hello.\"}, {\"role\": \"user\", \"content\": "
        "\"\xc3\xa9\xe4\xbd\xa0\"}],"
        " \"bos_token\": \"<s>\", \"eos_token\": \"</s>\", \"add_generation_prompt\": true, \"tools\": null,"
        " \"x\": [1, 2.5, {\"a\": [null, true]}, \"text\"]}";

static void check_fault(const ChatFault *fault)
{
        harness_require(fault->message && *fault->message, "refused without a word");
        harness_require(!fault->at.source ||
                                (fault->at.begin >= 0 && fault->at.begin <= fault->at.source->length),
                        "a fault outside of the template");
}

/* The text as an answer in the form of the template. */
static void read_answer(Arena *a, const ChatWriter *w, const char *text, size_t n)
{
        json_t *valid = json_stringn(text, n);
        const char *note;
        if (!valid || memchr(text, 0, n)) {
                json_decref(valid);
                return;
        }
        json_t *message = chat_read_answer(a, chat_answer_form(a, w), NULL, text, (int64_t)n, &note);
        harness_require(json_is_string(json_object_get(message, "content")), "an answer without a content");
        harness_require(!note || !json_object_get(message, "tool_calls"),
                        "calls of an answer that is not read");
        json_decref(message);
        json_decref(valid);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        const char *end = size ? memchr(data, 0, size) : NULL;
        size_t n = end ? (size_t)(end - (const char *)data) : size;
        json_t *variables = end ? json_loadb(end + 1, size - n - 1, 0, NULL) : NULL;
        if (!variables)
                variables = json_loads(usual, 0, NULL);
        Arena a = {0};
        ChatFault fault;
        ChatText text;
        ChatDate date = {2024, 7, 26};
        ChatTemplate *t = chat_parse(&a, "template", (const char *)data, (int64_t)n, &fault);
        if (!t || !chat_render(&a, t, variables, date, &text, &fault))
                check_fault(&fault);
        else
                harness_require(text.n <= CHAT_BYTES && text.text[text.n] == 0, "more text than allowed");
        if (t) {
                const ChatWriter w = chat_writer(&a, t, NULL, date);
                ChatPieces p = chat_cut(&a, &w);
                harness_require(p.reason || (p.user && p.answer && p.open && p.head), "a piece is missing");
                read_answer(&a, &w, end ? end + 1 : (const char *)data, end ? size - n - 1 : n);
        }
        json_decref(variables);
        arena_free(&a);
        return 0;
}

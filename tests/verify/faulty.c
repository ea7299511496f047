/* A driver with a planted fault: lathe, linked with --wrap, so that `lathe verify` calls these functions in place of the engine's
 * and the interpreter's.
 *
 * FAULT has pairs KEY=VALUE with a blank between two.  All conditions of a fault have to hold:
 *   interpreted=N    the N-th run of the interpreter, from 1 on; 0: none
 *   engine=N         the N-th engine that is made, from 1 on
 *   threads=N        the engine's threads, as set last
 *   at=N n=N first=N a call of the engine: the positions before it, those that it takes, the first whose outputs are wanted
 *   sequences=N      a call for a batch of so many sequences
 *   output=N wanted=N  the output that gets the fault, by default 0, and another one that the call must give
 *   rewound=N        how many times the engine has begun anew, from 1 on
 * and one of these says what becomes of the output's element `element`, by default the first:
 *   bit=1            its last bit is the other one
 *   nan=1            it is NaN
 *   plus=X           X is added
 *   later=1          0 times the call's last input is added
 *   error=TEXT       the call ends with this message */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run.h"

const char *__real_interpret(const Graph *g, const int64_t *size, const Tensor *input,
                             const WeightSource *weights, InterpState *state, Tensor *output);
const char *__wrap_interpret(const Graph *g, const int64_t *size, const Tensor *input,
                             const WeightSource *weights, InterpState *state, Tensor *output);
Engine *__real_engine_new(Plan *p, const float *weights, int threads, JitMode mode, const char **why);
Engine *__wrap_engine_new(Plan *p, const float *weights, int threads, JitMode mode, const char **why);
const char *__real_engine_set_threads(Engine *e, int threads);
const char *__wrap_engine_set_threads(Engine *e, int threads);
void __real_engine_forget(Engine *e);
void __wrap_engine_forget(Engine *e);
const char *__real_engine_advance(Engine *e, const EngineCall *call, int64_t n, int64_t first);
const char *__wrap_engine_advance(Engine *e, const EngineCall *call, int64_t n, int64_t first);
const char *__real_engine_forward(Engine *e, const EngineCall *call);
const char *__wrap_engine_forward(Engine *e, const EngineCall *call);
const char *__real_engine_batch(Engine *e, const EngineSequence *s, int sequences, const EngineCall *call);
const char *__wrap_engine_batch(Engine *e, const EngineSequence *s, int sequences, const EngineCall *call);

static const Graph *graph; /* of the newest engine */
static int64_t interpreted, engines, threads, rewound;

/* The text after KEY=, up to a blank; false: the key is not there. */
static bool fault_text(const char *key, char text[64])
{
        const size_t n = strlen(key);
        for (const char *at = getenv("FAULT"); at && *at; at += strcspn(at, " "), at += strspn(at, " "))
                if (!strncmp(at, key, n) && at[n] == '=') {
                        snprintf(text, 64, "%.*s", (int)strcspn(at + n + 1, " "), at + n + 1);
                        return true;
                }
        return false;
}

static int64_t fault_number(const char *key, int64_t otherwise)
{
        char text[64];
        return fault_text(key, text) ? strtoll(text, NULL, 10) : otherwise;
}

static bool fault_has(const char *key, int64_t value)
{
        return fault_number(key, value) == value;
}

/* The error that a fault asks for, or NULL. */
static const char *fault_error(void)
{
        static char text[64];
        return fault_text("error", text) ? text : NULL;
}

static double fault_plus(void)
{
        char text[64];
        return fault_text("plus", text) ? strtod(text, NULL) : 0;
}

static void spoil(float *x, double last_input)
{
        uint32_t bits;
        memcpy(&bits, x, sizeof bits);
        bits ^= (uint32_t)fault_number("bit", 0);
        memcpy(x, &bits, sizeof bits);
        *x = fault_number("nan", 0) ? NAN : *x + (float)fault_plus();
        if (fault_number("later", 0))
                *x += (float)(0 * last_input);
}

static const char *spoil_call(const EngineCall *call, int64_t at, int64_t n, int64_t first, int sequences)
{
        const int64_t output = fault_number("output", 0), wanted = fault_number("wanted", output);
        if (!getenv("FAULT") || fault_number("engine", 0) != engines || !fault_has("threads", threads) ||
            !fault_has("at", at) || !fault_has("n", n) || !fault_has("first", first) ||
            !fault_has("sequences", sequences) || !fault_has("rewound", rewound))
                return NULL;
        if (fault_error())
                return fault_error();
        const Type *type = &graph->input[0].type;
        const int64_t inputs = graph->past >= 0 ? n * type->dim[type->rank - 1].fixed : 1;
        if (call->output[output] && call->output[wanted])
                spoil(&call->output[output][fault_number("element", 0)],
                      type->dtype == REAL ? (double)((const float *)call->input[0])[inputs - 1] : 0);
        return NULL;
}

const char *__wrap_interpret(const Graph *g, const int64_t *size, const Tensor *input,
                             const WeightSource *weights, InterpState *state, Tensor *output)
{
        const bool faulty = fault_number("interpreted", 0) == ++interpreted;
        if (faulty && fault_error())
                return fault_error();
        const char *why = __real_interpret(g, size, input, weights, state, output);
        double *x =
                !why && faulty ? &output[fault_number("output", 0)].data[fault_number("element", 0)] : NULL;
        if (x)
                *x = fault_number("nan", 0) ? NAN : *x + fault_plus();
        return why;
}

Engine *__wrap_engine_new(Plan *p, const float *weights, int most, JitMode mode, const char **why)
{
        graph = p->graph;
        engines++;
        rewound = 0;
        return __real_engine_new(p, weights, most, mode, why);
}

const char *__wrap_engine_set_threads(Engine *e, int now)
{
        threads = now;
        return __real_engine_set_threads(e, now);
}

void __wrap_engine_forget(Engine *e)
{
        rewound++;
        __real_engine_forget(e);
}

const char *__wrap_engine_advance(Engine *e, const EngineCall *call, int64_t n, int64_t first)
{
        const int64_t at = engine_position(e);
        const char *error = __real_engine_advance(e, call, n, first);
        return error ? error : spoil_call(call, at, n, first, 0);
}

const char *__wrap_engine_forward(Engine *e, const EngineCall *call)
{
        const char *error = __real_engine_forward(e, call);
        return error ? error : spoil_call(call, 0, 0, 0, 0);
}

const char *__wrap_engine_batch(Engine *e, const EngineSequence *s, int sequences, const EngineCall *call)
{
        const char *error = __real_engine_batch(e, s, sequences, call);
        return error ? error : spoil_call(call, 0, 0, 0, sequences);
}

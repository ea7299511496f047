/* The hash of the logits of tale's first text, printed by semihosting on a machine without an operating system, else by stdio. */
#include <stddef.h>
#include <stdint.h>

#include "tale.h"

enum { STEPS = 40 };

#if defined(__arm__)
static intptr_t semihost(intptr_t number, const void *argument)
{
        register intptr_t r0 __asm__("r0") = number;
        register const void *r1 __asm__("r1") = argument;
        __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
        return r0;
}
#elif defined(__riscv)
static intptr_t semihost(intptr_t number, const void *argument)
{
        register intptr_t a0 __asm__("a0") = number;
        register const void *a1 __asm__("a1") = argument;
        __asm__ volatile(".option push\n.option norvc\n.balign 16\nslli x0, x0, 0x1f\nebreak\nsrai x0, x0, "
                         "7\n.option pop"
                         : "+r"(a0)
                         : "r"(a1)
                         : "memory");
        return a0;
}
#else
#include <stdio.h>
#include <stdlib.h>
#endif

static void print_text(const char *text)
{
#if defined(__arm__) || defined(__riscv)
        semihost(0x04, text); /* SYS_WRITE0 */
#else
        fputs(text, stdout);
#endif
}

static void leave(int status)
{
#if defined(__arm__)
        semihost(0x18, (const void *)(intptr_t)(status ? 0x20023 : 0x20026)); /* SYS_EXIT */
#elif defined(__riscv)
        const intptr_t block[2] = {0x20026, status};
        semihost(0x18, block);
#else
        exit(status);
#endif
}

/* As the runtime's hash_floats(). */
static uint64_t hash_logits(uint64_t h, const float *x, int n)
{
        for (int i = 0; i < n; i++) {
                union {
                        float value;
                        uint32_t bits;
                } u = {x[i]};
                for (int byte = 0; byte < 4; byte++)
                        h = (h ^ (u.bits >> 8 * byte & 0xff)) * UINT64_C(0x100000001b3);
        }
        return h;
}

int main(void)
{
        static float logits[TALE_VOCAB];
        char line[] = "hash 0000000000000000\n";
        uint64_t h = UINT64_C(0xcbf29ce484222325);
        int error;
        tale *m = tale_instance(&error);
        for (int32_t i = 0, token = 1; i < STEPS && !error; i++) {
                error = tale_step(m, token, logits);
                h = hash_logits(h, logits, TALE_VOCAB);
                token = 0;
                for (int32_t id = 1; id < TALE_VOCAB; id++)
                        token = logits[id] > logits[token] ? id : token;
        }
        for (int i = 0; i < 16; i++)
                line[5 + i] = "0123456789abcdef"[h >> (60 - 4 * i) & 15];
        if (error)
                line[0] = (char)('A' + error);
        print_text(line);
        leave(error);
        return error;
}

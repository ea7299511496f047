/*
 * The weights in the program, included by the assembler.  $model and $MODEL are the model's name.
 *
 * Needs the model's struct, LAYOUT_HASH, WEIGHT_FLOATS, TAIL_BYTES and TAIL_HASH.
 */
#if !defined __GNUC__ || defined __TINYC__ || !(defined __ELF__ || defined __APPLE__ || defined _WIN64)
#error "this compiler has no .incbin: use gcc or clang, or lathe build --embed instead of --incbin"
#endif
/* The weight file is expected in this file's folder.  Another path: -D$MODEL_WEIGHT_FILE='"PATH"'. */
#ifndef $MODEL_WEIGHT_FILE
#define $MODEL_WEIGHT_FILE __FILE__ ".weights"
#endif
/* .alt_entry: the linker keeps the end where the file ends. */
#ifdef __APPLE__
__asm__(".section __TEXT,__const\n.p2align 6\n"
        ".private_extern _$model_weight_file\n_$model_weight_file:\n.incbin \"" $MODEL_WEIGHT_FILE "\"\n"
        ".private_extern _$model_weight_file_end\n.alt_entry _$model_weight_file_end\n_$model_weight_file_end:\n.byte 0\n.text\n");
#elif defined _WIN64
__asm__(".section .rdata,\"dr\"\n.balign 64\n"
        ".globl $model_weight_file\n$model_weight_file:\n.incbin \"" $MODEL_WEIGHT_FILE "\"\n"
        ".globl $model_weight_file_end\n$model_weight_file_end:\n.byte 0\n.text\n");
#else
__asm__(".pushsection .rodata\n.balign 64\n"
        ".globl $model_weight_file\n.hidden $model_weight_file\n$model_weight_file:\n.incbin \"" $MODEL_WEIGHT_FILE "\"\n"
        ".globl $model_weight_file_end\n.hidden $model_weight_file_end\n$model_weight_file_end:\n.byte 0\n.popsection\n");
#endif
#ifdef _WIN64
#define HIDDEN_SYMBOL /* of COFF none is exported without a request */
#else
#define HIDDEN_SYMBOL __attribute__((visibility("hidden")))
#endif
extern const unsigned char $model_weight_file[] HIDDEN_SYMBOL;
extern const unsigned char $model_weight_file_end[] HIDDEN_SYMBOL;

/* The embedded data begins with the head of a weight file. */
static int weights_inside($model *m)
{
        uint64_t head[5];
        const uint64_t bytes = (uint64_t)($model_weight_file_end - $model_weight_file);
        memcpy(head, $model_weight_file, bytes < sizeof head ? (size_t)bytes : sizeof head);
        if (bytes != 4096 + sizeof(float) * (uint64_t)WEIGHT_FLOATS + TAIL_BYTES || memcmp(head, "lathe 1\n", 8) ||
            head[1] != LAYOUT_HASH || head[2] != WEIGHT_FLOATS || head[3] != TAIL_BYTES || head[4] != TAIL_HASH)
                return $MODEL_ERROR_WEIGHTS;
        m->weights = (const float *)(const void *)($model_weight_file + 4096);
        return $MODEL_OK;
}

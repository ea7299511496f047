/* Reset of a Cortex-M: the vector table, the floating-point unit, .bss. */
        .syntax unified
        .thumb
        .section .vectors, "a"
        .word stack_end, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, fault

        .text
        .thumb_func
        .globl reset
reset:
#if defined(__ARM_FP)
        ldr r0, =0xe000ed88 /* CPACR: full access to CP10 and CP11 */
        ldr r1, [r0]
        orr r1, r1, #0xf00000
        str r1, [r0]
        dsb
        isb
#endif
        ldr r0, =bss_begin
        ldr r1, =bss_end
        movs r2, #0
1:      cmp r0, r1
        bhs 2f
        str r2, [r0], #4
        b 1b
2:      bl main

        .thumb_func
fault:
        movs r0, #0x18 /* SYS_EXIT, with an error */
        ldr r1, =0x20023
        bkpt 0xab
        b fault

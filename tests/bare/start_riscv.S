/* Reset of a 64-bit RISC-V: the floating-point unit, the stack, .bss. */
        .section .vectors, "ax"
        .globl _start
_start:
#if defined(__riscv_flen)
        li t0, 0x6000 /* mstatus.FS: on */
        csrs mstatus, t0
        csrw fcsr, zero
#endif
        la sp, stack_end
        la t0, bss_begin
        la t1, bss_end
1:      bgeu t0, t1, 2f
        sd zero, 0(t0)
        addi t0, t0, 8
        j 1b
2:      call main
3:      j 3b

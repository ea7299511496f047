#!/usr/bin/env python3
"""Prints runtime/real_tables.h: the constants of runtime/reals.h and compiler/base/real_functions.c, by mpmath."""
from mpmath import mp, mpf, exp, factorial, floor, log, pi, sqrt, erf, ldexp

mp.prec = 2000


def double(x):
    """The double nearest to x."""
    return mpf(float(x))


def text(x):
    return "0" if x == 0 else float(x).hex()


def pair(x):
    """x as a double and what that is short of."""
    high = double(x)
    return "{%s, %s}" % (text(high), text(double(x - high)))


def table(kind, name, rows, comment):
    print("/* %s */" % comment)
    print("static const %s %s = {" % (kind, name))
    for row in rows:
        print("        %s," % row)
    print("};")
    print()


def constant(name, x, comment):
    print("/* %s */" % comment)
    print("static const RealPair %s = %s;" % (name, pair(x)))
    print()


def words(x, n):
    """The first n words of 32 bits behind the point, four in a row."""
    each = ["0x%08x" % (int(floor(ldexp(x, 32 * (i + 1)))) & 0xFFFFFFFF) for i in range(n)]
    return [", ".join(each[i:i + 4]) for i in range(0, n, 4)]


def bell(x):
    """The derivative of erf."""
    return 2 / sqrt(pi) * exp(-x * x)


print("/* Constants of reals.h, printed by tests/reals/tables.py. */")
print("/* clang-format off */")
print("#include <stdint.h>")
print()
print("typedef struct {")
print("        double high, low; /* high is the double nearest to the sum */")
print("} RealPair;")
print()
constant("real_half_pi", pi / 2, "pi / 2")
constant("real_ln2", log(2), "ln 2")
constant("real_two_thirds", mpf(2) / 3, "2 / 3")
table("RealPair", "real_inverse_factorial[]", [pair(1 / factorial(n)) for n in range(22)], "1 / n!")
table("RealPair", "real_power_of_2[]", [pair(mpf(2) ** (mpf(j) / 32)) for j in range(32)], "2^(j / 32)")
table("RealPair", "real_log_of_32nds[]", [pair(log(mpf(i) / 32)) for i in range(23, 47)], "ln(i / 32) from i = 23 on")
table("RealPair", "real_erf_and_slope[][2]",
      ["{%s, %s}" % (pair(erf(mpf(i) / 16)), pair(bell(mpf(i) / 16))) for i in range(97)],
      "erf(i / 16) and its derivative there")
table("uint32_t", "real_two_over_pi[]", words(2 / pi, 40), "the bits of 2 / pi behind the point")

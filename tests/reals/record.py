#!/usr/bin/env python3
"""Prints tests/reals/values.txt: values of the real functions, by mpmath with 2000 bits.  A line is the function, its
arguments, the double nearest to the value, and the value less that, in units of the last place."""
import random
import struct

from mpmath import atan, cos, erf, exp, isinf, ldexp, log, mp, mpf, power, sin, tanh

mp.prec = 2000
random.seed(1)
EACH = 24  # of a range


def rounded(x):
    """The double nearest to x, ties to even, denormals and inf too."""
    if x == 0:
        return 0.0
    exponent = max(int(mp.floor(mp.log(abs(x), 2))), -1022)
    units = int(mp.nint(ldexp(x, 52 - exponent)))
    value = ldexp(mpf(units), exponent - 52)
    return float("inf") * (1 if x > 0 else -1) if abs(value) >= ldexp(mpf(1), 1024) else float(value)


def unit(x):
    """That of the last place of the double x."""
    return ldexp(mpf(1), max(int(mp.floor(mp.log(abs(mpf(x)), 2))) if x else -1022, -1022) - 52)


def record(name, function, *arguments):
    exact = function(*[mpf(x) for x in arguments])
    nearest = rounded(exact)
    short = mpf(0) if isinf(mpf(nearest)) else (exact - mpf(nearest)) / unit(nearest)
    print(name, *[x.hex() for x in arguments], nearest.hex(), "%.9f" % float(short))


def between(low, high):
    return [random.uniform(low, high) for _ in range(EACH)]


def of_bits(low=0, high=0x7FEF, signs=2):
    """Every size from the upper 16 bits `low` to `high` alike."""
    return [struct.unpack(">d", struct.pack(">Q", random.randrange(signs) << 63 | random.randint(low, high) << 48
                                            | random.getrandbits(48)))[0] for _ in range(EACH)]


TINY = [5e-324, -5e-324, 2.0 ** -1022, -(2.0 ** -1022) * 0.75, 1e-300, -1e-20, 2.0 ** -53, -(2.0 ** -54), 1e-9, 2.0 ** -30]
# closest to a multiple of pi / 2 of all doubles, and others that are close or large
TURNS = [6381956970095103 * 2.0 ** 797, 2.0 ** 1023, 1.7976931348623157e308, 1e22, 3.141592653589793,
         1.5707963267948966, 4.71238898038469, 5319372648326541 * 2.0 ** 416, 22.0, 355.0, 411557987.0, 0.7853981633974483,
         0.7853981633974484, -3.141592653589793]

for x in TINY + between(-1, 1) + between(-745.2, 709.8) + between(-745.2, -708) + of_bits(0x3c00, 0x4085) + [709.782712893384, 709.7827128933841]:
    record("exp", exp, x)
for x in [abs(t) for t in TINY] + between(0.5, 2) + between(0.99, 1.01) + of_bits(0, 0x7FEF, 1) + of_bits(0, 0xF, 1) + [
        1 + 2.0 ** -52, 1 - 2.0 ** -53, 1.7976931348623157e308]:
    record("log", log, x)
for name, function in ("sin", sin), ("cos", cos):
    for x in TINY + TURNS + between(-4, 4) + between(-1e5, 1e5) + of_bits(0x3c00) + of_bits(0x4330):
        record(name, function, x)
for name, function in ("tanh", tanh), ("erf", erf):
    for x in TINY + between(-1, 1) + between(-0.1, 0.1) + between(-7, 7) + of_bits(0, 0x4020) + of_bits(0, 0x20) + [19.06, 19.07, 25.0, 5.92, 1e300]:
        record(name, function, x)
for y in between(-50, 50) + between(-1070, 1020):
    record("pow", power, random.uniform(0.25, 4), y)
for x in of_bits(0, 0x7FEF, 1):
    record("pow", power, x, random.uniform(-1.5, 1.5))
for x in between(0.999, 1.001) + between(1 - 1e-9, 1 + 1e-9):
    y = random.uniform(-700, 700) / float(log(x))
    record("pow", power, x, y)
for base in range(2, 30):
    y = float(random.randint(2, 12))
    record("pow", power, float(-base), y)
    record("pow", power, float(base), -y)
for x, y in (2.0, -1074.0), (2.0, -1075.5), (3.0, -677.5), (2.0, 1023.5), (2.0, 1024.0), (10.0, 308.0), (10.0, -320.0), (1e-300, 1e-300):
    record("pow", power, x, y)
for x in TINY + between(-1, 1) + between(-0.01, 0.01) + between(-20, 20) + of_bits(0x3c00) + of_bits(0, 0x20) + [1.0, -1.0, 1e300, 2.0 ** 60]:
    record("atan", atan, x)

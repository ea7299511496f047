"""A sound of which a spectrogram has something to tell: tones that rise, noise, silence in the middle; whole numbers of 16 bits."""
import math
import struct

RATE = 16000


def samples(n):
    made, noise = [], 1
    for i in range(n):
        t = i / RATE
        noise = (noise * 1103515245 + 12345) % (1 << 31)
        tone = 9000 * math.exp(-3 * (t % 0.5)) * math.sin(2 * math.pi * (200 + 150 * (t % 4)) * t)
        made.append(0 if n // 2 <= i < n // 2 + 4000 else round(tone) + noise // (1 << 23) - 128)
    return made


def chunk(name, data):
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def riff(*chunks):
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def form(kind=1, channels=1, rate=RATE, bits=16, block=None):
    block = channels * bits // 8 if block is None else block
    return chunk(b"fmt ", struct.pack("<HHIIHH", kind, channels, rate, rate * block, block, bits))


def wav(values, **how):
    """16 bits, or as `form` has it, of numbers that are packed already"""
    return riff(form(**how), chunk(b"data", values if isinstance(values, bytes) else struct.pack(f"<{len(values)}h", *values)))

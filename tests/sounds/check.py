"""WAV files as compiler/media reads them, log-mel spectrograms beside those of the reference (recorded by tests/oracle/sounds.py), and
lathe run with loop transcribe beside loop generate on the spectrogram.

    check.py DRIVER PROGRAM    PROGRAM: wav.c; prints ok NAME, or FAIL NAME and why"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

import made

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL = f"{HERE}/sounds.model"
driver, reader = map(os.path.abspath, sys.argv[1:])
BOUND = 5e-5  # of values from -1 to 2; the reference's own are of float32
FFMPEG = "`ffmpeg -i FILE -ac 1 NEW.wav` converts it"
failed = 0


def verdict(name, why):
    global failed
    print(f"FAIL sounds {name}: {why}" if why else f"ok sounds {name}", flush=True)
    failed += bool(why)


def write(name, data):
    with open(f"{work}/{name}", "wb") as f:
        f.write(data)


def read_all(files, rate):
    """{name: bytes}: what the reader says of each"""
    for name, data in files.items():
        write(name, data)
    r = subprocess.run([reader], input="".join(f"{name} {rate}\n" for name in files), capture_output=True, text=True, cwd=work)
    lines = r.stdout.splitlines()
    return lines if r.returncode == 0 and len(lines) == len(files) else [f"exit status {r.returncode}: {r.stderr[-600:]}"] * len(files)


class Unexpected(str):
    """What a command said that ended with another exit status"""


def lathe(command, m, *arguments, code=0, text=None):
    r = subprocess.run([driver, command, MODEL, "-m", m, *arguments], capture_output=True, cwd=work, input=text)
    err = "".join(line for line in r.stderr.decode().splitlines(True) if "generated from a hash" not in line)
    if r.returncode != code:
        return Unexpected(f"exit status {r.returncode}, not {code}: {err[-600:]}")
    return err if code else r.stdout.decode() + err


# ---- files ----

WHOLE = {8: [0, 1, 128, 255], 16: [-32768, -1, 0, 32767], 24: [-(1 << 23), -1, 1, (1 << 23) - 1], 32: [-(1 << 31), -(1 << 20), 1 << 10, 1 << 30]}


def packed(bits, values):
    return b"".join((v & ((1 << bits) - 1)).to_bytes(bits // 8, "little") for v in values)


def good():
    """{name: (bytes, rate, values)}"""
    found = {}
    for bits, values in WHOLE.items():
        half = 1 << (bits - 1)
        of_them = [(v - half) / half if bits == 8 else v / half for v in values]
        found[f"bits-{bits}"] = (made.wav(packed(bits, values), bits=bits), 16000, of_them)
        found[f"stereo-{bits}"] = (made.wav(packed(bits, values), bits=bits, channels=2, rate=44100), 44100,
                                   [(of_them[0] + of_them[1]) / 2, (of_them[2] + of_them[3]) / 2])
    reals = [0.5, -1.25, 1e-20, 3]
    found["float"] = (made.wav(struct.pack("<4f", *reals), kind=3, bits=32), 16000, reals)
    found["double"] = (made.wav(struct.pack("<4d", *reals), kind=3, bits=64), 16000, reals)
    two = struct.pack("<2h", 16384, -8192), [0.5, -0.25]
    data, extended = made.chunk(b"data", two[0]), made.form()[8:22] + struct.pack("<HHHI", 16, 22, 16, 4) + struct.pack("<H", 1) + bytes(14)
    found["extended"] = (made.riff(made.chunk(b"fmt ", b"\xfe\xff" + extended[2:]), data), 16000, two[1])
    found["more-chunks"] = (made.riff(made.chunk(b"LIST", b"odd"), made.form(), made.chunk(b"fact", b"1234"), data, made.chunk(b"id3 ", b"x")), 16000, two[1])
    found["no-length-no-bytes-after"] = (made.riff(made.form(), made.chunk(b"data", two[0]), b"data\0\0\0\0"), 16000, two[1])
    found["pipe"] = (b"RIFF\xff\xff\xff\xffWAVE" + made.form() + b"data\xff\xff\xff\xff" + two[0], 16000, two[1])
    found["pipe-of-sox"] = (b"RIFF\x24\xf0\xff\x7fWAVE" + made.form() + b"data\x00\xf0\xff\x7f" + two[0], 16000, two[1])
    found["half-a-sample"] = (made.riff(made.form(), made.chunk(b"data", two[0] + b"x")), 16000, two[1])
    return found


def broken():
    """{name: (bytes, what is said behind the path)}"""
    whole = made.wav([1, 2, 3, 4])
    kinds = "expected whole numbers (1) of 8, 16, 24 or 32 bits, or floats (3) of 32 or 64; " + FFMPEG
    of_kind = lambda kind, bits, block=None: made.wav(b"abcdefgh", kind=kind, bits=bits, block=block)
    found = {
        "empty": (b"", "it is empty; expected WAV"), "a-text": (b"hello", "it is not a sound; expected WAV"), "a-webp": (b"RIFF\x04\0\0\0WEBP", "it is a WebP picture; expected a sound: WAV"),
        "a-flac": (b"fLaC....", "it is a FLAC sound; expected WAV; " + FFMPEG), "an-mp3": (b"ID3\x04", "it is an MP3"), "an-mp4": (b"\0\0\0\x20ftypM4A ", "it is an MP4"),
        "an-ogg": (b"OggS", "it is an Ogg"), "an-aiff": (b"FORM....AIFC", "it is an AIFF"), "rifx": (b"RIFX" + whole[4:], "it is a WAV whose numbers begin with their highest byte"),
        "rf64": (b"RF64" + whole[4:], "it is a WAV of more than 4 GB"),
        "rate-low": (made.wav([1, 2], rate=62), "its 62 samples per second can't be converted to 16000: one rate is more than 256 times the other"),
        "rate-high": (made.wav([1, 2], rate=4096001), "its 4096001 samples per second can't be converted to 16000"),
        "rate-0": (made.wav([1], rate=0), "byte 24: its rate can't be 0 samples per second"),
        "mu-law": (of_kind(7, 8), "its samples are of kind 7 with 8 bits; " + kinds), "adpcm": (of_kind(2, 4, 1), "its samples are of kind 2 with 4 bits"),
        "bits-12": (of_kind(1, 12, 2), "its samples are of kind 1 with 12 bits"), "bits-64": (of_kind(1, 64), "its samples are of kind 1 with 64 bits"),
        "bits-0": (of_kind(1, 0), "its samples are of kind 1 with 0 bits"), "half-float": (of_kind(3, 16), "its samples are of kind 3 with 16 bits"),
        "no-channels": (made.wav([1], channels=0), "byte 32: 0 channels of 16 bits can't be 0 bytes"),
        "block": (made.wav([1, 2], block=3), "byte 32: 1 channels of 16 bits can't be 3 bytes"),
        "no-samples": (made.wav([]), "it has no samples"), "no-samples-then-a-list": (made.riff(made.form(), made.chunk(b"data", b""), made.chunk(b"LIST", b"abcd")), "it has no samples"),
        "too-few": (made.wav([1], channels=2), "it has no samples"),
        "no-data": (made.riff(made.form()), "it ends without samples (data)"), "no-chunks": (made.riff(), "it ends without samples (data)"),
        "data-first": (made.riff(made.chunk(b"data", b"1234"), made.form()), "it ends without a description of its samples (fmt)"),
        "short-fmt": (made.riff(made.chunk(b"fmt ", b"1234"), made.chunk(b"data", b"1234")), "byte 20: fmt has 4 bytes; expected at least 16"),
        "huge": (made.riff(made.form(), b"LIST\xff\xff\xff\xff" + b"1234"), "it is truncated: at byte 44 a chunk of 4294967295 bytes begins, but 4 follow"),
        "nan": (made.wav(struct.pack("<2f", 1, float("nan")), kind=3, bits=32), "sample 1 is not a finite number"),
        "infinite": (made.wav(struct.pack("<d", 1e300), kind=3, bits=64), "sample 0 is not a finite number"),
    }
    for at in range(len(whole)):  # wherever it ends
        if at < 46:  # later, the samples are read as far as they go
            found[f"ends-{at}"] = (whole[:at], "it is " if at < 12 else "it ends without samples" if at < 20 or 36 <= at < 44 else
                                   "it has no samples" if at >= 44 else "it is truncated: at byte ")
    return found


OPEN = " note: {}: its header does not state its length; all 2 samples up to its end are read"


def noted():
    """Files of 0.5, -0.25 whose samples are read with a note: {name: (bytes, the note after the samples)}"""
    data = struct.pack("<2h", 16384, -8192)
    head = lambda riff, size, tail=b"": b"RIFF" + struct.pack("<I", riff) + b"WAVE" + made.form() + b"data" + struct.pack("<I", size) + data + tail
    short = " note: {}: it was cut short: the last %d bytes of its samples are missing; the first 2 samples are read"
    found = {f"length-{riff:#x}-{size:#x}": (head(riff, size), OPEN) for riff, size in
             [(0, 0), (36, 0), (0xffffffff, 0xffffffff), (0x7ffff024, 0x7ffff000), (0x80000024, 0x80000000), (0, 0x7ffff000), (0, 0xfffffffe)]}
    found |= {f"cut-{n}": (head(36 + 4 + n, 4 + n), short % n) for n in (1, 2, 100, 0x7fffeffb)}
    found["cut-in-a-sample"] = (head(36 + 8, 8, b"x"), short % 3)
    found["length-right"] = (head(40, 4), "")
    return found


def check_notes():
    files = noted()
    for (name, (_, note)), found in zip(files.items(), read_all({name: f[0] for name, f in files.items()}, 0)):
        right = "16000 0.5 -0.25" + note.format(name)
        verdict(name, None if found == right else f"{found[:200]} where {right} is right")


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def check_files():
    files = good()
    for (name, (_, rate, values)), found in zip(files.items(), read_all({name: f[0] for name, f in files.items()}, 0)):
        words = found.split(" note:")[0].split()
        expected = [float32(v) for v in values]
        ok = words[0] == str(rate) and len(words) == len(values) + 1 and [float32(float(w)) for w in words[1:]] == expected
        verdict(name, None if ok else f"{found[:200]} where {rate} {expected} is right")
    files, ends = broken(), []
    for (name, (_, message)), found in zip(files.items(), read_all({name: f[0] for name, f in files.items()}, 16000)):
        why = None if found.startswith(f"{name}: {message}") else f"{name} says {found[:200]}"
        if name.startswith("ends-"):
            ends.append(why)
        else:
            verdict(name, why)
    verdict("wherever a file ends", next(filter(None, ends), None))


# ---- other rates ----

TONES = [(61.7, 0.4, 0.12), (417.3, 1.1, 0.1), (1203.1, 2.9, 0.15), (2417.9, 0.2, 0.09), (3107.7, 5.1, 0.1)]  # Hz below 0.4 of the least rate, phase, height


def tones(rate, seconds=1.0):
    """A sound of a formula, which is band-limited, so that its samples at any rate follow from those at another; it begins and ends softly."""
    n = round(rate * seconds)
    return [math.sin(math.pi * i / n) ** 2 * sum(h * math.sin(2 * math.pi * f * i / rate + p) for f, p, h in TONES) for i in range(n)]


def float_wav(values, rate, channels=1):
    return made.wav(struct.pack(f"<{len(values)}f", *values), kind=3, bits=32, rate=rate, channels=channels)


def check_rates():
    """Of samples at one rate those at another, beside the formula"""
    expected = tones(16000)
    rates = [8000, 11025, 12000, 15999, 22050, 24000, 32000, 44100, 48000, 96000, 192000]
    found = read_all({f"tones-{rate}": float_wav(tones(rate), rate) for rate in rates}, 16000)
    for rate, text in zip(rates, found):
        samples, _, note = text.partition(" note: ")
        words = [float(w) for w in samples.split()] if samples[:1].isdigit() else []
        off = max(map(abs, (a - b for a, b in zip(words[1:], expected)))) if len(words) == 16001 and words[0] == 16000 else text[:200]
        right = isinstance(off, float) and off < 4e-7 and note == f"tones-{rate}: it is resampled from {rate} to 16000 samples per second"
        verdict(f"{rate} samples per second as 16000", None if right else f"{off} off; {note}")
    loud = [0.5 * math.sin(2 * math.pi * 9000 * i / 44100) * math.sin(math.pi * i / 44100) ** 2 for i in range(44100)]
    both = [x for a, b in zip(tones(44100), loud) for x in (a + b, a - b)]
    found = read_all({"too-high": float_wav(loud, 44100), "stereo": float_wav(both, 44100, 2), "as-it-is": float_wav(loud[:9], 16000), "third": float_wav([1], 48000),
                      "first": float_wav([0.25], 16000)}, 16000)
    numbers = [[float(w) for w in text.partition(" note: ")[0].split()[1:]] for text in found]
    verdict("a tone above the half of the rate is removed", None if len(numbers[0]) == 16000 and max(map(abs, numbers[0])) < 1e-6 else found[0][:200])
    off = max(abs(a - b) for a, b in zip(numbers[1], expected))
    verdict("channels are averaged first", None if len(numbers[1]) == 16000 and off < 4e-7 else f"{off} off")
    verdict("no samples change at the same rate, and there is no note", None if [float32(x) for x in numbers[2]] == [float32(x) for x in loud[:9]] and "note" not in found[2] + found[4] else found[2])
    verdict("one sample", None if [len(n) for n in numbers[3:]] == [1, 1] else found[3:])


# ---- spectrograms ----

def spectrogram(seconds, mels):
    write("sound.wav", made.wav(made.samples(seconds * made.RATE)))
    said = lathe("eval", "spectrogram", "-D", f"seconds={seconds}", "-D", f"mels={mels}", "-I", "samples=sound.wav", "-o", "mel.npy")
    if said:
        raise AssertionError(said)
    data = open(f"{work}/mel.npy", "rb").read()
    length = struct.unpack_from("<H", data, 8)[0]
    if f"({mels}, {100 * seconds})".encode() not in data[:10 + length]:
        raise AssertionError(data[:10 + length])
    return struct.unpack_from(f"<{mels * 100 * seconds}f", data, 10 + length)


def check_spectrograms():
    recorded = [line.split() for line in open(f"{HERE}/recorded")]
    for seconds, mels in ((1, 80), (1, 128), (30, 80), (30, 128)):
        rows = [(int(band), int(column), float(value)) for s, m, band, column, value in recorded if (int(s), int(m)) == (seconds, mels)]
        try:
            mel = spectrogram(seconds, mels)
            off = [abs(mel[band * 100 * seconds + column] - value) for band, column, value in rows]
            why = f"{max(off):.2g} off, and {BOUND:.2g} is allowed" if max(off) > BOUND else None
        except AssertionError as wrong:
            why = wrong
        verdict(f"spectrogram of {seconds} s in {mels} bands, {len(rows)} values", why if len(rows) > 100 else "too little is recorded")


# ---- commands ----

def says(name, found, expected):
    verdict(name, None if expected in found and not isinstance(found, Unexpected) else f"says {found[:300]!r} where {expected!r} is wanted")


def same(name, found, expected):
    verdict(name, None if found == expected else f"{found!r:.300} where {expected!r:.300} is right")


def check_other_rates(text):
    """A model hears the same at any rate."""
    for rate in (16000, 44100, 8000):
        write(f"tones-{rate}.wav", float_wav(tones(rate), rate))
    note = "lathe: note: tones-44100.wav: it is resampled from 44100 to 16000 samples per second\n"
    right = lathe("run", "hears", "tones-16000.wav", "-n", "12")
    same("the same text at another rate, with a note", lathe("run", "hears", "tones-44100.wav", "-n", "12"), right + note)
    mels = [json.loads(lathe("eval", "hears", "-I", f"samples=tones-{rate}.wav", "-p", "1", "--tap", "mel", "--output", "mel", "--json").split("\nlathe: note")[0])["mel"]
            for rate in (16000, 44100, 8000)]
    off = [max(abs(a - b) for x, y in zip(mels[0], other) for a, b in zip(x, y)) for other in mels[1:]]
    verdict("the same spectrogram at another rate", None if max(off) < 2e-4 and mels[0] != mels[1] else f"{off} off")
    write("long-44100.wav", float_wav(tones(44100, 1.0001), 44100))
    says("a long sound of another rate is refused", lathe("run", "hears", "long-44100.wav", code=1),
         "long-44100.wav: it is 1.00009 s long (44104 samples), but the model takes 1 s (16000 samples at 16000 per second)")
    write("speech-22050.wav", made.wav(made.samples(12000), rate=22050))
    verdict("another sound, if the rate were ignored", "the same" if lathe("run", "hears", "speech-22050.wav", "-n", "12").startswith(text) and text != right else None)


def check_lists():
    """Several sounds, each as if it were the only one"""
    names = ["speech.wav", "tones-8000.wav", "short.wav"]
    alone = {name: lathe("run", "hears", name, "-n", "9").split("lathe: note")[0] for name in names}
    beams = {name: lathe("run", "hears", name, "-n", "9", "--beams", "3").split("lathe: note")[0] for name in names}
    headed = lambda texts, names: "".join(f"{name}\n{texts[name]}\n" for name in names)
    note = "lathe: note: tones-8000.wav: it is resampled from 8000 to 16000 samples per second\n"
    same("several sounds", lathe("run", "hears", *names, "-n", "9"), headed(alone, names) + note)
    same("several sounds, by beams", lathe("run", "hears", *names, "-n", "9", "--beams", "3"), headed(beams, names) + note)
    write("list.txt", "\r\n".join(["speech.wav", "", "nowhere.wav", "long.wav", "short.wav"]).encode())
    r = subprocess.run([driver, "run", MODEL, "-m", "hears", "@list.txt", "-n", "9"], capture_output=True, cwd=work)
    err = "".join(line for line in r.stderr.decode().splitlines(True) if "generated from a hash" not in line)
    same("a list, of which some can't be read", (r.returncode, r.stdout.decode(), err.splitlines()[0], err.splitlines()[1][:49], len(err.splitlines())),
         (3, headed(alone, ["speech.wav", "short.wav"]), "lathe run: list.txt, line 3: nowhere.wav: No such file or directory",
          "lathe run: list.txt, line 4: long.wav: it is 1.00", 2))
    same("a list on standard input", lathe("run", "hears", "@-", "-n", "9", text=b"speech.wav\nshort.wav\n"), headed(alone, ["speech.wav", "short.wav"]))
    same("a list of one", lathe("run", "hears", "@-", "-n", "9", text=b"speech.wav\n"), headed(alone, ["speech.wav"]))
    says("only sounds that can't be read", lathe("run", "hears", "long.wav", "speech.flac", code=3), "speech.flac: No such file")
    says("standard input twice", lathe("run", "hears", "-", "@-", code=2), "standard input, - or @-, is named 2 times")
    says("a prompt on standard input for several sounds", lathe("run", "hears", *names, "-p", "-", code=2), "the prompt of several sounds can't be standard input")


def check_commands():
    write("short.wav", made.wav([16384, -8192, 1024]))
    write("nine.wav", made.wav([1] * 9))
    write("fast.wav", made.wav([1] * 8, rate=44100))
    write("speech.wav", made.wav(made.samples(12000)))
    write("speech", made.wav(made.samples(12000)))
    write("long.wav", made.wav(made.samples(16001)))
    says("a sound as an input, padded with silence", lathe("eval", "samples", "-I", "x=short.wav", "-I", "other=0", "--json"),
         '{"y": [0.5, -0.25, 0.03125, 0, 0, 0, 0, 0]}')
    says("without a loop any rate is taken", lathe("eval", "samples", "-I", "x=fast.wav", "-I", "other=0", "--json"), '{"y": [3.05175781e-05, ')
    says("a sound for an input without a rate", lathe("eval", "samples", "-I", "other=short.wav", "-I", "x=0", code=1),
         "-I other=short.wav: expected an input of reals [samples], and other is [2, 8]")
    says("a missing file as an input", lathe("eval", "samples", "-I", "x=nowhere.wav", code=3), "nowhere.wav: No such file")
    cut = made.wav([16384, -8192, 1024])[:-2]
    write("cut.wav", cut)
    says("a sound that was cut short", lathe("eval", "samples", "-I", "x=cut.wav", "-I", "other=0", "--json"), '{"y": [0.5, -0.25, 0, ')
    says("and its note", lathe("eval", "samples", "-I", "x=cut.wav", "-I", "other=0", "--json"),
         "lathe: note: cut.wav: it was cut short: the last 2 bytes of its samples are missing; the first 2 samples are read")
    says("a sound that is too long", lathe("eval", "samples", "-I", "x=nine.wav", "-I", "other=0", code=1),
         "nine.wav: it is 0.0005625 s long (9 samples), but the model takes 0.0005 s (8 samples at 16000 per second): ")

    lathe("eval", "hears", "-I", "samples=speech.wav", "-p", "1", "--tap", "mel", "--output", "mel", "-o", "mel.safetensors")
    text = lathe("run", "small", "--inputs", "mel.safetensors", "-n", "12")
    same("first tokens, then others", (text.split()[:2], len(text.split())), (["3", "4"], 12))
    same("transcribe is generate on the spectrogram", lathe("run", "hears", "speech.wav", "-n", "12"), text)
    same("other names and standard input", (lathe("run", "hears", "speech", "-n", "12"),
                                            lathe("run", "hears", "-", "-n", "12", text=made.wav(made.samples(12000)))), (text, text))
    same("generate is still there", lathe("run", "hears", "--loop", "generate", "-I", "samples=speech.wav", "-n", "12"), text)
    same("a prompt", lathe("run", "hears", "speech.wav", "-p", "1 9 7", "-n", "6"),
         lathe("run", "small", "--inputs", "mel.safetensors", "-p", "1 9 7", "-n", "6"))
    verdict("another prompt, another text", "the same" if lathe("run", "hears", "speech.wav", "-p", "1 9 7", "-n", "6") in text else None)
    # the text begins with `start`, not with what the tokenizer puts around an empty prompt; special tokens are not shown
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + [f"word{i}" for i in range(4, 60)]
    write("vocab.txt", "\n".join(words + [""]).encode())
    same("words of a tokenizer", lathe("run", "hears", "speech.wav", "-n", "12", "--tokenizer", "vocab.txt").split(),
         [words[int(token)] for token in text.split() if int(token) > 3])
    says("a long sound is refused", lathe("run", "hears", "long.wav", code=1),
         "long.wav: it is 1.00006 s long (16001 samples), but the model takes 1 s (16000 samples at 16000 per second): `ffmpeg -i FILE -ss 0 -t 1 NEW.wav`")
    says("no sound argument", lathe("run", "hears", code=2), "loop transcribe requires sounds after the model")
    check_other_rates(text)
    check_lists()
    says("a sound twice", lathe("run", "hears", "speech.wav", "-I", "samples=speech.wav", code=1), "the input samples is given twice")
    says("a missing file", lathe("run", "hears", "nowhere.wav", code=3), "nowhere.wav: No such file")
    says("an option of another loop", lathe("run", "hears", "speech.wav", "--similar", code=2), "run transcribe: takes no --similar")
    says("a model that takes a spectrogram", lathe("check", "no_sound", code=1), "loop transcribe requires an input of a sound, reals [samples], and no_sound has none")
    says("no rate", lathe("check", "no_rate", code=1), "loop transcribe requires a rate: the number of samples per second")
    says("a wrong rate", lathe("check", "wrong_rate", code=1), "rate must be a whole number from 1 to 65536, not 0")
    says("an input that is filled", lathe("check", "filled", code=1), "loop transcribe has no samples")
    says("a sound input that grows with the tokens", lathe("run", "together", "short.wav", code=1),
         "together can't generate: it has other inputs than token ids [time]")
    says("a model without text", lathe("run", "one_input", "short.wav", code=1), "one_input can't generate: it ")


with tempfile.TemporaryDirectory() as work:
    check_files()
    check_notes()
    check_rates()
    check_spectrograms()
    check_commands()
sys.exit(failed > 0)

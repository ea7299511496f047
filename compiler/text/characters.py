#!/usr/bin/env python3
"""Writes characters.def: what normalisers and pre-tokenisers do to each character, as PyPI's tokenizers does it.

    python3 -m venv /tmp/c && /tmp/c/bin/pip install tokenizers==0.23.3 unicodedata2 regex
    /tmp/c/bin/python compiler/text/characters.py > compiler/text/characters.def

Its parts are of different versions of Unicode (normal forms of 9, categories of 8, lower case of 17), so the library itself is asked
about every character.  Combining classes, which it does not show, and breaks of graphemes are those of unicodedata2 and regex.
"""

import regex
import tokenizers
import unicodedata2 as unicode
from tokenizers import Regex, normalizers, pre_tokenizers

assert tokenizers.__version__ == "0.23.3"
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
HANGUL = range(0xAC00, 0xD7A4)  # are computed


def ranges(codes):
    found = []
    for c in sorted(codes):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def columns(rows, n):
    for begin in range(0, len(rows), n):
        print(" ".join(rows[begin : begin + n]))


def print_set(name, codes):
    columns([f"SET({name}, 0x{a:04x}, 0x{b:04x})" for a, b in ranges(codes)], 4)


def quoted(text):
    return text.replace("\\", "\\\\").replace('"', '\\"')


def print_texts(macro, table):
    """Runs of characters, and what each becomes, with an end of a line behind each; a new run where the line is full."""
    run, first, last = "", None, None
    for c in sorted(table):
        if run and (c != last + 1 or len(run) > 90):
            print(f'{macro}(0x{first:04x}, "{run}")')
            run = ""
        if not run:
            first = c
        run += quoted(table[c]) + "\\n"
        last = c
    print(f'{macro}(0x{first:04x}, "{run}")')


def changed(normalizer):
    return {c: normalizer.normalize_str(chr(c)) for c in CODES if normalizer.normalize_str(chr(c)) != chr(c)}


def normalised(**on):
    return normalizers.BertNormalizer(**{**dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), False), **on})


def removed(normalizer):
    return {c for c in CODES if normalizer.normalize_str("x" + chr(c) + "x") == "xx"}


def cut(pre_tokenizer, around):
    return {c for c in CODES if len(pre_tokenizer.pre_tokenize_str(around + chr(c) + around)) == 3}


def compositions(canonical):
    pairs, nfc = [], normalizers.NFC()
    for c in canonical:
        parts = [int(p, 16) for p in unicode.decomposition(chr(c)).split()]
        if len(parts) == 2 and nfc.normalize_str("".join(map(chr, parts))) == chr(c):
            pairs.append((parts[0], parts[1], c))
    return sorted(pairs)


def lower_rows(table):
    """(first, last, step, difference) of characters that become one other."""
    rows = []
    for c in sorted(table):
        if len(table[c]) != 1:
            continue
        to = ord(table[c]) - c
        if rows and rows[-1][3] == to and (c - rows[-1][1] == rows[-1][2] or (rows[-1][0] == rows[-1][1] and c - rows[-1][1] <= 2)):
            rows[-1][2] = c - rows[-1][1]
            rows[-1][1] = c
        else:
            rows.append([c, c, 1, to])
    return rows


def scripts():
    """Characters by the script that UnicodeScripts has them in, in order of their first ones; those that go with any are left out."""
    cutter, found, last = pre_tokenizers.UnicodeScripts(), [], []
    for c in CODES:
        if not cutter.pre_tokenize_str(chr(c)):
            continue
        if not last or len(cutter.pre_tokenize_str(chr(last[0]) + chr(c))) > 1:
            last = next((s for s in found if len(cutter.pre_tokenize_str(chr(s[0]) + chr(c))) == 1), [])
            found += [] if last else [last]
        last.append(c)
    return found


def main():
    canonical = {c: t for c, t in changed(normalizers.NFD()).items() if c not in HANGUL}
    compatible = {c: t for c, t in changed(normalizers.NFKD()).items() if c not in HANGUL and canonical.get(c) != t}
    marks = removed(normalizers.StripAccents())
    lower = changed(normalizers.Lowercase())
    punctuation = cut(pre_tokenizers.BertPreTokenizer(), "a")
    word = cut(pre_tokenizers.Split(Regex(r"\w"), "isolated"), ".")
    categories = {c for c in CODES if unicode.category(chr(c))[0] in "LM" or unicode.category(chr(c)) in ("Nd", "Nl", "Pc")}
    assert not any(unicode.combining(chr(c)) and unicode.category(chr(c))[0] != "M" for c in CODES)
    print("/* Tables of characters for tokenizers, as in tokenizers 0.23.3, written by characters.py.")
    print(" * DECOMPOSED, COMPATIBLE: first character, replacements of it and the following ones, each with a newline.  COMPOSED: first, second, result.")
    print(" * COMBINING: first, last, class.  LOWER: first, last, step, difference.  SET: name, first, last.  SCRIPT: number, first, last. */")
    print("#ifdef DECOMPOSED")
    print_texts("DECOMPOSED", canonical)
    print("#endif\n#ifdef COMPATIBLE")
    print_texts("COMPATIBLE", compatible)
    print("#endif\n#ifdef COMPOSED")
    columns(["COMPOSED(0x%04x, 0x%04x, 0x%04x)" % p for p in compositions(canonical)], 4)
    print("#endif\n#ifdef COMBINING")
    for value in sorted({unicode.combining(chr(c)) for c in marks} - {0}):
        columns(["COMBINING(0x%04x, 0x%04x, %d)" % (a, b, value) for a, b in ranges(c for c in marks if unicode.combining(chr(c)) == value)], 4)
    print("#endif\n#ifdef LOWER")
    columns(["LOWER(0x%04x, 0x%04x, %d, %d)" % tuple(r) for r in lower_rows(lower)], 4)
    print("#endif\n#ifdef SET")
    assert {c for c in lower if len(lower[c]) != 1} == {0x130}
    print_set("SET_MARKS", marks)
    print_set("SET_BERT_MARKS", removed(normalised(strip_accents=True)))
    print_set("SET_BERT_REMOVED", removed(normalised(clean_text=True)))
    print_set("SET_PUNCTUATION", punctuation)
    print_set("SET_WORD_BESIDE", word - categories)  # \w beside L, M, Nd, Nl, Pc
    for name, prop in (("EXTEND", "Extend"), ("JOINER", "ZWJ"), ("SPACING", "SpacingMark"), ("PREPEND", "Prepend"), ("CONTROL", "Control")):
        print_set("SET_GRAPHEME_" + name, {c for c in CODES if regex.match(r"\p{GCB=%s}" % prop, chr(c))})
    print_set("SET_PICTOGRAPH", {c for c in CODES if regex.match(r"\p{Extended_Pictographic}", chr(c))})
    print("#endif\n#ifdef SCRIPT")
    columns([f"SCRIPT({i}, 0x{a:04x}, 0x{b:04x})" for i, script in enumerate(scripts()) for a, b in ranges(script)], 4)
    print("#endif")


if __name__ == "__main__":
    main()

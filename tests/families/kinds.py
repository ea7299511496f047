"""Whether the records that tests/families/kinds names hold what it says: a line `ok` or `FAIL` for each kind.
    usage: kinds.py LATHE"""
import json
import os
import re
import struct
import subprocess
import sys

LATHE = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
WANTED = ['decoder', 'experts', 'latent-attention', 'encoder', 'encoder-decoder', 'audio', 'vision', 'two-towers',
          'diffusion', 'diffusion-video', 'joint-streams', 'joint-then-single']


def held(record):
    with open(f'{HERE}/{record}.safetensors', 'rb') as file:
        return set(json.loads(file.read(struct.unpack('<Q', file.read(8))[0])))


def iterations(record):
    """Of each name that has an index, such as layer[i].attn: how many iterations there are."""
    shown = subprocess.run([LATHE, 'show', f'{HERE}/{record}.model', 'taps'], capture_output=True, text=True, check=True)
    return {name.replace('[i]', '[*]'): int(count)
            for name, count in re.findall(r'^(\S*\[i\]\S*) +\[(\d+)', shown.stdout, re.MULTILINE)}


def missing(record, names):
    there, count = held(record), iterations(record)
    for name in names:
        if '[*]' in name and name not in count:
            yield name
        for i in range(count.get(name, 1)):
            if name.replace('[*]', f'[{i}]') not in there:
                yield name.replace('[*]', f'[{i}]')


found = set()
failed = False
with open(f'{HERE}/kinds', encoding='ascii') as lines:
    for line in lines:
        if line.startswith('#'):
            continue
        kind, record, *names = line.split()
        found.add(kind)
        lacks = list(missing(record, names)) if names else ['any name']
        failed = failed or bool(lacks)
        print(f'FAIL families kind {kind}: {record} lacks {", ".join(lacks)}' if lacks else f'ok families kind {kind}')
for kind in WANTED:
    if kind not in found:
        failed = True
        print(f'FAIL families kind {kind}: no record')
sys.exit(failed)

"""The weight tests that are written as models: usage: cases.py TOOL WORK DATA HERE [--bless].

A model file carries in comments what is to come of it:

    #tensor "NAME" TYPE [SHAPE]                 a tensor of the checkpoint that is made for it
    #slot NAME [SHAPE] [centre C] = FORMULA     what slot NAME[i, j, k] is, of published tensors t(name, index..);
                                                {l} in both stands for the numbers for which the tensor is there
    #> LINE                                     the whole output of reading, where reading has to fail; M is the
                                                model's path, C the checkpoint's

With --bless what reading prints is shown in the form of such lines.

Formulas are tried twice: on the file made here, against the slots that lathe reads from it; and on the file of
hashed weights that lathe writes, against the hash of docs/hash-weights.md."""
import json
import math
import os
import re
import struct
import subprocess
import sys

TOOL, WORK, DATA, HERE = sys.argv[1:5]
failures = 0


def verdict(name, fault=None):
    global failures
    failures += fault is not None
    print(f'FAIL weights: {name}: {fault}' if fault is not None else f'ok weights: {name}')


def hash_weight(name, shape, index, centre=0.0):
    """As docs/hash-weights.md defines it."""
    mask = 2**64 - 1
    h = 0xcbf29ce484222325
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001b3 & mask
    z = h + (index + 1) * 0x9e3779b97f4a7c15 & mask
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & mask
    z = (z ^ z >> 27) * 0x94d049bb133111eb & mask
    u = (2 * ((z ^ z >> 31) >> 40) + 1 - 2**24) / 2**24
    scale = 0.05 if len(shape) < 2 else math.sqrt(3 / shape[-1]) if shape[-1] else 0.0
    return to_float(centre + scale * u)


def to_float(value):
    return struct.unpack('<f', struct.pack('<f', value))[0]


def float_bits(value):
    return struct.pack('>f', value).hex()


# ---- files of tensors: {name: (type, shape, bytes)} ----

WIDTH = {'F32': 4, 'F16': 2, 'BF16': 2}


def encode(kind, value):
    if kind == 'BF16':
        return struct.pack('<f', value)[2:]  # cut off: any bf16 will do
    return struct.pack('<e' if kind == 'F16' else '<f', value)


def decode(kind, data):
    if kind == 'BF16':
        data = b'\0\0' + data
    return struct.unpack('<e' if kind == 'F16' else '<f', data)[0]


def write_tensors(path, tensors):
    header, offset = {}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {'dtype': kind, 'shape': shape, 'data_offsets': [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, 'wb') as f:
        f.write(struct.pack('<Q', len(text)) + text + b''.join(data for _, _, data in tensors.values()))


def read_tensors(path):
    with open(path, 'rb') as f:
        data = f.read()
    size = 8 + struct.unpack('<Q', data[:8])[0]
    header = json.loads(data[8:size])
    header.pop('__metadata__', None)
    return {name: (e['dtype'], e['shape'], data[size + e['data_offsets'][0]:size + e['data_offsets'][1]])
            for name, e in header.items()}


def make_tensor(name, kind, shape):
    if kind not in WIDTH:
        return kind, shape, bytes(math.prod(shape))
    values = (hash_weight('published ' + name, shape, i) for i in range(math.prod(shape)))
    return kind, shape, b''.join(encode(kind, value) for value in values)


def tensor_values(tensor):
    kind, shape, data = tensor
    return shape, [decode(kind, data[i:i + WIDTH[kind]]) for i in range(0, len(data), WIDTH[kind])]


# ---- what a model file says ----

def directives(text):
    tensors, slots = {}, []
    for name, kind, shape in re.findall(r'^#tensor "(.*)" (\w+) (\[.*\])$', text, re.M):
        tensors[name] = make_tensor(name, kind, json.loads(shape))
    for name, shape, centre, formula in re.findall(r'^#slot (\S+) (\[.*?\])(?: centre (\S+))? = (.*)$', text, re.M):
        for layer in range(2) if '{l}' in name else [0]:
            slots.append((name.replace('{l}', str(layer)), json.loads(shape), float(centre or 0),
                          formula.replace('{l}', str(layer))))
    return tensors, slots, [line[3:] for line in text.splitlines() if line.startswith('#> ')]


def slot_values(tensors, shape, formula):
    """The formula's floats for every element, row-major."""
    def t(name, *index):
        kind, of, data = tensors[name]
        at = 0
        for i, size in zip(index, of):
            assert 0 <= i < size
            at = at * size + i
        assert len(index) == len(of)
        return decode(kind, data[at * WIDTH[kind]:][:WIDTH[kind]])

    compiled = compile(formula, formula, 'eval')
    for at in range(math.prod(shape)):
        index, rest = [], at
        for size in reversed(shape):
            index.insert(0, rest % size)
            rest //= size
        yield to_float(eval(compiled, {'t': t, **dict(zip('ijk', index))}))


def run(*args):
    done = subprocess.run([TOOL, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=WORK)
    return done.returncode, done.stdout.decode()


def expected_dump(tensors, slots):
    return sorted(f'{name} {i} {float_bits(value)}' for name, shape, _, formula in slots
                  for i, value in enumerate(slot_values(tensors, shape, formula)))


def first_difference(found, expected):
    for a, b in zip(found + ['the end'], expected + ['the end']):
        if a != b:
            return f'found {a!r}, expected {b!r}'
    return f'{len(found)} lines, expected {len(expected)}' if len(found) != len(expected) else None


# ---- one model ----

def check_values(name, model, tensors, slots):
    code, output = run('read', model, f'{name}.safetensors')
    verdict(f'{name} is read', first_difference(sorted(output.splitlines()), expected_dump(tensors, slots)))

    code, output = run('write', model, 'hashed.safetensors', 'f32')
    if code:
        return verdict(f'{name} is written', output)
    hashed = sorted(f'{slot} {i} {float_bits(hash_weight(slot, shape, i, centre))}' for slot, shape, centre, _ in slots
                    for i in range(math.prod(shape)))
    written = read_tensors(f'{WORK}/hashed.safetensors')
    verdict(f'{name} is written', first_difference(expected_dump(written, slots), hashed))
    verdict(f'{name} is read back to the bit',
            first_difference(sorted(run('read', model, 'hashed.safetensors')[1].splitlines()), hashed))

    code, output = run('write', model, 'copy.safetensors', 'f32', f'{name}.safetensors')
    copied = {} if code else read_tensors(f'{WORK}/copy.safetensors')
    same = all(tensor_values(tensor) == tensor_values(tensors[n]) for n, tensor in copied.items())
    verdict(f'{name} is copied to the bit', None if copied and same else output or 'other values')


def check_model(path):
    name = os.path.basename(path)[:-6]
    with open(path) as f:
        text = f.read()
    tensors, slots, message = directives(text)
    model = f'{name}.model'
    with open(f'{WORK}/{model}', 'w') as f:
        f.write(text)
    write_tensors(f'{WORK}/{name}.safetensors', tensors)
    if slots:
        return check_values(name, model, tensors, slots)
    code, output = run('read' if tensors else 'check', model, *[f'{name}.safetensors'] if tensors else [])
    found = output.replace(model, 'M').replace(f'{name}.safetensors', 'C').splitlines()
    if '--bless' in sys.argv:
        print(f'{path}\n' + '\n'.join('#> ' + line for line in found))
    verdict(f'{name}: message', None if code else 'no error')
    verdict(f'{name}: whole text', first_difference(found, message))


# ---- other people's files ----

def check_storage():
    """gpt2 in half precision: each value is the hashed one, rounded to nearest."""
    _, slots, _ = directives(open(f'{HERE}/gpt2.model').read())
    for storage, kind in (('f16', 'F16'), ('bf16', 'BF16')):
        code, output = run('write', 'gpt2.model', 'half.safetensors', storage)
        tensors = {} if code else read_tensors(f'{WORK}/half.safetensors')
        fault = output if code else None
        for name, shape, centre, formula in slots if tensors else []:
            for i, value in enumerate(slot_values(tensors, shape, formula)):
                exact = hash_weight(name, shape, i, centre)
                step = 2.0 ** (math.frexp(exact)[1] - (11 if kind == 'F16' else 8))
                if abs(value - exact) > max(step, 2.0**-24 if kind == 'F16' else 0) / 2:
                    fault = f'{name} {i}: {value} for {exact}'
        if {t[0] for t in tensors.values()} != {kind}:
            fault = fault or 'another type'
        verdict(f'gpt2 is written as {storage}', fault)


def check_stories():
    """llama2.c's file, by the offsets of its own format."""
    path = f'{DATA}/stories260k/stories260K.bin'
    if not os.path.exists(path):
        return print('skip weights: stories260k: no data')
    data = open(path, 'rb').read()
    dim, hidden, layers, heads, kv_heads, vocab, _ = struct.unpack('<7i', data[:28])
    kv = dim // heads * kv_heads
    at, expected = 28, []
    sizes = {'embed': vocab * dim, 'ln1.gain': dim, 'attn.q.w': dim * dim, 'attn.k.w': kv * dim,
             'attn.v.w': kv * dim, 'attn.out.w': dim * dim, 'ln2.gain': dim, 'ffn.gate.w': hidden * dim,
             'ffn.down.w': dim * hidden, 'ffn.up.w': hidden * dim, 'final.gain': dim}
    for name, size in sizes.items():
        for layer in [''] if name in ('embed', 'final.gain') else [f'layer.{i}.' for i in range(layers)]:
            expected += [f'{layer}{name} {i} {data[at + 4 * i:at + 4 * i + 4][::-1].hex()}' for i in range(size)]
            at += 4 * size
    found = run('read', f'{HERE}/published/stories260k.model', path)[1].splitlines()
    verdict('stories260k', first_difference(sorted(found), sorted(expected)))


def check_tiny_llama():
    """A published Llama by the library's entries."""
    path = f'{DATA}/checkpoints/tiny-llama/model.safetensors'
    if not os.path.exists(path):
        return print('skip weights: tiny-llama: no data')
    tensors = read_tensors(path)
    names = {'embed': 'embed_tokens', 'final.gain': 'norm', 'ln1.gain': 'input_layernorm',
             'ln2.gain': 'post_attention_layernorm', 'attn.q.w': 'self_attn.q_proj', 'attn.k.w': 'self_attn.k_proj',
             'attn.v.w': 'self_attn.v_proj', 'attn.out.w': 'self_attn.o_proj', 'ffn.gate.w': 'mlp.gate_proj',
             'ffn.up.w': 'mlp.up_proj', 'ffn.down.w': 'mlp.down_proj'}
    expected = []
    for published, (_, _, data) in tensors.items():
        layer = re.match(r'model\.layers\.(\d+)\.', published)
        rest = re.sub(r'^model\.(layers\.\d+\.)?|\.weight$', '', published)
        own = 'head.w' if rest == 'lm_head' else next(k for k, v in names.items() if v == rest)
        prefix = f'layer.{layer[1]}.' if layer else ''
        expected += [f'{prefix}{own} {i} {data[4 * i:4 * i + 4][::-1].hex()}' for i in range(len(data) // 4)]
    found = run('read', f'{HERE}/published/tiny_llama.model', path)[1].splitlines()
    verdict('tiny-llama', first_difference(sorted(found), sorted(expected)))


for entry in sorted(os.listdir(HERE)):
    if entry.endswith('.model'):
        check_model(f'{HERE}/{entry}')
check_storage()
check_stories()
check_tiny_llama()
sys.exit(failures != 0)

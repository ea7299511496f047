"""Checkpoints of codes that are wrong or not whole: each is rejected with a message that names the tensor or the key.

    refused.py TOOL WORK CASES
"""
import json
import os
import subprocess
import sys

TOOL, WORK, CASES = sys.argv[1:4]
failed = 0


def read(path):
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(size))
        data = f.read()
    return {k: [t["dtype"], t["shape"], data[slice(*t["data_offsets"])]] for k, t in header.items() if k != "__metadata__"}


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


def listed(folder):
    try:
        done = subprocess.run([TOOL, "list", folder], capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        return 124, "no end after 60 s"
    return done.returncode, done.stdout.decode() + done.stderr.decode()


def opened(case, edit):
    folder = f"{WORK}/edited"
    os.makedirs(folder, exist_ok=True)
    with open(f"{CASES}/{case}/config.json") as f:
        config = json.load(f)
    tensors = read(f"{CASES}/{case}/model.safetensors")
    edit(config["quantization_config"], tensors)
    if config["quantization_config"].pop("left out", False):
        del config["quantization_config"]
    write(f"{folder}/model.safetensors", tensors)
    with open(f"{folder}/config.json", "w") as f:
        json.dump(config, f)
    return listed(folder)


def refused(name, case, edit, *wanted):
    global failed
    code, text = opened(case, edit)
    good = code == 1 and all(w in text for w in wanted) and text.count("\n") == 1
    failed += not good
    print(f"ok scaled refuses {name}" if good else f"FAIL scaled refuses {name}: exit {code}: {text}     expected {wanted}")


def accepted(name, case, edit, *wanted):
    global failed
    code, text = opened(case, edit)
    good = code == 0 and all(w in text for w in wanted)
    failed += not good
    print(f"ok scaled accepts {name}" if good else f"FAIL scaled accepts {name}: exit {code}: {text}")


def key(name, value):
    return lambda c, t: c.update({name: value})


def without(name):
    return lambda c, t: c.pop(name)


def gone(name):
    return lambda c, t: t.pop(name)


def shaped(name, shape):
    return lambda c, t: t[name].__setitem__(1, shape)


def typed(name, dtype, shape=None):
    def edit(c, t):
        t[name][0] = dtype
        if shape:
            t[name][1] = shape
    return edit


def bytes_of(name, content):
    return lambda c, t: t[name].__setitem__(2, content)


def weights(**values):
    return lambda c, t: c["config_groups"]["group_0"]["weights"].update(values)


# --- a part that is missing ---

for case, part, whole in (
        ("fp8_block", "a.weight_scale_inv", '"a.weight", F8_E4M3: it has no scales'), ("fp8_tensor", "a.weight_scale", '"a.weight", F8_E4M3: it has no scales'),
        ("compressed_int8_channel", "a.weight_scale", '"a.weight", I8: it has no scales'), ("compressed_pack4", "a.weight_scale", '"a.weight_packed", I32: it has no scales'),
        ("compressed_pack4", "a.weight_shape", '"a.weight_packed", I32: it has no _shape'), ("compressed_pack4_zeros", "a.weight_zero_point", "zero points are missing"),
        ("compressed_nvfp4", "a.weight_scale", '"a.weight_packed", U8: it has no scales'), ("compressed_nvfp4", "a.weight_global_scale", "it has no _global_scale"),
        ("modelopt_nvfp4", "a.weight_scale_2", "it has no _scale_2"), ("modelopt_fp8", "a.weight_scale", '"a.weight", F8_E4M3: it has no scales'),
        ("compressed_mxfp4", "a.weight_scale", '"a.weight_packed", U8: it has no scales'), ("awq", "m.a.scales", '"m.a.qweight", I32: it has no scales'),
        ("awq", "m.a.qzeros", "zero points are missing"), ("gptq_4", "a.scales", '"a.qweight", I32: it has no scales'), ("gptq_4", "a.qzeros", "zero points are missing"),
        ("mxfp4", "e.down_proj_scales", '"e.down_proj_blocks", U8: it has no scales'), ("bitnet", "a.weight_scale", '"a.weight", U8: it has no scales')):
    refused(f"{case} without {part}", case, gone(part), whole)
for case, part, left in (("fp8_block", "a.weight", "a.weight_scale_inv"), ("compressed_pack4", "a.weight_packed", "a.weight_scale"), ("awq", "m.a.qweight", "m.a.qzeros"),
                         ("compressed_nvfp4", "a.weight_packed", "a.weight_global_scale"), ("gptq_4", "a.qweight", "a.g_idx")):
    refused(f"{case} without {part}", case, gone(part), f'"{left}"', "there are no codes to which it belongs")

refused("FP8 with scales that no configuration describes", "fp8_block", key("left out", True), 'F8_E5M2: the file has scales for such codes, as "b.weight_scale_inv"',
        "/config.json with a quantization_config")

# --- shapes and types ---

for case, part, shape, why in (
        ("fp8_block", "a.weight_scale_inv", [2, 3], "scales of another shape: codes [48, 64], scales [2, 3]; expected 8 bits and blocks of 16 x 32"), ("fp8_block", "a.weight_scale_inv", [6], "scales of another shape"),
        ("fp8_block", "a.weight", [48 * 64], "codes of another shape"), ("fp8_block", "a.weight", [64, 48], "scales of another shape"), ("fp8_experts", "e.gate_up_proj", [2, 48, 64], "scales of another shape"),
        ("fp8_experts", "e.gate_up_proj_scale_inv", [2, 3, 2], "scales of another shape"), ("compressed_fp8_channel", "a.weight_scale", [1, 12], "scales of another shape"),
        ("compressed_fp8_block", "a.weight_scale", [9], "scales of another shape"), ("compressed_pack4", "a.weight_scale", [3, 12], "scales of another shape"),
        ("compressed_pack4", "a.weight_packed", [6, 12], "codes of another shape"), ("compressed_pack4_zeros", "a.weight_zero_point", [3, 2], "zero points of another shape"),
        ("compressed_pack4_zeros", "a.weight_zero_point", [6], "zero points of another shape"), ("compressed_nvfp4", "a.weight_scale", [3, 12], "scales of another shape"),
        ("compressed_nvfp4", "a.weight_packed", [24, 12], "scales of another shape"), ("awq", "m.a.scales", [32, 3], "scales of another shape"), ("awq", "m.a.qweight", [4, 48], "scales of another shape"),
        ("awq", "m.a.qzeros", [4, 3], "zero points of another shape"), ("awq", "m.a.qweight", [2, 24, 4], "codes of another shape"), ("gptq_4", "a.qweight", [64, 12], "scales of another shape"),
        ("gptq_4", "a.qzeros", [8, 3], "zero points of another shape"), ("mxfp4", "e.down_proj_scales", [3, 4, 2], "scales of another shape"),
        ("mxfp4", "e.down_proj_blocks", [3, 8, 2, 8], "codes of another shape"), ("mxfp4", "e.down_proj_blocks", [24, 16], "codes of another shape")):
    refused(f"{case} with {part} of shape {shape}", case, shaped(part, shape), why, f'"{part}"' if "blocks" in part else "")
refused("an empty matrix", "fp8_block", lambda c, t: t.update({"a.weight": ["F8_E4M3", [0, 64], b""]}), "codes of another shape")
refused("a list of groups that is too short", "gptq_4", lambda c, t: t.update({"a.g_idx": ["I32", [95], bytes(4 * 95)]}), "another number of columns in the list of groups")
refused("a group beyond the scales", "gptq_4", bytes_of("a.g_idx", (3).to_bytes(4, "little") + bytes(4 * 95)), '"a.g_idx": column 0 is in group 3; expected 0 to 2')
refused("a group of -1", "gptq_4", bytes_of("a.g_idx", bytes(4 * 95) + b"\xff\xff\xff\xff"), '"a.g_idx": column 95 is in group -1; expected 0 to 2')
for sizes in ((12, 49), (13, 48), (12, -48), (-12, 48), (12, 0), (2**31 - 1, 2**31 - 1)):
    content = b"".join(x.to_bytes(8, "little", signed=True) for x in sizes)
    refused(f"codes of {sizes[0]} x {sizes[1]}", "compressed_pack4", bytes_of("a.weight_shape", content), "codes of another shape")
refused("a shape of three sizes", "compressed_pack4", lambda c, t: t.update({"a.weight_shape": ["I64", [3], bytes(24)]}), "codes of another shape")
refused("a shape in floats", "compressed_pack4", typed("a.weight_shape", "F64"), "codes of another shape")
refused("scales in integers", "awq", typed("m.a.scales", "I16"), '"m.a.scales", I16: not a type of scales; expected F32, F16 or BF16')
refused("scales of blocks in floats", "mxfp4", lambda c, t: t.update({"e.down_proj_scales": ["F32", [3, 8, 1], bytes(96)]}), '"e.down_proj_scales", F32: not a type of scales; expected U8')
refused("scales of integers in 8 bits", "compressed_int8_channel", lambda c, t: t.update({"a.weight_scale": ["F8_E4M3", [12, 1], bytes(12)]}), "not a type of scales")
refused("zero points in floats", "awq", typed("m.a.qzeros", "F32"), '"m.a.qzeros", F32: not a type of zero points')
refused("packed zero points of bytes", "compressed_int8_zeros", lambda c, t: t.update({"a.weight_zero_point": ["I32", [12, 1], bytes(48)]}), "not a type of zero points")
refused("a list of groups in floats", "gptq_4", typed("a.g_idx", "F32"), '"a.g_idx", F32: not a list of groups; expected I32')
refused("two global scales", "compressed_nvfp4", lambda c, t: t.update({"a.weight_global_scale": ["F32", [2], bytes(8)]}), "not a scale of all groups; expected one F32")
refused("a global scale of 0", "compressed_nvfp4", bytes_of("a.weight_global_scale", bytes(4)), '"a.weight_global_scale": it is 0; expected the scale of all groups')
refused("a global scale that is no number", "compressed_nvfp4", bytes_of("a.weight_global_scale", b"\x00\x00\xc0\x7f"), '"a.weight_global_scale": it is nan; expected the scale of all groups')
refused("codes of another method", "compressed_nvfp4", lambda c, t: (c.clear(), c.update({"quant_method": "modelopt", "quant_algo": "NVFP4"})),
        '"a.weight_packed": names of codes end with _packed for other methods than modelopt; expected the quant_method that wrote the file')
refused("a list of groups for floats", "compressed_fp8_channel", lambda c, t: t.update({"a.weight_g_idx": ["I32", [20], bytes(80)]}), '"a.weight_g_idx", I32: there are no codes')
refused("codes of 64 bits", "awq", typed("m.a.qweight", "I64", [48, 2]), '"m.a.qweight" has type I64; expected I32, for codes')
refused("blocks of signed bytes", "mxfp4", typed("e.down_proj_blocks", "I8"), '"e.down_proj_blocks" has type I8; expected U8, for codes')
refused("codes of a type without a group", "compressed_mixed", lambda c, t: c["config_groups"].pop("group_1"), '"b.weight_packed", I32: quantization_config describes no matrix of this type')
refused("a name twice", "awq", lambda c, t: t.update({"m.a.weight": ["F16", [1], bytes(2)]}), 'two tensors are named "m.a.weight"')

# --- keys ---

for name, case, edit, *why in (
        ("blocks of one size", "fp8_block", key("weight_block_size", [128]), "weight_block_size is [128]; expected [rows, columns]"),
        ("blocks of size 0", "fp8_block", key("weight_block_size", [0, 128]), "weight_block_size is [0,128]; expected [rows, columns]"),
        ("blocks of another size", "fp8_block", key("weight_block_size", [48, 32]), "scales of another shape", "blocks of 48 x 32"),
        ("blocks of halves", "fp8_block", key("weight_block_size", [1.5, 1.5]), "weight_block_size is [1.5,1.5]"),
        ("no blocks, but scales of blocks", "fp8_block", key("weight_block_size", None), "scales of another shape"),
        ("an unknown type of scales", "fp8_block", key("scale_fmt", "ue5m3"), 'scale_fmt is "ue5m3"; expected float, ue8m0'),
        ("bits of 3", "awq", key("bits", 3), "quantization_config.bits is 3; expected 4"),
        ("AWQ of 8 bits, whose order is another", "awq", key("bits", 8), "quantization_config.bits is 8; expected 4"),
        ("AWQ of 2 bits in a module", "awq", key("dynamic", {"+:b": {"bits": 2}}), "dynamic.+:b.bits is 2; expected 4"),
        ("GPTQ of 3 bits", "gptq_4", key("bits", 3), "quantization_config.bits is 3; expected 2, 4 or 8"),
        ("bits in words", "awq", key("bits", "four"), 'bits is "four"; expected 4'),
        ("bits of another size", "gptq_4", key("bits", 8), "scales of another shape"),
        ("no bits", "gptq_4", without("bits"), "quantization_config has no bits; expected 2, 4 or 8"),
        ("groups of 0", "gptq_4", key("group_size", 0), "group_size is 0; expected a number of columns, or -1 for all"),
        ("groups of another size", "gptq_4", key("group_size", 64), "scales of another shape", "[12, 64]"),
        ("groups of all", "awq", key("group_size", -1), "scales of another shape"),
        ("an unknown order of codes", "gptq_4", key("checkpoint_format", "marlin"), 'checkpoint_format is "marlin"; expected gptq, gptq_v2'),
        ("words of 16 bits", "gptq_4", key("pack_dtype", "int16"), 'pack_dtype is "int16"; expected int32'),
        ("the layout of a kernel", "gptq_4", key("is_marlin_format", True), "is_marlin_format is true; expected false"),
        ("an adapter", "gptq_4", key("adapter", {"name": "lora"}), "adapter is"),
        ("other sizes that are a list", "gptq_4", key("dynamic", [1]), "dynamic is [1]; expected an object of modules"),
        ("other sizes that are a number", "gptq_4", key("dynamic", {"+:b": 4}), "dynamic.+:b is 4; expected an object of the modules' sizes"),
        ("other sizes that are a text", "auto_round", key("extra_config", {"b": "float"}), 'extra_config.b is "float"; expected an object of the modules\' sizes'),
        ("other sizes with bits of 5", "gptq_4", key("dynamic", {"+:b": {"bits": 5}}), "dynamic.+:b.bits is 5; expected 2, 4 or 8"),
        ("an order of codes of AWQ", "awq", key("version", "gemv"), 'version is "gemv"; expected gemm'),
        ("a backend of AWQ", "awq", key("backend", "llm-awq"), 'backend is "llm-awq"; expected autoawq'),
        ("a packing of auto-round", "auto_round", key("packing_format", "auto_round:llm_compressor"), 'packing_format is "auto_round:llm_compressor"; expected auto_round:auto_gptq'),
        ("a type of auto-round", "auto_round", key("data_type", "mx_fp"), 'data_type is "mx_fp"; expected int'),
        ("a rotation", "auto_round", key("rotation_config", {"block_size": 32}), "rotation_config is"),
        ("no groups", "compressed_pack4", without("config_groups"), "quantization_config has no config_groups; expected an object of groups of modules"),
        ("a group without weights", "compressed_pack4", lambda c, t: c["config_groups"].update({"W4A16": ["Linear"]}), "config_groups.W4A16 is [\"Linear\"]; expected an object with the key weights"),
        ("an unknown format", "compressed_pack4", key("format", "marlin-24"), 'format is "marlin-24"; expected pack-quantized'),
        ("sparse weights", "compressed_pack4", key("sparsity_config", {"format": "sparse-24-bitmask"}), 'sparsity_config.format is "sparse-24-bitmask"; expected dense'),
        ("transformed weights", "compressed_pack4", key("transform_config", {"config_groups": {"a": {}}}), "transform_config is"),
        ("another number of bits", "compressed_pack4", weights(num_bits=8), "codes of another shape"),
        ("3 bits", "compressed_pack4", weights(num_bits=3), "config_groups.group_0.weights.num_bits is 3; expected 2, 4 or 8"),
        ("floats instead of integers", "compressed_pack4", weights(type="float"), "quantization_config describes no matrix of this type"),
        ("an unknown type", "compressed_pack4", weights(type="posit"), 'weights.type is "posit"; expected int, float'),
        ("zero points that the key lacks", "compressed_pack4_zeros", weights(group_size=24), "scales of another shape"),
        ("zero points that the file lacks", "compressed_pack4", weights(symmetric=False), "zero points are missing"),
        ("an unknown strategy", "compressed_pack4", weights(strategy="token"), 'weights.strategy is "token"; expected tensor, channel, group, block, tensor_group'),
        ("groups without a size", "compressed_pack4", weights(group_size=None), "config_groups.group_0.weights.group_size"),
        ("blocks without a size", "compressed_fp8_block", weights(block_structure=None), "config_groups.group_0.weights.block_structure"),
        ("groups beyond 64 bits", "gptq_4", key("group_size", 2**63), "quantization_config.group_size is 9.22"),
        ("an empty key of weights", "compressed_pack4", weights(**{"": 1}), "config_groups.group_0.weights. is 1; expected"),
        ("two keys of weights as one", "compressed_pack4", weights(**{"num_bits type": 1}), "weights.num_bits type is 1; expected"),
        ("an unknown key of weights", "compressed_pack4", weights(mystery=1), "config_groups.group_0.weights.mystery is 1; expected"),
        ("an algorithm of ModelOpt", "modelopt_fp8", key("quant_algo", "MIXED_PRECISION"), 'quant_algo is "MIXED_PRECISION"; expected FP8, NVFP4'),
        ("no algorithm of ModelOpt", "modelopt_fp8", without("quant_algo"), "quantization_config has no quant_algo; expected FP8, NVFP4"),
        ("a class of BitNet", "bitnet", key("linear_class", "linear"), 'linear_class is "linear"; expected bitlinear, autobitlinear'),
        ("BitNet that quantises when it runs", "bitnet", key("quantization_mode", "online"), 'quantization_mode is "online"; expected offline'),
        ("BitNet with norms of inputs", "bitnet", key("use_rms_norm", True), "use_rms_norm is true; expected false")):
    refused(name, case, edit, "/config.json: quantization_config" if " is " in why[0] or " has no " in why[0] else "", *why)
many = {f"+:m{i}": {"group_size": i + 1} for i in range(70)}
refused("other sizes in 70 ways", "gptq_4", key("dynamic", many), "describes matrices in more than 64 ways")

# --- what may vary ---

accepted("numbers without codes, after a conversion", "awq", lambda c, t: (t.clear(), t.update({"m.a.weight": ["F16", [2], bytes(4)]})), "m.a.weight F16 2\n")
accepted("an unknown method, whose tensors are listed as they are", "awq", key("quant_method", "of tomorrow"), "m.a.qweight I32 48 4\n")
accepted("no method", "awq", without("quant_method"), "m.a.qweight I32 48 4\n")
accepted("a key without an effect", "awq", key("do_fuse", True), "m.a.weight F16 32 48 from codes\n")
accepted("a number that JSON lacks, as Python writes it", "awq", key("do_fuse", float("inf")), "m.a.weight F16 32 48 from codes\n")
accepted("a number beyond 64 bits without an effect", "awq", key("do_fuse", 10**30), "m.a.weight F16 32 48 from codes\n")
accepted("null for a key", "awq", key("version", None), "m.a.weight F16 32 48 from codes\n")
accepted("GPTQ without a list of groups", "gptq_4", gone("a.g_idx"), "a.weight F16 64 96 from codes\n")
accepted("other sizes of modules that are left out", "gptq_4", key("dynamic", {"-:b": False, "c": None}), "a.weight F16 64 96 from codes\n")
accepted("AWQ without bits", "awq", without("bits"), "m.a.weight F16 32 48 from codes\n")

# --- config.json that is no such file ---

def replaced(content):
    def edit(c, t):
        path = f"{WORK}/replaced"
        os.makedirs(path, exist_ok=True)
        write(f"{path}/model.safetensors", t)
        if os.path.lexists(f"{path}/config.json"):
            os.remove(f"{path}/config.json")
        if content is None:
            os.mkfifo(f"{path}/config.json")
        else:
            with open(f"{path}/config.json", "w") as f:
                f.write(content)
    opened("awq", edit)
    return listed(f"{WORK}/replaced")


for name, content, why in (("a pipe", None, "cannot open: it is a pipe (FIFO), not a regular file"), ("no JSON", '{"quantization_config": {', "config.json:1: byte 25: not valid JSON"),
                           ("empty", "", "not valid JSON"), ("two values for one key", '{"a": 1,\n "a": 2}', "config.json:2: byte ")):
    code, text = replaced(content)
    good = code == 1 and f"{WORK}/replaced/config.json" in text and why in text and text.count("\n") == 1
    failed += not good
    print(f"ok scaled refuses config.json that is {name}" if good else f"FAIL scaled refuses config.json that is {name}: exit {code}: {text}")

# --- a file that is truncated after it was opened ---

for case in ("fp8_block", "gptq_4", "mxfp4"):
    opened(case, lambda c, t: None)
    done = subprocess.run([TOOL, "cut", f"{WORK}/edited"], capture_output=True, timeout=60)
    good = done.returncode == 0 and done.stdout == b"every tensor from codes was refused\n"
    failed += not good
    print(f"ok scaled {case}, truncated" if good else f"FAIL scaled {case}, truncated: {done.stdout} {done.stderr}")
sys.exit(failed != 0)

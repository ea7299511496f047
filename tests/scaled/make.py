"""Writes cases/NAME/model.safetensors and config.json, and cases/NAME.expected.safetensors, for each format of quantised weights.

    PYTHON tests/scaled/make.py PACKAGES [PART...]

PYTHON has torch, transformers 5.24 and compressed-tensors 0.20; PACKAGES is a folder with the files of the PyPI packages autoawq
0.2.9 and auto-round 0.16.1 (pip install --no-deps --target).  PART is a function below, such as wide: its cases are replaced, others are
kept.  Numbers are small and random, the same in each run.  Tensors are written by
these packages where they have a writer that runs without a GPU, and expected numbers are those of their own functions:

    fp8                 transformers, integrations/finegrained_fp8.py: Fp8Dequantize
    compressed-tensors  its compressors
    awq                 autoawq, modules/linear/gemm.py and utils/packing_utils.py
    gptq, auto-round    auto-round, auto_round_extension/torch/qlinear_torch_zp.py and qlinear_torch.py, whose products with the unit
                        matrix are the numbers.  Formats that they do not write (order by activations, 4-bit zero points without an
                        offset of one) follow the formula of gptqmodel, nn_modules/qlinear/__init__.py:
                        scales[g_idx] * (weight - zeros[g_idx])
    mxfp4, bitnet       transformers, integrations/mxfp4.py and bitnet.py
    modelopt            the formula of github.com/NVIDIA/TensorRT-Model-Optimizer, modelopt/torch/quantization/qtensor/nvfp4_tensor.py
"""
import importlib.util
import json
import os
import shutil
import sys
import types
from unittest import mock

import torch
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = os.path.join(HERE, "cases")
PACKAGES, PARTS = sys.argv[1], sys.argv[2:]
BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32
generator = torch.Generator()


def load(name, path, **stubs):
    """A module of a package by its file, with others replaced."""
    for stub, names in stubs.items():
        module = types.ModuleType(stub.replace("__", "."))
        module.__dict__.update(names)
        sys.modules[module.__name__] = module
    spec = importlib.util.spec_from_file_location(name, os.path.join(PACKAGES, path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def randn(*shape, scale=1.0):
    return torch.randn(*shape, generator=generator) * scale


def codes(*shape, most=256, dtype=torch.uint8):
    return torch.randint(0, most, shape, generator=generator, dtype=torch.int64).to(dtype)


def floats_of_8(kind, *shape):
    """All codes but NaN and infinity."""
    raw = codes(*shape)
    bad = (raw & 0x7F) == 0x7F if kind == torch.float8_e4m3fn else (raw & 0x7C) == 0x7C
    return torch.where(bad, raw & 0x3F, raw).view(kind)


def case(name, config, tensors, expected, dtype="bfloat16"):
    folder = os.path.join(CASES, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    plain = {"norm.weight": randn(5).to(BF16)}
    save_file({k: v.contiguous() for k, v in {**tensors, **plain}.items()}, os.path.join(folder, "model.safetensors"))
    config = {**({"dtype": dtype} if dtype else {}), "quantization_config": config}
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f, indent=1)
        f.write("\n")
    save_file({k: v.detach().contiguous() for k, v in {**expected, **plain}.items()}, os.path.join(CASES, name + ".expected.safetensors"))


# --- FP8 ---

def fp8():
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    one = Fp8Dequantize(None)._dequantize_one
    e4m3, e5m2 = torch.float8_e4m3fn, torch.float8_e5m2
    config = {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [16, 32]}
    for name, dtype, word in (("fp8_block", BF16, "bfloat16"), ("fp8_block_f16", F16, "float16"), ("fp8_block_f32", F32, "float32"), ("fp8_block_no_dtype", None, None)):
        w, s = floats_of_8(e4m3, 48, 64), randn(3, 2, scale=1e-3)
        v, t = floats_of_8(e5m2, 16, 32), randn(1, 1, scale=1e-5)
        tensors = {"a.weight": w, "a.weight_scale_inv": s, "a.bias": randn(48).to(BF16), "b.weight": v, "b.weight_scale_inv": t, "lm_head.weight": randn(4, 8).to(BF16)}
        case(name, {**config, "modules_to_not_convert": ["lm_head"]}, tensors,
             {"a.weight": one(w, s, dtype), "a.bias": tensors["a.bias"], "b.weight": one(v, t, dtype), "lm_head.weight": tensors["lm_head.weight"]}, word)
    # experts, and scales that are powers of two: bytes, and a type of their own
    w, s = floats_of_8(e4m3, 3, 32, 64), randn(3, 2, 2, scale=1e-2)
    x, t = floats_of_8(e4m3, 6, 64), codes(6, 2, most=40) + 100
    y, u = floats_of_8(e4m3, 16, 32), (codes(1, 1, most=30) + 110).view(torch.float8_e8m0fnu)
    case("fp8_experts", {**config, "scale_fmt": "ue8m0"},
         {"e.gate_up_proj": w, "e.gate_up_proj_scale_inv": s, "x.weight": x, "x.weight_scale_inv": t, "y.weight": y, "y.weight_scale_inv": u},
         {"e.gate_up_proj": torch.stack([one(w[i], s[i], BF16) for i in range(3)]), "x.weight": one(x, t, BF16), "y.weight": one(y, u, BF16)})
    # a matrix that blocks of [16, 32] do not divide, as in DeepSeek V3: inference/kernel.py multiplies each block in f32
    w, s = floats_of_8(e4m3, 37, 45), randn(3, 2, scale=1e-2)
    scales = s.repeat_interleave(16, 0)[:37].repeat_interleave(32, 1)[:, :45]
    case("fp8_ragged", config, {"a.weight": w, "a.weight_scale_inv": s}, {"a.weight": (w.float() * scales).to(BF16)})
    # one scale, and one for each row
    w, v = floats_of_8(e4m3, 6, 10), floats_of_8(e4m3, 6, 10)
    s, t = torch.tensor(0.0173), randn(6, 1, scale=1e-2)
    static = {"quant_method": "fp8", "activation_scheme": "static", "ignored_layers": ["lm_head"]}
    case("fp8_tensor", static, {"a.weight": w, "a.weight_scale": s, "a.input_scale": torch.tensor(2.0), "b.weight": v, "b.weight_scale": t, "b.input_scale": torch.tensor(3.0),
                                "c.k_scale": torch.tensor(1.0), "c.v_scale": torch.tensor(1.0)},
         {"a.weight": one(w, s, BF16), "b.weight": (v.float() * t).to(BF16)})
    case("fbgemm", {"quant_method": "fbgemm_fp8", "activation_scale_ub": 1200.0, "modules_to_not_convert": ["x"]},
         {"b.weight": v, "b.weight_scale": t, "b.input_scale_ub": torch.tensor([1200.0])}, {"b.weight": (v.float() * t).to(BF16)})


# --- compressed-tensors ---

def compressed(wide=False):
    """wide: only matrices whose groups are whole blocks of storage types."""
    from compressed_tensors.compressors import BaseCompressor
    from compressed_tensors.config import CompressionFormat
    from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
    from compressed_tensors.quantization.utils import calculate_qparams

    def compress(kind, args, shape, dtype=BF16, scale_of=None):
        """Tensors of a module and its numbers."""
        scheme = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**args))
        w = (randn(*shape) + 0.3).to(dtype)
        a = scheme.weights
        if a.strategy == "tensor":
            parts = w.reshape(1, 1, -1)
        elif a.strategy == "block":
            r, c = a.block_structure
            parts = w.reshape(shape[0] // r, r, shape[1] // c, c).transpose(1, 2).reshape(shape[0] // r, shape[1] // c, -1)
        else:
            parts = w.reshape(shape[0], -1, a.group_size if a.strategy in ("group", "tensor_group") else shape[1])
        least, most = parts.float().amin(-1), parts.float().amax(-1)
        state = {"weight": w}
        if a.strategy == "tensor_group":
            state["weight_global_scale"] = (448 * 6 / w.float().abs().max()).reshape(1)
            state["weight_scale"] = (state["weight_global_scale"] * torch.maximum(-least, most) / 6).to(torch.float8_e4m3fn).float()
        else:
            scale, zero = calculate_qparams(least, most, a)
            scale = scale_of(scale) if scale_of else scale.to(dtype)
            state["weight_scale"] = scale.reshape(1) if a.strategy == "tensor" else scale
            if not a.symmetric:
                state["weight_zero_point"] = zero.to(torch.int8).reshape(state["weight_scale"].shape)
        compressor = BaseCompressor.get_value_from_registry(CompressionFormat(kind).value)
        packed = compressor.compress(state, scheme)
        number = compressor.decompress({k: v.clone() for k, v in packed.items()}, scheme)["weight"]
        packed = {k: v if isinstance(v, torch.Tensor) else torch.tensor(v) for k, v in packed.items()}
        return packed, number, json.loads(scheme.model_dump_json())

    def config_of(kind, *schemes):
        return {"quant_method": "compressed-tensors", "format": kind, "quantization_status": "compressed", "ignore": ["lm_head", "re:.*gate$"], "kv_cache_scheme": None,
                "global_compression_ratio": None, "config_groups": {f"group_{i}": {**s, "input_activations": None, "output_activations": None} for i, s in enumerate(schemes)}}

    def named(prefix, tensors):
        return {f"{prefix}.{key}": value for key, value in tensors.items()}

    def one(name, kind, args, shape, dtype=BF16, word="bfloat16", scale_of=None):
        packed, number, scheme = compress(kind, args, shape, dtype, scale_of)
        to = {"bfloat16": BF16, "float16": F16, None: None}[word]
        case(name, config_of(kind, scheme), named("a", packed), {"a.weight": number if to is None else number.to(to)}, word)

    if wide:
        grouped = {"num_bits": 4, "type": "int", "strategy": "group"}
        one("wide_pack4_32", "pack-quantized", {**grouped, "group_size": 32}, (12, 96))
        one("wide_pack4_64", "pack-quantized", {**grouped, "group_size": 64, "symmetric": False}, (18, 128), F16, "float16")
        one("wide_pack4_128", "pack-quantized", {**grouped, "group_size": 128, "symmetric": False}, (17, 384))
        one("wide_pack4_256_f16_of_bf16", "pack-quantized", {**grouped, "group_size": 256, "symmetric": False}, (12, 512), F16, "bfloat16")
        one("wide_pack4_channel", "pack-quantized", {"num_bits": 4, "type": "int", "strategy": "channel", "symmetric": False}, (12, 96))
        one("wide_fp8_channel", "float-quantized", {"num_bits": 8, "type": "float", "strategy": "channel"}, (12, 128))
        one("wide_fp8_channel_f16", "float-quantized", {"num_bits": 8, "type": "float", "strategy": "channel"}, (12, 128), BF16, "float16")
        one("wide_int8_f16", "int-quantized", {"num_bits": 8, "type": "int", "strategy": "channel"}, (12, 64), F16, "float16")
        one("wide_pack8_f16", "pack-quantized", {"num_bits": 8, "type": "int", "strategy": "group", "group_size": 32}, (12, 64), F16, "float16")
        return
    floats = {"num_bits": 8, "type": "float"}
    ints = {"num_bits": 8, "type": "int"}
    four = {"num_bits": 4, "type": "int"}
    one("compressed_fp8_channel", "float-quantized", {**floats, "strategy": "channel"}, (12, 20))
    one("compressed_fp8_tensor", "float-quantized", {**floats, "strategy": "tensor"}, (12, 20))
    one("compressed_fp8_block", "float-quantized", {**floats, "strategy": "block", "block_structure": [4, 8]}, (12, 24))
    one("compressed_fp8_scales_f32", "float-quantized", {**floats, "strategy": "channel"}, (12, 20), scale_of=lambda s: s.float() * 1.0001)
    one("compressed_int8_channel", "int-quantized", {**ints, "strategy": "channel"}, (12, 20))
    one("compressed_int8_tensor", "int-quantized", {**ints, "strategy": "tensor"}, (12, 20), F16, "float16")
    one("compressed_int8_zeros", "int-quantized", {**ints, "strategy": "channel", "symmetric": False}, (12, 20))
    one("compressed_int4_bytes", "naive-quantized", {**four, "strategy": "group", "group_size": 8}, (12, 24))
    one("compressed_pack4", "pack-quantized", {**four, "strategy": "group", "group_size": 16}, (12, 48))
    one("compressed_pack4_zeros", "pack-quantized", {**four, "strategy": "group", "group_size": 16, "symmetric": False}, (12, 48))
    one("compressed_pack4_channel", "pack-quantized", {**four, "strategy": "channel", "symmetric": False}, (13, 43))
    one("compressed_pack4_f16", "pack-quantized", {**four, "strategy": "group", "group_size": 16, "symmetric": False}, (12, 48), F16, None)
    one("compressed_pack4_f16_of_bf16", "pack-quantized", {**four, "strategy": "group", "group_size": 16}, (12, 48), F16, "bfloat16")
    one("compressed_pack8", "pack-quantized", {**ints, "strategy": "channel"}, (12, 21))
    one("compressed_pack8_zeros", "pack-quantized", {**ints, "strategy": "group", "group_size": 4, "symmetric": False}, (9, 20))
    one("compressed_pack2", "pack-quantized", {"num_bits": 2, "type": "int", "strategy": "group", "group_size": 16, "symmetric": False}, (20, 32))
    one("compressed_nvfp4", "nvfp4-pack-quantized", {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}, (12, 48))
    one("compressed_nvfp4_f16", "nvfp4-pack-quantized", {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16}, (12, 48), F16, "float16")
    one("compressed_mxfp4", "mxfp4-pack-quantized", {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32}, (12, 64))
    one("compressed_mxfp8", "mxfp8-quantized", {"num_bits": 8, "type": "float", "strategy": "group", "group_size": 32, "scale_dtype": "uint8"}, (12, 64))
    # two groups of modules with other formats
    a, number_a, scheme_a = compress("float-quantized", {**floats, "strategy": "channel"}, (8, 16))
    b, number_b, scheme_b = compress("pack-quantized", {**four, "strategy": "group", "group_size": 8}, (8, 16))
    scheme_a["format"], scheme_b["format"] = "float-quantized", "pack-quantized"
    case("compressed_mixed", config_of("mixed-precision", scheme_a, scheme_b), {**named("a", a), **named("b", b)}, {"a.weight": number_a, "b.weight": number_b})
    # the order of columns by activations, of earlier versions: forward.py of 0.12 takes the scale of each column from its group
    order = torch.randperm(48, generator=generator).to(torch.int32) // 16
    c, _, scheme_c = compress("pack-quantized", {**four, "strategy": "group", "group_size": 16, "symmetric": False}, (12, 48))
    from compressed_tensors.compressors.pack_quantized.helpers import unpack_from_int32
    raw, zero = unpack_from_int32(c["weight_packed"], 4, (12, 48)), unpack_from_int32(c["weight_zero_point"], 4, (12, 3), packed_dim=0)
    number_c = (raw.to(BF16) - zero.to(BF16)[:, order.long()]) * c["weight_scale"][:, order.long()]
    case("compressed_order", config_of("pack-quantized", scheme_c), named("a", {**c, "weight_g_idx": order}), {"a.weight": number_c})


# --- AWQ, GPTQ, auto-round ---

def integers():
    awq = load("awq_gemm", "awq/modules/linear/gemm.py", awq__utils__module={"try_import": lambda name: (None, "")},
               awq__utils__utils={"get_best_device": lambda: "cpu"}, awq__utils__packing_utils={"dequantize_gemm": None},
               awq__modules__triton__gemm={"awq_gemm_triton": None, "awq_dequantize_triton": None})
    unpack = load("awq_packing", "awq/utils/packing_utils.py").dequantize_gemm

    def awq_module(rows, columns, group, dtype=F16):
        g = columns if group == -1 else group
        linear = torch.nn.Linear(columns, rows, bias=False)
        linear.weight.data = randn(rows, columns).to(dtype)
        parts = linear.weight.data.float().reshape(rows, -1, g)
        least, most = parts.amin(-1), parts.amax(-1)
        scales = ((most - least) / 15).to(dtype)
        zeros = (-(least / scales.float()).round()).clamp(0, 15)
        q = awq.WQLinear_GEMM.from_linear(linear, 4, g, False, scales.t().contiguous(), zeros.t().contiguous().to(dtype))
        tensors = {"qweight": q.qweight, "qzeros": q.qzeros, "scales": q.scales}
        return tensors, unpack(q.qweight, q.qzeros, q.scales, 4, g).t()

    config = {"quant_method": "awq", "bits": 4, "group_size": 16, "zero_point": True, "version": "gemm", "modules_to_not_convert": None}
    a, number = awq_module(32, 48, 16)
    case("awq", config, {f"m.a.{k}": v for k, v in a.items()}, {"m.a.weight": number}, "float16")
    a, number = awq_module(32, 40, -1)
    case("awq_whole", {**config, "group_size": -1}, {f"a.{k}": v for k, v in a.items()}, {"a.weight": number})
    packing = load("auto_round.utils.bit_packing", "auto_round/utils/bit_packing.py", auto_round={}, auto_round__utils={"get_packing_device": lambda d=None: torch.device("cpu")})
    del packing
    offset = None
    plain = load("auto_round_extension.torch.qlinear_torch", "auto_round_extension/torch/qlinear_torch.py", auto_round_extension={}, auto_round_extension__torch={})
    offset = load("auto_round_extension.torch.qlinear_torch_zp", "auto_round_extension/torch/qlinear_torch_zp.py")

    def round_module(kind, bits, rows, columns, group, symmetric=False):
        g = columns if group == -1 else group
        linear = torch.nn.Linear(columns, rows, bias=False)
        linear.weight.data = randn(rows, columns).to(F16)
        parts = linear.weight.data.float().reshape(rows, -1, g)
        least, most = parts.amin(-1), parts.amax(-1)
        top = 2**bits - 1
        scales = ((most - least) / top).to(F16).float()
        zeros = torch.full_like(scales, 2 ** (bits - 1)) if symmetric else (-(least / scales).round()).clamp(1, top)
        q = kind.QuantLinear(bits, group, columns, rows, False)
        q.device = torch.device("cpu")  # qlinear_torch.py reads it, and sets it nowhere
        with mock.patch.object(torch.cuda, "is_available", lambda: False):
            q.pack(linear, scales, zeros, None)
        number = q(torch.eye(columns, dtype=F16)).t()
        return {"qweight": q.qweight, "qzeros": q.qzeros, "scales": q.scales}, number

    gptq = {"quant_method": "gptq", "bits": 4, "group_size": 32, "desc_act": False, "sym": False, "damp_percent": 0.01, "true_sequential": True}
    round_4 = {"quant_method": "auto-round", "bits": 4, "group_size": 32, "sym": True, "data_type": "int", "iters": 200, "autoround_version": "0.16.1"}

    def groups(columns, group):
        return (torch.arange(columns) // (columns if group == -1 else group)).to(torch.int32)

    for bits in (2, 4, 8):
        a, number = round_module(offset, bits, 64, 96, 32)
        case(f"gptq_{bits}", {**gptq, "bits": bits}, {**{f"a.{k}": v for k, v in a.items()}, "a.g_idx": groups(96, 32)}, {"a.weight": number}, "float16")
    a, number = round_module(offset, 4, 32, 64, -1)
    case("gptq_whole", {**gptq, "group_size": -1}, {**{f"a.{k}": v for k, v in a.items()}, "a.g_idx": groups(64, -1)}, {"a.weight": number}, "float16")
    a, number = round_module(offset, 4, 32, 64, 32, True)
    case("auto_round_gptq", {**round_4, "packing_format": "auto_round:auto_gptq"}, {f"a.{k}": v for k, v in a.items()}, {"a.weight": number})
    a, number = round_module(plain, 4, 32, 64, 32)
    case("auto_round", {**round_4, "sym": False, "packing_format": "auto_round:gptqmodel"}, {f"a.{k}": v for k, v in a.items()}, {"a.weight": number})
    a, number = awq_module(32, 64, 32)
    b, other = awq_module(32, 64, 16)
    case("auto_round_awq", {**round_4, "packing_format": "auto_round:auto_awq", "extra_config": {"b": {"group_size": 16}, "lm_head": {"bits": 16, "data_type": "float"}}},
         {**{f"a.{k}": v for k, v in a.items()}, **{f"b.{k}": v for k, v in b.items()}}, {"a.weight": number, "b.weight": other})

    # codes packed along columns, zero points along rows; offset: what is stored less
    def gptq_packed(bits, rows, columns, order, off, dtype=F16):
        per, count = 32 // bits, int(order.max()) + 1
        raw, zero = codes(columns, rows, most=2**bits, dtype=torch.int64), codes(count, rows, most=2**bits, dtype=torch.int64)
        scale = (randn(count, rows).abs() * 0.01).to(dtype)
        shift = torch.arange(per) * bits
        qweight = (raw.reshape(columns // per, per, rows) << shift[None, :, None]).sum(1)
        stored = (zero - off) % 2**bits
        qzeros = (stored.reshape(count, rows // per, per) << shift).sum(2)
        number = scale[order.long()] * (raw - zero[order.long()])
        word = torch.int32
        return {"qweight": qweight.to(word), "qzeros": qzeros.to(word), "scales": scale, "g_idx": order}, number.t()

    order = torch.randperm(96, generator=generator).to(torch.int32) // 32
    a, number = gptq_packed(4, 32, 96, order, 1)
    case("gptq_order", {**gptq, "desc_act": True}, {f"a.{k}": v for k, v in a.items()}, {"a.weight": number}, "float16")
    a, number = gptq_packed(4, 32, 96, groups(96, 32), 0, BF16)
    b, other = gptq_packed(8, 32, 64, groups(64, 64), 0, BF16)
    case("gptq_v2", {**gptq, "checkpoint_format": "gptq_v2", "pack_dtype": "int32", "dynamic": {"+:b": {"bits": 8, "group_size": -1}, "-:lm_head": {}}},
         {**{f"a.{k}": v for k, v in a.items()}, **{f"b.{k}": v for k, v in b.items()}}, {"a.weight": number, "b.weight": other})


# --- MXFP4, BitNet ---

def others():
    from transformers.integrations.bitnet import pack_weights, unpack_weights
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors
    blocks, scales = codes(3, 10, 2, 16), codes(3, 10, 2, most=30) + 105
    scales[0, 0], scales[1, 1] = torch.tensor([0, 1]), torch.tensor([254, 2])
    down, down_scales = codes(3, 8, 1, 16), codes(3, 8, 1, most=30) + 105
    bias = randn(3, 10).to(BF16)
    case("mxfp4", {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "lm_head"]},
         {"e.gate_up_proj_blocks": blocks, "e.gate_up_proj_scales": scales, "e.gate_up_proj_bias": bias, "e.down_proj_blocks": down, "e.down_proj_scales": down_scales},
         {"e.gate_up_proj": convert_moe_packed_tensors(blocks, scales), "e.gate_up_proj_bias": bias, "e.down_proj": convert_moe_packed_tensors(down, down_scales)})
    w = codes(12, 10, most=3, dtype=torch.int64) - 1
    packed = pack_weights(w.clone())
    s = torch.tensor([1.4140625], dtype=BF16)
    assert torch.equal(unpack_weights(packed, BF16), w.to(BF16))
    bitnet = {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "offline", "modules_to_not_convert": None}
    case("bitnet", bitnet, {"a.weight": packed, "a.weight_scale": s}, {"a.weight": w.to(BF16) * s})
    case("bitnet_divided", {"quant_method": "bitnet", "modules_to_not_convert": ["lm_head"]}, {"a.weight": packed, "a.weight_scale": s}, {"a.weight": w.float() / s.float()})


# --- ModelOpt ---

def modelopt():
    """Numbers as in NVFP4QTensor.dequantize: e2m1 * (scale.float() * scale_2), rounded to the model's type."""
    e2m1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
    config = {"quant_method": "modelopt", "ignore": ["lm_head"], "kv_cache_scheme": {"dynamic": False, "num_bits": 8, "type": "float"}, "producer": {"name": "modelopt", "version": "0.40.0"}}
    packed, scale, second = codes(10, 24), floats_of_8(torch.float8_e4m3fn, 10, 3), torch.tensor(0.00213)
    raw = torch.stack((packed & 15, packed >> 4), -1).reshape(10, 48).long()
    number = (e2m1[raw].reshape(10, 3, 16) * (scale.float() * second).unsqueeze(-1)).reshape(10, 48).to(BF16)
    weights = {"dynamic": False, "num_bits": 4, "type": "float", "group_size": 16}
    case("modelopt_nvfp4", {**config, "quant_algo": "NVFP4", "config_groups": {"group_0": {"weights": weights, "input_activations": weights, "targets": ["Linear"]}}},
         {"a.weight": packed, "a.weight_scale": scale, "a.weight_scale_2": second, "a.input_scale": torch.tensor(0.5)}, {"a.weight": number})
    w, s = floats_of_8(torch.float8_e4m3fn, 6, 10), torch.tensor(0.0173)
    weights = {"dynamic": False, "num_bits": 8, "type": "float"}
    case("modelopt_fp8", {**config, "quant_algo": "FP8", "config_groups": {"group_0": {"weights": weights, "input_activations": weights, "targets": ["Linear"]}}},
         {"a.weight": w, "a.weight_scale": s, "a.input_scale": torch.tensor(0.5), "a.k_scale": torch.tensor(1.0)}, {"a.weight": (w.float() * s).to(BF16)})


def wide():
    """Matrices whose groups are whole blocks of storage types."""
    from transformers.integrations.finegrained_fp8 import Fp8Dequantize
    one = Fp8Dequantize(None)._dequantize_one
    compressed(wide=True)
    e4m3, e5m2 = torch.float8_e4m3fn, torch.float8_e5m2
    config = {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [8, 128]}
    for name, dtype, word in (("wide_fp8", BF16, "bfloat16"), ("wide_fp8_f16", F16, "float16"), ("wide_fp8_f32", F32, "float32")):
        w, s, v, t = floats_of_8(e4m3, 24, 256), randn(3, 2, scale=1e-3), floats_of_8(e5m2, 16, 128), randn(2, 1, scale=1e-5)
        x, u = floats_of_8(e4m3, 24, 192), randn(3, 2, scale=1e-3)
        scales = u.repeat_interleave(8, 0).repeat_interleave(128, 1)[:, :192]
        tensors = {"a.weight": w, "a.weight_scale_inv": s, "b.weight": v, "b.weight_scale_inv": t, "c.weight": x, "c.weight_scale_inv": u}
        case(name, config, tensors, {"a.weight": one(w, s, dtype), "b.weight": one(v, t, dtype), "c.weight": (x.float() * scales).to(dtype)}, word)
    w, s = floats_of_8(e4m3, 3, 16, 256), (codes(3, 2, 2, most=40) + 100).view(torch.float8_e8m0fnu)
    case("wide_fp8_experts", {**config, "scale_fmt": "ue8m0"}, {"e.gate_up_proj": w, "e.gate_up_proj_scale_inv": s},
         {"e.gate_up_proj": torch.stack([one(w[i], s[i], BF16) for i in range(3)])})
    w, v, s, t = floats_of_8(e4m3, 6, 128), floats_of_8(e4m3, 6, 128), torch.tensor(0.0173), randn(6, 1, scale=1e-2)
    raw = w.view(torch.uint8)
    raw[2, 3], raw[4, 5], raw[0, :8] = 0x7F, 0xFF, torch.arange(8, dtype=torch.uint8)  # NaN, and numbers below the normal ones
    case("wide_fp8_tensor", {"quant_method": "fp8", "activation_scheme": "static"}, {"a.weight": w, "a.weight_scale": s, "b.weight": v, "b.weight_scale": t},
         {"a.weight": one(w, s, BF16), "b.weight": (v.float() * t).to(BF16)})


parts = (fp8, compressed, integers, others, modelopt, wide)
if not PARTS:
    shutil.rmtree(CASES, ignore_errors=True)
for part in parts:
    if not PARTS or part.__name__ in PARTS:
        generator.manual_seed(11)
        part()

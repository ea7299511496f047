#!/usr/bin/env python3
"""Makes the directories here with peft, and records the logits of merged adapters.

    tests/lora/record.py            (wants torch, transformers 4, whose experts are modules, and peft)

A folder FAMILY has config.json and tensors.json, the shapes of the model's weights, which tests/sentences/weights.py makes anew;
FAMILY/NAME is what save_pretrained() of peft wrote for an adapter with random numbers.  FAMILY/expected.safetensors has the logits
of merge_and_unload() for the ids in cases.json, by the arguments of --lora.  versions.json has the versions of the packages."""
import json
import os
import shutil
import sys
import tempfile
import zlib

import peft
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../sentences")
import weights  # noqa: E402

IDS = [3, 17, 5, 40, 22, 9, 31, 8, 2, 26, 13, 7]
SMALL = {"vocab_size": 48, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 32, "tie_word_embeddings": False, "bos_token_id": 0, "eos_token_id": 1,
         "pad_token_id": None}
MODELS = {
    "gpt2": (transformers.GPT2LMHeadModel, transformers.GPT2Config(vocab_size=48, n_embd=32, n_layer=2, n_head=4, n_positions=32,
                                                                   bos_token_id=0, eos_token_id=1)),
    "llama": (transformers.LlamaForCausalLM, transformers.LlamaConfig(**SMALL)),
    "phi3": (transformers.Phi3ForCausalLM, transformers.Phi3Config(**SMALL, original_max_position_embeddings=32)),
    "mixtral": (transformers.MixtralForCausalLM, transformers.MixtralConfig(**SMALL, num_local_experts=4, num_experts_per_tok=2)),
    "bert": (transformers.BertForMaskedLM, transformers.BertConfig(vocab_size=48, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                                                   num_attention_heads=4, max_position_embeddings=32)),
    "bert_classes": (transformers.BertForSequenceClassification, transformers.BertConfig(
        vocab_size=48, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=32,
        num_labels=3)),
}
ALL_OF_LLAMA = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
ADAPTERS = {
    "gpt2": {"plain": {"r": 4, "lora_alpha": 8, "target_modules": ["c_attn", "c_proj", "c_fc"]},
             "dora": {"r": 3, "target_modules": ["c_attn", "c_proj", "c_fc"], "use_dora": True},
             "table": {"r": 2, "target_modules": ["wte", "wpe", "c_proj"]}},
    "llama": {"plain": {"r": 4, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"]},
              "patterns": {"r": 4, "lora_alpha": 6, "use_rslora": True, "target_modules": ALL_OF_LLAMA,
                           "rank_pattern": {"q_proj": 2, "layers.1.mlp.down_proj": 8, r"layers\.\d+\.mlp\.up_proj": 3},
                           "alpha_pattern": {"self_attn.(k|v)_proj": 3, "^model.layers.0.mlp.gate_proj": 1.5}},
              "dora": {"r": 3, "target_modules": ALL_OF_LLAMA, "use_dora": True},
              "dora_few": {"r": 2, "target_modules": ["q_proj", "down_proj"], "use_dora": True},
              "table": {"r": 2, "target_modules": ["embed_tokens", "lm_head", "o_proj"], "use_dora": True},
              "saved": {"r": 2, "target_modules": ["v_proj"], "modules_to_save": ["embed_tokens", "lm_head", "input_layernorm"]}},
    "phi3": {"plain": {"r": 4, "target_modules": ["qkv_proj", "o_proj", "gate_up_proj", "down_proj"]}},
    "mixtral": {"experts": {"r": 2, "target_modules": ["q_proj", "w1", "w2", "w3", "gate"]}},
    "bert": {"plain": {"r": 4, "target_modules": ["query", "value", "dense"], "bias": "lora_only"},
             "biases": {"r": 3, "target_modules": ["query", "dense"], "lora_bias": True, "bias": "all"}},
    "bert_classes": {"head": {"r": 4, "target_modules": ["query", "value"], "task_type": "SEQ_CLS"}},
}
# by family: lists of adapters with their factors, merged in this order
TOGETHER = {
    "gpt2": [["plain"], ["dora"], ["table"], ["plain=0.5", "dora"], ["plain=-1.25"]],
    "llama": [["plain"], ["patterns"], ["dora"], ["table"], ["saved"], ["plain", "patterns=0.5"], ["plain", "dora", "dora_few=0.7"]],
    "phi3": [["plain"]],
    "mixtral": [["experts"]],
    "bert": [["plain"], ["biases"]],
    "bert_classes": [["head"]],
}


def name_in_file(family, name):
    """That of the first files of GPT-2 lacks the name of the model without its head."""
    return name.removeprefix("transformer.") if family == "gpt2" else name


def base(family):
    """The model with weights by their names."""
    kind, config = MODELS[family]
    model = kind(config).eval()
    tied = tuple(model._tied_weights_keys or []) if config.tie_word_embeddings else ()
    model.load_state_dict({n: torch.from_numpy(weights.values(name_in_file(family, n), list(x.shape), 0.15).copy()) for n, x in model.state_dict().items()
                           if not n.endswith(tied)}, strict=False)
    return model


def fill(model, family, name):
    """Random numbers for the adapter, by the names of its tensors."""
    for n, x in model.named_parameters():
        if "lora_" in n or "modules_to_save" in n or (x.requires_grad and n.endswith("bias")):
            g = torch.Generator().manual_seed(zlib.crc32(f"{family} {name} {n}".encode()))
            y = torch.randn(x.shape, generator=g) * (0.15 if "modules_to_save" in n else 0.2)
            with torch.no_grad():
                x.copy_(x * (1 + y) if "magnitude" in n or (y.dim() == 1 and "norm" in n) else y)


def logits(model):
    with torch.no_grad():
        return model(torch.tensor([IDS])).logits[0].float().contiguous()


def main():
    assert transformers.__version__.startswith("4."), "experts of transformers 5 are not modules"
    scratch = tempfile.mkdtemp()
    for family in MODELS:
        folder = f"{HERE}/{family}"
        shutil.rmtree(folder, ignore_errors=True)
        base(family).save_pretrained(f"{scratch}/{family}")
        os.makedirs(folder)
        shapes = weights.shapes(f"{scratch}/{family}/model.safetensors")
        shapes = {name_in_file(family, n): s for n, s in shapes.items()}
        if family == "bert_classes":  # as the file of a model without the head
            shapes = {n: s for n, s in shapes.items() if not n.startswith("classifier.")}
        with open(f"{folder}/tensors.json", "w", encoding="utf-8") as f:
            json.dump(shapes, f)
        shutil.copy(f"{scratch}/{family}/config.json", folder)
        for name, options in ADAPTERS[family].items():
            model = get_peft_model(base(family), LoraConfig(**options, init_lora_weights=True))
            fill(model, family, name)
            model.save_pretrained(f"{folder}/{name}", save_embedding_layers=False)
            os.remove(f"{folder}/{name}/README.md")
        expected = {"base": logits(base(family))}
        for together in TOGETHER[family]:
            first, *more = [w.split("=")[0] for w in together]
            model = PeftModel.from_pretrained(base(family), f"{folder}/{first}", adapter_name=first)
            for name in more:
                model.load_adapter(f"{folder}/{name}", adapter_name=name)
            for word in together:
                name, factor = (word + "=1").split("=")[:2]
                for module in model.modules():
                    if isinstance(getattr(module, "scaling", None), dict) and name in module.scaling:
                        module.scaling[name] *= float(factor)
            expected[" ".join(together)] = logits(model.merge_and_unload(adapter_names=[first, *more]).eval())
        save_file(expected, f"{folder}/expected.safetensors")
        print(family, {n: float((x - expected["base"]).abs().max()) for n, x in expected.items()})
    with open(f"{HERE}/versions.json", "w", encoding="utf-8") as f:
        json.dump({"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__}, f)
    with open(f"{HERE}/cases.json", "w", encoding="utf-8") as f:
        json.dump({"ids": IDS, "together": TOGETHER}, f)
    shutil.rmtree(scratch)


main()

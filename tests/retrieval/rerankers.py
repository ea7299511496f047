#!/usr/bin/env python3
"""Makes the directories of causal rerankers here with sentence-transformers, and writes down their scores.

    tests/retrieval/rerankers.py         (wants torch, transformers, sentence-transformers)

Each folder is what CrossEncoder.save() wrote, without the weights: tensors.json has their shapes, and ../sentences/weights.py makes them
anew. expected.json has pairs, their prompts, and what predict() gave for them."""
import os
import shutil
import sys
import tempfile

import torch
import transformers
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder.modules import LogitScore, Transformer
from tokenizers import decoders, models, pre_tokenizers, processors

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../sentences")
import record as sentences  # noqa: E402
import weights  # noqa: E402

SCALE = 0.3
PAIRS = [("is a cat there?", "a cat sleeps"), ("the dog", " the bird sings, and the cat looks up!"), ("Où est le café?", "près de l'été\n\nlamps"), ("what", ""),
         ("cat 1 2", "the dog runs in the garden " * 5)]

# an instruction of its own, as Qwen3-Reranker has
QWEN3 = """{%- set query = messages | selectattr("role", "equalto", "query") | first -%}
{%- set document = messages | selectattr("role", "equalto", "document") | first -%}
{%- set system = messages | selectattr("role", "equalto", "system") | first | default(none) -%}
<|im_start|>system
Judge whether the Document meets the requirements. The answer can only be "yes" or "no".<|im_end|>
<|im_start|>user
<Instruct>: {{ system.content if system else "Given a search query, find what answers it" }}
<Query>: {{ query.content }}
<Document>: {{ document.content }}<|im_end|>
<|im_start|>assistant
<think>

</think>

"""
# contents are lists of parts; the variable is given by processing_kwargs
QWEN2 = """{%- for m in messages %}{%- if m.role == "query" %}query: {{ m.content[0].text }}
{% elif m.role == "document" %}document: {{ m.content[0]["text"] }}
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
Relevance:{% endif %}"""
# nothing after the texts but plain text; no place for a prompt
GEMMA = """{{ bos_token }}A: {{ messages[0].content }}
B: {{ messages[1].content }}
Does B answer A? Yes or No"""


def of_qwen(pair=False):
    t = sentences.subwords(models.BPE(), ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False), decoder=decoders.ByteLevel())
    t.add_tokens(["<think>", "</think>"])
    if pair:
        t.post_processor = processors.TemplateProcessing(single="$A <|endoftext|>", pair="$A <|im_end|> $B:1 <|endoftext|>:1",
                                                         special_tokens=[(w, t.token_to_id(w)) for w in ("<|endoftext|>", "<|im_end|>")])
    return t, {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}


DECODER = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=8, intermediate_size=24, max_position_embeddings=512)


def shapes():
    """Kind, configuration, tokenizer, template, settings of the Transformer, tokens, settings of the CrossEncoder."""
    yield "qwen3_judge", "Qwen3", DECODER | {"tie_word_embeddings": True}, of_qwen(), QWEN3, {}, (270, 77), \
        {"activation_fn": torch.nn.Identity(), "prompts": {"web": "Given a web search query, find passages: ", "code": "Find <code> of it"}, "default_prompt_name": "web"}
    yield "qwen2_parts", "Qwen2", {k: v for k, v in DECODER.items() if k != "head_dim"} | {"tie_word_embeddings": False}, of_qwen(), QWEN2, \
        {"processing_kwargs": {"chat_template": {"add_generation_prompt": True}}, "max_seq_length": 40}, (16, 15), {}
    yield "gemma2_yes", "Gemma2", DECODER | {"sliding_window": 6, "query_pre_attn_scalar": 8, "final_logit_softcapping": 1.5}, sentences.of_mistral(), GEMMA, {}, (42, None), {"max_length": 50}
    yield "llama_pair", "Llama", DECODER | {"tie_word_embeddings": False}, of_qwen(True), None, {}, (99, 100), {"max_length": 60}


def fill(folder):
    found = weights.shapes(f"{folder}/model.safetensors")
    weights.write(f"{folder}/model.safetensors", found, SCALE)
    return found


def made(folder, name, config, tokenizer, template, of_transformer, tokens, settings):
    t, special = tokenizer
    transformers.set_seed(1)
    getattr(transformers, f"{name}ForCausalLM")(getattr(transformers, f"{name}Config")(vocab_size=t.get_vocab_size(), **config)).save_pretrained(folder)
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=t, **special)
    fast.chat_template = template
    fast.save_pretrained(folder)
    of_transformer = dict(of_transformer)
    limit = of_transformer.pop("max_seq_length", None) or settings.get("max_length")
    settings = {k: v for k, v in settings.items() if k != "max_length"}
    module = Transformer(folder, transformer_task="text-generation", **of_transformer)
    if limit:
        module.max_seq_length = limit
    model = CrossEncoder(modules=[module, LogitScore(*tokens)], **settings)
    model.save(folder + ".saved", create_model_card=False)
    shutil.rmtree(folder)
    shutil.move(folder + ".saved", folder)
    tensors = fill(folder)
    model = CrossEncoder(folder, device="cpu", model_kwargs={"dtype": torch.float32})
    model.double()
    expected = []
    for prompt in [None, *settings.get("prompts", {})]:
        for pair in PAIRS:
            score = float(model.predict([pair], prompt_name=prompt, convert_to_tensor=True)[0].double())
            ids = model.preprocess([pair], prompt=model.prompts.get(prompt or model.default_prompt_name))["input_ids"][0].tolist()
            expected.append({"text": pair[0], "pair": pair[1], "prompt": prompt, "values": [score], "ids": ids})
    return tensors, expected


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        for name, *shape in shapes():
            folder, kept = f"{work}/{name}", f"{HERE}/{name}"
            tensors, expected = made(folder, *shape)
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, ignore=lambda d, files: [f for f in files if f.endswith((".safetensors", ".md"))])
            sentences.put(kept, "tensors.json", tensors)
            sentences.put(kept, "expected.json", expected)
            sentences.compact(kept)
            print(name, flush=True)

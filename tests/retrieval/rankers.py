#!/usr/bin/env python3
"""Makes the directories of models with a vector for each token here, and writes down their vectors and scores.

    tests/retrieval/rankers.py           (wants torch, transformers, sentence-transformers)

Each folder is what MultiVectorEncoder.save() wrote, or what PyLate or the authors of ColBERT write, without the weights: tensors.json has
their shapes, and ../sentences/weights.py makes them anew. expected.json has queries and passages with the scores of MultiVectorEncoder."""
import json
import os
import shutil
import string
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../sentences")
import record as sentences  # noqa: E402

QUERIES = ["is a cat there?", "the dog", "what is it when the sun goes down and the bird sings in the garden"]
PASSAGES = ["a cat sleeps on the lamp.", "The DOG runs; in the garden, the bird sings and the cat looks up!", "Où est le café? " * 4, "a"]
BERT = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=64)
LLAMA = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, intermediate_size=24, max_position_embeddings=96, head_dim=8)


def of_bert():
    t, special = sentences.of_bert()
    t.add_special_tokens(["[unused0]", "[unused1]"])
    return t, special


def of_markers():
    """Markers with a space, as PyLate adds them."""
    t, special = sentences.of_roberta()
    t.add_tokens(["[Q] ", "[D] "])
    return t, special


def tokenizer(folder, made, **more):
    t, special = made
    transformers.PreTrainedTokenizerFast(tokenizer_object=t, **special, **more).save_pretrained(folder)
    return t.get_vocab_size()


def backbone(folder, kind, config, made, **more):
    vocab = tokenizer(folder, made)
    transformers.set_seed(3)
    getattr(transformers, f"{kind}Model")(getattr(transformers, f"{kind}Config")(vocab_size=vocab, **config)).save_pretrained(folder)
    return Transformer(folder, **more)


def saved(folder, module, *modules, **settings):
    MultiVectorEncoder(modules=[module, *modules], **settings).save(folder + ".saved", create_model_card=False)
    shutil.rmtree(folder)
    shutil.move(folder + ".saved", folder)


def projected(width, **more):
    return Dense(16, width, bias=False, activation_function=torch.nn.Identity(), module_input_name="token_embeddings", **more)


def change(folder, file, **keys):
    path = f"{folder}/{file}"
    value = {}
    if os.path.exists(path):
        with open(path) as f:
            value = json.load(f)
    sentences.put(folder, file, {**value, **keys})


def bert_multi(folder):
    """Two projections, queries that are filled with [MASK] and see it, prompts of plain text."""
    module = backbone(folder, "Bert", BERT, of_bert(), query_expansion={"strategy": "min", "attend": True, "length": 12}, query_length=16, document_length=20)
    saved(folder, module, projected(12), Dense(12, 6, activation_function=torch.nn.Tanh(), module_input_name="token_embeddings"),
          MultiVectorMask(skiplist_words=[".", "!", "the"]), Normalize(module_input_name="token_embeddings"), prompts={"query": "search query: ", "document": "lamp "})


def roberta_mean(folder):
    """The mean, without expansion."""
    saved(folder, backbone(folder, "Roberta", {**BERT, "type_vocab_size": 1, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}, of_markers(), query_length=9),
          projected(8), MultiVectorMask(), Normalize(module_input_name="token_embeddings"), prompts={"query": "[Q] ", "document": "[D] "}, similarity_fn_name="meanmaxsim")


def llama_multi(folder):
    """A causal model: queries end with tokens of </s>."""
    saved(folder, backbone(folder, "Llama", LLAMA, sentences.of_mistral(), query_expansion={"strategy": "fixed", "attend": True, "length": 24}), projected(8),
          MultiVectorMask(skiplist_words=["</s>"]), Normalize(module_input_name="token_embeddings"))


def modernbert_pylate(folder):
    """What PyLate saves: two modules, and the other settings in config_sentence_transformers.json."""
    made = sentences.of_bert()
    made[0].add_tokens(["[Q] ", "[D] "])
    module = backbone(folder, "ModernBert", {**BERT, "local_attention": 64, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3}, made)
    saved(folder, module, projected(8), MultiVectorMask(), Normalize(module_input_name="token_embeddings"))
    for path in os.listdir(folder):
        if path.startswith(("2_", "3_")):
            shutil.rmtree(f"{folder}/{path}")
    sentences.put(folder, "modules.json", [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                                           {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"}])
    sentences.put(folder, "1_Dense/config.json", {"in_features": 16, "out_features": 8, "bias": False, "activation_function": "torch.nn.modules.linear.Identity"})
    sentences.put(folder, "sentence_bert_config.json", {"max_seq_length": 31, "do_lower_case": False})
    sentences.put(folder, "config_sentence_transformers.json", {
        "model_type": "ColBERT", "__version__": {"sentence_transformers": "5.1.1"}, "prompts": {}, "default_prompt_name": None, "similarity_fn_name": "MaxSim", "query_prefix": "[Q] ",
        "document_prefix": "[D] ", "query_length": 15, "document_length": 18, "attend_to_expansion_tokens": False, "skiplist_words": list(string.punctuation), "do_query_expansion": True})


def bert_colbert(folder):
    """What the authors of ColBERT save."""
    vocab = tokenizer(folder, of_bert())
    model = transformers.BertModel(transformers.BertConfig(vocab_size=vocab, **BERT), add_pooling_layer=False)
    model.save_pretrained(folder)
    tensors = {f"bert.{name}": x for name, x in load_file(f"{folder}/model.safetensors").items()}
    save_file({**tensors, "linear.weight": torch.zeros(8, 16)}, f"{folder}/model.safetensors", {"format": "pt"})
    change(folder, "config.json", architectures=["HF_ColBERT"])
    sentences.put(folder, "artifact.metadata", {"query_maxlen": 12, "attend_to_mask_tokens": False, "query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_token": "[Q]", "doc_token": "[D]",
                                                "doc_maxlen": 18, "mask_punctuation": True, "dim": 8, "similarity": "cosine", "bsize": 32, "lr": 1e-05, "meta": {"hostname": "a"}})


KINDS = [bert_multi, roberta_mean, llama_multi, modernbert_pylate, bert_colbert]


def expected(folder):
    model = MultiVectorEncoder(folder, device="cpu", model_kwargs={"dtype": torch.float32})
    model.double()
    for query in QUERIES:
        q = model.encode_query([query])[0]
        for passage in PASSAGES:
            p = model.encode_document([passage])[0]
            score = (q.double() @ p.double().T).max(dim=1).values.sum() / (len(q) if model.similarity_fn_name == "meanmaxsim" else 1)
            yield {"query": query, "text": passage, "score": float(score), "tokens": [len(q), len(p)]}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        for kind in KINDS:
            folder, kept = f"{work}/{kind.__name__}", f"{HERE}/{kind.__name__}"
            kind(folder)
            tensors = sentences.fill(folder)
            values = list(expected(folder))
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, ignore=lambda d, files: [f for f in files if f.endswith((".safetensors", ".md"))])
            sentences.put(kept, "tensors.json", tensors)
            sentences.put(kept, "expected.json", values)
            sentences.compact(kept)
            print(kind.__name__, flush=True)

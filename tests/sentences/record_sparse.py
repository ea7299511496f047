#!/usr/bin/env python3
"""Makes the directories of sparse vectors here with sentence-transformers, and writes down its vectors.

    tests/sentences/record_sparse.py     (wants torch, transformers, sentence-transformers)

Each folder is what SparseEncoder.save() wrote, or an older version of its files; otherwise they are those of record.py. expected.json has
the vectors of encode_document() in double precision, and the similarities of all pairs of texts."""
import json
import os
import shutil
import tempfile

import numpy
import torch
import transformers
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Router, Transformer
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling

import record
from record import ENCODER, HERE, config, of_bert, of_roberta, put

DISTILBERT = dict(dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=40)


def backbone(work, kind, of_config, tokenizer, limit=None):
    t, special = tokenizer
    getattr(transformers, kind)(of_config(vocab_size=t.get_vocab_size())).save_pretrained(work)
    extra = {"model_max_length": limit} if limit else {}
    transformers.PreTrainedTokenizerFast(tokenizer_object=t, **special, **extra).save_pretrained(work)
    return Transformer(work, transformer_task="fill-mask")


def older(folder):
    """The files of modules as versions 5.0 to 5.3 wrote them."""
    with open(f"{folder}/modules.json") as f:
        modules = json.load(f)
    modules[0]["type"] = "sentence_transformers.sparse_encoder.models.MLMTransformer"
    modules[1]["type"] = "sentence_transformers.sparse_encoder.models.SpladePooling"
    put(folder, "modules.json", modules)
    put(folder, "sentence_bert_config.json", {"max_seq_length": 11, "do_lower_case": False})
    with open(f"{folder}/1_SpladePooling/config.json") as f:
        pooling = json.load(f)
    pooling["word_embedding_dimension"] = pooling.pop("embedding_dimension")
    put(folder, "1_SpladePooling/config.json", pooling)


def shapes(work):
    tiny = lambda name: f"{work}/{name}.backbone"
    bert = ("BertForMaskedLM", config("BertConfig", **ENCODER))
    distilbert = ("DistilBertForMaskedLM", config("DistilBertConfig", **DISTILBERT))
    yield "bert_splade", [backbone(tiny("bert_splade"), *bert, of_bert()), SpladePooling("max")], {}, None
    yield "distilbert_splade", [backbone(tiny("distilbert_splade"), *distilbert, of_bert()), SpladePooling("max", "log1p_relu", embedding_dimension=90)], {}, older
    yield "roberta_splade", [backbone(tiny("roberta_splade"), "RobertaForMaskedLM", config("RobertaConfig", **ENCODER, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2), of_roberta(), limit=20),
                             SpladePooling("sum")], {"prompts": {"query": "what: ", "document": ""}, "similarity_fn_name": "cosine"}, None
    yield "modernbert_splade", [backbone(tiny("modernbert_splade"), "ModernBertForMaskedLM", config("ModernBertConfig", **ENCODER, local_attention=8, pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3), of_bert()),
                                SpladePooling("sum", "log1p_relu")], {}, None
    documents = backbone(tiny("router_splade"), *distilbert, of_bert())
    queries = SparseStaticEmbedding(documents.tokenizer, torch.ones(len(documents.tokenizer)))
    yield "router_splade", [Router.for_query_document([queries], [documents, SpladePooling("max", "log1p_relu")])], {}, None


def record_sparse(work, name, modules, settings, change):
    folder, kept = f"{work}/{name}", f"{HERE}/{name}"
    SparseEncoder(modules=modules, **settings).save(folder, create_model_card=False)
    if change:
        change(folder)
    tensors = record.fill(folder)
    model = SparseEncoder(folder, device="cpu", model_kwargs={"dtype": torch.float32})
    model.double()
    vectors = {}
    for prompt in [None, *settings.get("prompts", {})]:
        for text in record.TEXTS:
            encode = model.encode_document if name == "router_splade" else model.encode
            vectors[text, prompt] = encode([text], prompt_name=prompt, convert_to_sparse_tensor=False)[0].double()
    plain = torch.stack([vectors[text, None] for text in record.TEXTS])
    expected = [{"text": text, "prompt": prompt, "vector": [float(x) for x in v.numpy().astype(numpy.float64)]} for (text, prompt), v in vectors.items()]
    for e, row in zip(expected, model.similarity(plain, plain).tolist()):
        e["similar"] = row
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder, kept, ignore=lambda d, names: [n for n in names if n.endswith((".safetensors", ".md"))])
    put(kept, "tensors.json", tensors)
    put(kept, "expected.json", expected)
    if name == "router_splade":
        put(f"{kept}/query_0_SparseStaticEmbedding", "expected.json", of_queries(model))
    record.compact(kept)


def of_queries(model):
    rows = torch.stack([model.encode_query([text], convert_to_sparse_tensor=False)[0].double() for text in record.TEXTS])
    return [{"text": text, "prompt": None, "vector": row.tolist(), "similar": similar} for text, row, similar in zip(record.TEXTS, rows, model.similarity(rows, rows).tolist())]


if __name__ == "__main__":
    os.chdir(HERE)
    with tempfile.TemporaryDirectory() as work:
        for shape in shapes(work):
            record_sparse(work, *shape)
            print(shape[0], flush=True)

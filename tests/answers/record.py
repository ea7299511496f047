#!/usr/bin/env python3
"""Answers to questions and spans of labels, as the pipelines of transformers find them, written to expected.json.

    tests/answers/record.py            (wants torch, and transformers 4: version 5 has no pipeline question-answering)

A model that answers is a small BERT or Qwen 3 with a tokenizer of tests/pairs; tests/sentences/weights.py makes its weights. Where the tokenizer
pads at the left, the pipeline puts the text before the question; there it takes tokens of the question for answers, too, and never the first token of
the text, which only_text() and select_text() correct. A model of
labels is a folder of tests/pairs. The pipelines run in double precision. Of answers that differ only in white space around them, the pipeline
makes one only with the change here, same_answer()."""
import json
import os
import shutil
import sys
import tempfile

import numpy
import torch
import transformers
import transformers.pipelines.question_answering as question_answering
from transformers import pipeline

HERE = os.path.dirname(os.path.abspath(__file__))
PAIRS = f"{HERE}/../pairs"
sys.path.insert(0, f"{HERE}/../sentences")
import weights  # noqa: E402

SCALE = 0.15
CONTEXT = 64
LONG = "A bird sings, and the Cat looks up! The lamp goes down; près de l'été, the dog runs in the garden. " * 4 + "Is it a Café?"
CASES = [  # question, text, settings of the pipeline
    ("what sleeps?", "The cat  sleeps on the lamp; the DOG runs (in the garden).", {}),
    ("what sleeps?", "The cat  sleeps on the lamp; the DOG runs (in the garden).", {"top_k": 5}),
    ("where?", " Où est le café? près de l'été; là-bas ", {"top_k": 4}),
    ("where?", "Où est le cafe\u0301? the dogs", {"top_k": 3, "handle_impossible_answer": True}),
    ("the dog", "the lamp, the LAMP and The Lamp", {"top_k": 9, "max_answer_len": 2}),
    ("the dog", LONG, {"top_k": 6}),
    ("the dog", LONG, {"top_k": 3, "handle_impossible_answer": True}),
    ("the dog", LONG, {"top_k": 4, "max_seq_len": 30, "doc_stride": 7, "max_answer_len": 4}),
    ("a", "cat", {"top_k": 3, "handle_impossible_answer": True}),
]
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, max_position_embeddings=CONTEXT)
BERT = ("BertForQuestionAnswering", "BertConfig", SMALL)
QWEN = ("Qwen3ForQuestionAnswering", "Qwen3Config", dict(SMALL, num_key_value_heads=2, head_dim=8))
# name: model, tokenizer, settings of the tokenizer; without a cls_token, the tokenizer adds no tokens
MODELS = {
    "bert": (BERT, "bert_rank", {"cls_token": "[CLS]", "model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}),
    "bert_bytes": (BERT, "roberta_nli", {"cls_token": "<s>"}),
    "bert_unigram": (BERT, "xlm_roberta_rank", {"cls_token": "<s>"}),
    "qwen3": (QWEN, "roberta_nli", {}),
    "qwen3_left": (QWEN, "roberta_nli", {"padding_side": "left", "pad_token": "<pad>"}),
}
LABELLED = ["bert_names", "roberta_names", "distilbert_names"]
TEXTS = ["A cat sleeps", "The DOG runs;  in the garden, the bird sings", "Où est le café?", "the unlit lamps of l'été\n près de"]


def same_answer(found, text):
    return next((a for a in found if a["answer"].strip().lower() == text.strip().lower()), None)


def only_text(features):
    for feature in features:
        feature["p_mask"] = [number != 0 for number in feature["encoding"].sequence_ids]
        yield feature


def select_text(start, end, p_mask, mask, least, top_k, may_be_absent, longest):
    counts = ~numpy.array(p_mask)
    logits = [numpy.where(counts, numpy.asarray(x), -numpy.inf) for x in (start, end)]
    likely = [numpy.exp(x - x.max()) / numpy.exp(x - x.max()).sum() for x in logits]
    return *question_answering.decode_spans(*likely, top_k, longest, counts[None] if counts.ndim == 1 else counts), least


def answers(name):
    """The configuration, the shapes of its weights, and the answers."""
    (kind, config, sizes), source, special = MODELS[name]
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{PAIRS}/{source}/tokenizer.json", encoding="utf-8") as f:
            form = json.load(f)
        if "cls_token" not in special:
            form["post_processor"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        with open(f"{folder}/tokenizer.json", "w", encoding="utf-8") as f:
            json.dump(form, f)
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json", model_max_length=CONTEXT,
                                                         **{"model_input_names": ["input_ids", "attention_mask"], **special})
        config = getattr(transformers, config)(vocab_size=tokenizer.vocab_size, **sizes)
        getattr(transformers, kind)(config).save_pretrained(folder)
        shapes = weights.shapes(f"{folder}/model.safetensors")
        weights.write(f"{folder}/model.safetensors", shapes, SCALE)
        model = getattr(transformers, kind).from_pretrained(folder).double().eval()
        asks = pipeline("question-answering", model=model, tokenizer=tokenizer)
        asks.get_answer = same_answer
        usual = question_answering.select_starts_ends
        if special.get("padding_side") == "left":
            preprocess, question_answering.select_starts_ends = asks.preprocess, select_text
            asks.preprocess = lambda *x, **more: only_text(preprocess(*x, **more))
        cases = []
        for question, text, settings in [c for c in CASES if "padding_side" not in special or "handle_impossible_answer" not in c[2]]:
            found = asks(question=question, context=text, **settings)
            cases.append({"question": question, "text": text, "settings": settings, "answers": found if isinstance(found, list) else [found]})
        question_answering.select_starts_ends = usual
        with open(f"{folder}/config.json") as f:
            side = {k: v for k, v in special.items() if k == "padding_side"}
            return {"config": json.load(f), "tokenizer": source, "post_processor": None if "cls_token" in special else form["post_processor"],
                    "tokenizer_config": side, "tensors": shapes, "cases": cases}


def spans(name):
    with tempfile.TemporaryDirectory() as work:
        folder = f"{work}/{name}"
        shutil.copytree(f"{PAIRS}/{name}", folder)
        with open(f"{folder}/tensors.json") as f:
            weights.write(f"{folder}/model.safetensors", json.load(f), SCALE)
        model = transformers.AutoModelForTokenClassification.from_pretrained(folder).double().eval()
        inputs = ["input_ids", "attention_mask"]
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json", model_input_names=inputs)
        labels = pipeline("token-classification", model=model, tokenizer=tokenizer, aggregation_strategy="simple")
        return [{"text": text, "spans": [{**s, "score": float(s["score"])} for s in labels(text)]} for text in TEXTS]


def main():
    versions = {m.__name__: m.__version__ for m in (transformers, torch)}
    made = {"versions": versions, "scale": SCALE, "answers": {n: answers(n) for n in MODELS}, "spans": {n: spans(n) for n in LABELLED}}
    with open(f"{HERE}/expected.json", "w", encoding="utf-8") as f:
        json.dump(made, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


main()

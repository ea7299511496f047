#!/usr/bin/env python3
"""Answers to questions and spans of labels, as the pipelines of transformers find them, written to expected.json.

    tests/answers/record.py            (wants torch, and transformers 4: version 5 has no pipeline question-answering)

A model that answers is a small BertForQuestionAnswering with a tokenizer of tests/pairs; tests/sentences/weights.py makes its weights. A model of
labels is a folder of tests/pairs. The pipelines run in double precision. Of answers that differ only in white space around them, the pipeline
makes one only with the change here, same_answer()."""
import json
import os
import shutil
import sys
import tempfile

import torch
import transformers
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
TOKENIZERS = {"bert_rank": "[CLS]", "roberta_nli": "<s>", "xlm_roberta_rank": "<s>"}  # with the token for no answer
LABELLED = ["bert_names", "roberta_names", "distilbert_names"]
TEXTS = ["A cat sleeps", "The DOG runs;  in the garden, the bird sings", "Où est le café?", "the unlit lamps of l'été\n près de"]


def same_answer(found, text):
    return next((a for a in found if a["answer"].strip().lower() == text.strip().lower()), None)


def answers(name):
    """The configuration, the shapes of its weights, and the answers."""
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=f"{PAIRS}/{name}/tokenizer.json", model_max_length=CONTEXT, cls_token=TOKENIZERS[name],
                                                         model_input_names=["input_ids", "attention_mask", *(["token_type_ids"] if name == "bert_rank" else [])])
        config = transformers.BertConfig(vocab_size=tokenizer.vocab_size, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, max_position_embeddings=CONTEXT)
        transformers.BertForQuestionAnswering(config).save_pretrained(folder)
        shapes = weights.shapes(f"{folder}/model.safetensors")
        weights.write(f"{folder}/model.safetensors", shapes, SCALE)
        model = transformers.BertForQuestionAnswering.from_pretrained(folder).double().eval()
        asks = pipeline("question-answering", model=model, tokenizer=tokenizer)
        asks.get_answer = same_answer
        cases = []
        for question, text, settings in CASES:
            found = asks(question=question, context=text, **settings)
            cases.append({"question": question, "text": text, "settings": settings, "answers": found if isinstance(found, list) else [found]})
        with open(f"{folder}/config.json") as f:
            return {"config": json.load(f), "tensors": shapes, "cases": cases}


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
    made = {"versions": versions, "scale": SCALE, "answers": {n: answers(n) for n in TOKENIZERS}, "spans": {n: spans(n) for n in LABELLED}}
    with open(f"{HERE}/expected.json", "w", encoding="utf-8") as f:
        json.dump(made, f, ensure_ascii=False, separators=(",", ":"))
        f.write("\n")


main()

#!/usr/bin/env python3
"""Makes the directories here with transformers, and writes down the classes that it finds.

    tests/pairs/record.py            (wants torch, transformers, sentence-transformers)

Each folder is what save_pretrained(), or CrossEncoder.save(), wrote, without the weights: tensors.json has their shapes, and
tests/sentences/weights.py makes them anew. expected.json has texts and pairs, their tokens, the scores in double precision, and the values
that the pipeline of transformers, or CrossEncoder.predict(), makes of them; `cut` is the length to which the tokens were truncated. Versions
are in versions.json."""
import importlib.machinery
import importlib.util
import json
import os
import shutil
import sys
import tempfile

import sentence_transformers
import torch
import transformers
from sentence_transformers import CrossEncoder
from tokenizers import models, pre_tokenizers, decoders, processors

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../sentences")
import weights  # noqa: E402

loader = importlib.machinery.SourceFileLoader("sentences", f"{HERE}/../sentences/record.py")
sentences = importlib.util.module_from_spec(importlib.util.spec_from_loader("sentences", loader))
loader.exec_module(sentences)

LONG = "the dog runs in the garden; the bird sings and the cat looks up and the lamp goes down"
TEXTS = [("a cat sleeps", None), ("The DOG runs; in the garden, the bird sings", None), ("", None), ("Où est le café?", None),
         ("is a cat there?", "The cat sleeps on the lamp, and the dog runs"), ("The dog", "a dog"), ("", "a cat"), ("a cat", ""), ("Où?", "près de l'été")]
# the longer one first; both; of the same length
CUT = [("a cat sleeps", LONG), (LONG, "a cat sleeps"), (LONG, LONG), (LONG + " a", LONG), (LONG, None)]
SCALE = 0.15  # of the weights, so that single precision is exact enough for 1e-6
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40, max_position_embeddings=64)


def of_bert():
    t, special = sentences.of_bert()
    ids = [(w, t.token_to_id(w)) for w in ("[CLS]", "[SEP]")]
    t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ids)
    return t, {**special, "model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}


def of_bert_without_types():
    t, special = of_bert()
    return t, {**special, "model_input_names": ["input_ids", "attention_mask"]}


def of_xlm_roberta():
    t = sentences.subwords(models.Unigram(), ["<s>", "<pad>", "</s>", "<unk>"], pre_tokenizer=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace())
    ids = [(w, t.token_to_id(w)) for w in ("<s>", "</s>")]
    t.post_processor = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=ids)
    return t, {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


ROBERTA = dict({**SMALL, "max_position_embeddings": 66}, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2)
DISTILBERT = dict(dim=32, n_layers=2, n_heads=4, hidden_dim=40, max_position_embeddings=64)
MODERN = dict(SMALL, local_attention=8, pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3)


def names(*words):
    return {"id2label": dict(enumerate(words)), "label2id": {w: i for i, w in enumerate(words)}}


NLI = names("entailment", "neutral", "contradiction")
# folder: class, configuration, its arguments, tokenizer
SHAPES = {
    "bert_rank": ("BertForSequenceClassification", "BertConfig", dict(SMALL, num_labels=1), of_bert),
    "roberta_nli": ("RobertaForSequenceClassification", "RobertaConfig", {**ROBERTA, **NLI}, sentences.of_roberta),
    "xlm_roberta_rank": ("XLMRobertaForSequenceClassification", "XLMRobertaConfig", dict(ROBERTA, num_labels=1, problem_type="regression"), of_xlm_roberta),
    "distilbert_many": ("DistilBertForSequenceClassification", "DistilBertConfig", {**DISTILBERT, **names("angry", "glad", "sad", "calm"), "problem_type": "multi_label_classification"},
                        of_bert_without_types),
    "modernbert_mean": ("ModernBertForSequenceClassification", "ModernBertConfig", dict(MODERN, num_labels=2, classifier_pooling="mean", problem_type="single_label_classification"),
                        of_bert_without_types),
    "modernbert_first": ("ModernBertForSequenceClassification", "ModernBertConfig", dict(MODERN, num_labels=1, classifier_bias=True, classifier_activation="silu"), of_bert_without_types),
    "bert_names": ("BertForTokenClassification", "BertConfig", {**SMALL, **names("O", "B-PER", "I-PER")}, of_bert),
    "roberta_names": ("RobertaForTokenClassification", "RobertaConfig", {**ROBERTA, **names("O", "B-PER", "I-PER")}, sentences.of_roberta),
    "distilbert_names": ("DistilBertForTokenClassification", "DistilBertConfig", {**DISTILBERT, **names("O", "NAME")}, of_bert_without_types),
    "modernbert_names": ("ModernBertForTokenClassification", "ModernBertConfig", {**MODERN, **names("O", "NAME")}, of_bert_without_types),
    "bert_cross": ("BertForSequenceClassification", "BertConfig", dict(SMALL, num_labels=1), of_bert),
}


def fill(folder):
    """All tensors of the directory by their names; their shapes."""
    path = f"{folder}/model.safetensors"
    shapes = weights.shapes(path)
    weights.write(path, shapes, SCALE)
    return shapes


def made(folder, kind, config, given, tokenizer):
    t, special = tokenizer()
    model = getattr(transformers, kind)(getattr(transformers, config)(vocab_size=t.get_vocab_size(), **given))
    model.save_pretrained(folder)
    transformers.PreTrainedTokenizerFast(tokenizer_object=t, **special).save_pretrained(folder)


def found(folder, kind):
    model = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32).double().eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    pipeline = transformers.TextClassificationPipeline(model=model, tokenizer=tokenizer) if "Sequence" in kind else None
    for (text, pair), cut in [*((t, None) for t in TEXTS), *((t, 64) for t in CUT)]:
        # an empty second text is none to the tokenizer of one pair, and a text to that of many
        if pair is not None and (not pipeline or not pair):
            continue
        encoded = tokenizer(text, pair, truncation=cut is not None, max_length=cut, return_tensors="pt")
        with torch.no_grad():
            logits = model(**encoded).logits[0]
        row = {"text": text, "pair": pair, "cut": cut, "ids": encoded["input_ids"][0].tolist(), "scores": logits.tolist()}
        if "token_type_ids" in encoded:
            row["types"] = encoded["token_type_ids"][0].tolist()
        if pipeline:
            values = pipeline.postprocess({"logits": logits[None]}, top_k=None, _legacy=False)
            row["values"] = [v["score"] for v in sorted(values, key=lambda v: model.config.label2id[v["label"]])]
        yield row


def crossed(folder):
    """What CrossEncoder makes of the same, in its own directory."""
    CrossEncoder(folder, max_length=24).save(folder + ".saved", create_model_card=False)
    shutil.rmtree(folder)
    shutil.move(folder + ".saved", folder)
    fill(folder)
    model = CrossEncoder(folder, device="cpu", model_kwargs={"dtype": torch.float32})
    model.double()
    for text, pair in [*(t for t in TEXTS if t[1] is not None), *(t for t in CUT if t[1])]:
        yield {"text": text, "pair": pair, "cut": 24, "values": [float(model.predict([(text, pair)])[0])]}


with tempfile.TemporaryDirectory() as work:
    for name, shape in SHAPES.items():
        folder, kept = f"{work}/{name}", f"{HERE}/{name}"
        made(folder, *shape)
        tensors = fill(folder)
        expected = list(crossed(folder) if name == "bert_cross" else found(folder, shape[0]))
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept, ignore=lambda d, files: [f for f in files if f.endswith((".safetensors", ".md"))])
        sentences.put(kept, "tensors.json", tensors)
        sentences.put(kept, "expected.json", expected)
        sentences.compact(kept)
        print(name, flush=True)
with open(f"{HERE}/versions.json", "w") as f:
    json.dump({m.__name__: m.__version__ for m in (sentence_transformers, transformers, torch)}, f, indent=1)
    f.write("\n")

#!/usr/bin/env python3
"""Makes the directories here with sentence-transformers, and writes down its vectors.

    tests/sentences/record.py            (wants torch, transformers, sentence-transformers)

Each folder is what SentenceTransformer.save() wrote, or an older version of its files, without the weights: tensors.json has their
shapes, and weights.py makes them anew. expected.json has texts and what encode() gave for them, with versions.json."""
import glob
import json
import os
import shutil
import tempfile

import numpy
import sentence_transformers
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Dense, Dropout, LayerNorm, Normalize, Pooling, Transformer
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import weights

HERE = os.path.dirname(os.path.abspath(__file__))
CORPUS = ["a cat sleeps on the lamp", "the dog runs in the garden", "A bird sings, and the Cat looks up!", "search query: what is it?",
          "lamps are lit when the sun goes down", "Où est le café? près de l'été"]
TEXTS = ["a cat sleeps", "The DOG runs; in the garden, the bird sings and the cat looks up and the lamp goes down", "Où est le café?", ""]


def subwords(kind, special, **more):
    """A tokenizer trained on a few sentences."""
    t = Tokenizer(kind)
    for key, value in more.items():
        setattr(t, key, value)
    if isinstance(kind, models.WordPiece):
        trainer = trainers.WordPieceTrainer(vocab_size=90, special_tokens=special)
    elif isinstance(kind, models.Unigram):
        trainer = trainers.UnigramTrainer(vocab_size=80, special_tokens=special, unk_token="<unk>")
    else:
        trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()))
    t.train_from_iterator(CORPUS, trainer)
    return t


def around(t, single):
    ids = [(w, t.token_to_id(w)) for w in single.split() if w != "$A"]
    t.post_processor = processors.TemplateProcessing(single=single, special_tokens=ids)
    return t


def of_bert(lower=True):
    more = {"normalizer": normalizers.BertNormalizer(lowercase=True)} if lower else {}
    t = subwords(models.WordPiece(unk_token="[UNK]"), ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], pre_tokenizer=pre_tokenizers.BertPreTokenizer(), decoder=decoders.WordPiece(), **more)
    return around(t, "[CLS] $A [SEP]"), {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}


def of_roberta():
    t = subwords(models.BPE(), ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False), decoder=decoders.ByteLevel())
    t.post_processor = processors.RobertaProcessing(("</s>", t.token_to_id("</s>")), ("<s>", t.token_to_id("<s>")), add_prefix_space=False)
    return t, {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}


def of_t5():
    t = subwords(models.Unigram(), ["<pad>", "</s>", "<unk>"], pre_tokenizer=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace())
    return around(t, "$A </s>"), {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


def of_qwen():
    t = subwords(models.BPE(), ["<|endoftext|>"], normalizer=normalizers.NFC(), pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False), decoder=decoders.ByteLevel())
    return around(t, "$A <|endoftext|>"), {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}


def of_mistral():
    t = subwords(models.BPE(), ["<unk>", "<s>", "</s>"], pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=True), decoder=decoders.ByteLevel())
    return around(t, "<s> $A </s>"), {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>", "unk_token": "<unk>"}


ENCODER = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=24, max_position_embeddings=40)
DECODER = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1, head_dim=8, intermediate_size=24, max_position_embeddings=64)


def backbone(work, kind, config, tokenizer, limit=None, **of_transformer):
    t, special = tokenizer
    model = getattr(transformers, kind)(config(vocab_size=t.get_vocab_size()))
    model.save_pretrained(work)
    extra = {"model_max_length": limit} if limit else {}
    transformers.PreTrainedTokenizerFast(tokenizer_object=t, **special, **extra).save_pretrained(work)
    return Transformer(work, **of_transformer)


def config(kind, **given):
    return lambda **more: getattr(transformers, kind)(**given, **more)


def compact(folder):
    """Rewrites the JSON files of a folder without white space."""
    for path in glob.glob(f"{folder}/**/*.json", recursive=True):
        with open(path) as f:
            value = json.load(f)
        with open(path, "w") as f:
            json.dump(value, f, ensure_ascii=False, separators=(",", ":"))
            f.write("\n")


def put(folder, name, value):
    with open(f"{folder}/{name}", "w") as f:
        json.dump(value, f, indent=1)


OLD = {"cls": "pooling_mode_cls_token", "mean": "pooling_mode_mean_tokens", "max": "pooling_mode_max_tokens", "mean_sqrt_len_tokens": "pooling_mode_mean_sqrt_len_tokens",
       "weightedmean": "pooling_mode_weightedmean_tokens", "lasttoken": "pooling_mode_lasttoken"}


def older(folder, modes, limit=None, lower=False, path=""):
    """The files of modules as versions before 5 wrote them."""
    with open(f"{folder}/modules.json") as f:
        modules = json.load(f)
    for m in modules:
        m["type"] = "sentence_transformers.models." + m["type"].split(".")[-1]
    modules[0]["path"] = path
    put(folder, "modules.json", modules)
    pooling = next(m["path"] for m in modules if m["type"].endswith("Pooling"))
    put(folder, pooling + "/config.json", {"word_embedding_dimension": 16, **{key: mode in modes for mode, key in OLD.items()}, "include_prompt": True})
    if path:
        os.makedirs(f"{folder}/{path}")
        for name in os.listdir(folder):
            if name.startswith(("config.json", "tokenizer", "model.safetensors", "sentence_bert")):
                shutil.move(f"{folder}/{name}", f"{folder}/{path}/{name}")
    put(folder, f"{path}/sentence_bert_config.json", {"max_seq_length": limit, "do_lower_case": lower})


def shapes(work):
    bert = ("BertModel", config("BertConfig", **ENCODER))
    tiny = lambda name: f"{work}/{name}.backbone"
    yield "bert_mean", [backbone(tiny("bert_mean"), *bert, of_bert()), Pooling(16, "mean"), Normalize()], {}, lambda d: older(d, ["mean"], limit=9)
    yield "bert_cls", [backbone(tiny("bert_cls"), *bert, of_bert(False), do_lower_case=True), Pooling(16, "cls")], {}, None
    yield "bert_both", [backbone(tiny("bert_both"), *bert, of_bert()), Pooling(16, ["cls", "mean"]), Dropout(0.1)], {}, lambda d: older(d, ["cls", "mean"], path="0_Transformer")
    yield "bert_dense", [backbone(tiny("bert_dense"), *bert, of_bert()), Pooling(16, "mean"), Dense(16, 6, activation_function=torch.nn.Tanh()), Normalize()], {}, lambda d: older(d, ["mean"])
    yield "bert_chain", [backbone(tiny("bert_chain"), *bert, of_bert(), limit=11), Pooling(16, ["lasttoken", "max", "weightedmean"]), LayerNorm(48),
                         Dense(48, 8, bias=False, activation_function=torch.nn.GELU()), Dense(8, 8, activation_function=torch.nn.SiLU(), use_residual=True),
                         Dense(8, 5, activation_function=torch.nn.Sigmoid(), use_residual=True)], {}, None
    yield "roberta_max", [backbone(tiny("roberta_max"), "RobertaModel", config("RobertaConfig", **ENCODER, type_vocab_size=1, pad_token_id=1, bos_token_id=0, eos_token_id=2), of_roberta(), limit=20),
                          Pooling(16, "max")], {}, None
    yield "distilbert_sqrt", [backbone(tiny("distilbert_sqrt"), "DistilBertModel", config("DistilBertConfig", dim=16, n_layers=2, n_heads=2, hidden_dim=24, max_position_embeddings=40), of_bert()),
                              Pooling(16, "mean_sqrt_len_tokens"), Normalize()], {}, lambda d: older(d, ["mean_sqrt_len_tokens"])
    yield "modernbert_weighted", [backbone(tiny("modernbert_weighted"), "ModernBertModel", config("ModernBertConfig", **ENCODER, local_attention=8, pad_token_id=0, bos_token_id=2, eos_token_id=3, cls_token_id=2, sep_token_id=3), of_bert()),
                                  Pooling(16, "weightedmean"), Normalize()], {}, None
    yield "t5_dense", [backbone(tiny("t5_dense"), "T5EncoderModel", config("T5Config", d_model=16, d_kv=8, d_ff=24, num_layers=2, num_heads=2, feed_forward_proj="gated-gelu"), of_t5(), limit=24),
                       Pooling(16, "mean"), Dense(16, 12, bias=False, activation_function=torch.nn.Identity()), Normalize()], {}, None
    yield "qwen3_last", [backbone(tiny("qwen3_last"), "Qwen3Model", config("Qwen3Config", **DECODER, tie_word_embeddings=True), of_qwen()), Pooling(16, "lasttoken"), Normalize()], \
        {"prompts": {"query": "search query: what\nis it? ", "document": ""}}, None
    yield "mistral_mean", [backbone(tiny("mistral_mean"), "MistralModel", config("MistralConfig", **DECODER, sliding_window=6), of_mistral()), Pooling(16, "mean"), Dense(16, 7, activation_function=torch.nn.ReLU())], \
        {"prompts": {"near": "the garden: ", "far": "le café"}, "default_prompt_name": "near"}, None
    yield "gemma2_last", [backbone(tiny("gemma2_last"), "Gemma2Model", config("Gemma2Config", **{**DECODER, "num_hidden_layers": 1}, sliding_window=6, query_pre_attn_scalar=8, tie_word_embeddings=True), of_mistral()), Pooling(16, "lasttoken")], {}, None


def fill(folder):
    """All tensors of the directory by their names; their shapes."""
    found = {}
    for path in sorted(glob.glob(f"{folder}/**/*.safetensors", recursive=True)):
        name = os.path.relpath(path, folder)
        found[name] = weights.shapes(path)
        weights.write(path, found[name])
    return found


def record(work, name, modules, settings, change):
    folder, kept = f"{work}/{name}", f"{HERE}/{name}"
    SentenceTransformer(modules=modules, **settings).save(folder, create_model_card=False)
    if change:
        change(folder)
    tensors = fill(folder)
    model = SentenceTransformer(folder, device="cpu", model_kwargs={"dtype": torch.float32})
    for module in model:
        module.double()
    expected = []
    for prompt in [None, *[p for p in settings.get("prompts", {})]]:
        for text in TEXTS:
            vector = model.encode([text], prompt_name=prompt, convert_to_numpy=True)[0]
            expected.append({"text": text, "prompt": prompt, "vector": [float(x) for x in vector.astype(numpy.float64)]})
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(folder, kept, ignore=lambda d, names: [n for n in names if n.endswith((".safetensors", ".md"))])
    put(kept, "tensors.json", tensors)
    put(kept, "expected.json", expected)
    compact(kept)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        for shape in shapes(work):
            record(work, *shape)
            print(shape[0], flush=True)
    put(HERE, "versions.json", {"sentence_transformers": sentence_transformers.__version__, "transformers": transformers.__version__, "torch": torch.__version__})

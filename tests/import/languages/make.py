#!/usr/bin/env python3
"""Records translations of two small models with random weights, by transformers: tests/import/languages/{nllb,mbart}.

    V/bin/python tests/import/languages/make.py

nllb has the token of the text's language before the text, mbart after it.  Each directory has config.json, tokenizer.json, weights.json
(from which tests/import/reference/seeded.py makes the weights) and expected.json: for texts and languages the tokens of the source and of the
answer, and its text.  `run` compares lathe with them."""

import json
import pathlib
import shutil
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "oracle" / "families"), str(HERE.parent / "reference")]
import torch
import workshop
import transformers as t

WORDS = "the weather is fine today and we go home now a cat sleeps under big tree while dogs run".split()
TEXTS = "the weather is fine", "a cat sleeps under the big tree", "we run home now"
SIZES = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=40, decoder_ffn_dim=40,
             max_position_embeddings=40, decoder_start_token_id=2, scale_embedding=False, forced_eos_token_id=None)
SPECIAL = "<s>", "<pad>", "</s>", "<unk>"


def pieces():
    """Tokens of BPE in the order of their merges, and these."""
    vocab, merges = list(SPECIAL), []
    for word in WORDS:
        letters = ["▁", *word]
        vocab += [c for c in dict.fromkeys(letters) if c not in vocab]
        for i in range(1, len(letters)):
            merge = "".join(letters[:i]), letters[i]
            if merge not in merges:
                merges.append(merge)
                vocab.append("".join(merge))
    return vocab, merges


def nllb():
    vocab, merges = pieces()
    tokenizer = t.NllbTokenizer(vocab={text: i for i, text in enumerate(dict.fromkeys(vocab))}, merges=merges, additional_special_tokens=["eng_Latn", "deu_Latn", "fra_Latn"])
    return tokenizer, t.M2M100ForConditionalGeneration, t.M2M100Config, ("eng_Latn", "deu_Latn", "fra_Latn")


def mbart():
    vocab = [(text, 0.0 if text in SPECIAL else -1.0 - 0.125 * i) for i, text in enumerate(dict.fromkeys(pieces()[0]))]
    return t.MBartTokenizer(vocab=vocab), t.MBartForConditionalGeneration, t.MBartConfig, ("en_XX", "de_DE", "fr_XX")


def ends(path):
    """workshop.py leaves out the end of a text, which the tokenizer puts around it.  It is suppressed in answers, so that they are long enough."""
    for name in ("config.json", "generation_config.json"):
        if (path / name).exists():
            (path / name).write_text(json.dumps(json.loads((path / name).read_text()) | {"eos_token_id": 2, "suppress_tokens": [0, 1, 2, 3]}, indent=2) + "\n")


def record(name, tokenizer, cls, make_config, languages, wide):
    """Whether both languages are visible in the answers of the model with this width of feed-forward blocks."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        sizes = SIZES | {"encoder_ffn_dim": wide, "decoder_ffn_dim": wide}
        model = workshop.make(cls, make_config(vocab_size=len(tokenizer), **sizes), path)
        tokenizer.save_pretrained(path)
        ends(path)
        rows = []
        for text in TEXTS:
            for source, target in [(languages[0], languages[1]), (languages[2], languages[1]), (languages[1], languages[0])]:
                tokenizer.src_lang = source
                words = tokenizer(text, return_tensors="pt")
                with torch.no_grad():
                    answer = model.generate(**words, forced_bos_token_id=tokenizer.convert_tokens_to_ids(target), max_new_tokens=12, num_beams=1, do_sample=False,
                                            forced_eos_token_id=None, eos_token_id=2, suppress_tokens=[0, 1, 2, 3], use_cache=True)[0].tolist()
                rows.append({"text": text, "languages": [source, target], "source": words.input_ids[0].tolist(), "answer": answer[1:],
                             "answer_text": tokenizer.decode(answer, skip_special_tokens=True)})
        if len({str(row["answer"][1:]) for row in rows if row["text"] == TEXTS[0]}) < 3:
            return False
        kept = HERE / name
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for part in ("config.json", "generation_config.json", "weights.json", "tokenizer.json", "tokenizer_config.json"):
            if (path / part).exists():
                shutil.copy(path / part, kept / part)
        (kept / "expected.json").write_text("[" + ",\n ".join(json.dumps(row, ensure_ascii=False) for row in rows) + "]\n")
        print(name, sum(p.stat().st_size for p in kept.iterdir()), "bytes")
        for row in rows:
            print(" ", row["languages"], row["source"], row["answer"])
        return True


for made in (nllb, mbart):
    if not any(record(made.__name__, *made(), wide) for wide in range(40, 72)):
        sys.exit(f"make.py: no width shows the languages of {made.__name__}")

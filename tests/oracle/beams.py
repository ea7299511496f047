"""Writes tests/formats/beams.cases: the texts that the beam search of transformers finds, and with 1 beam its most likely tokens.
V/bin/python tests/oracle/beams.py, V as in families/common.py.  tests/formats/beamed.c makes the same logits and compares.

Every line is for itself: words, each with its values.

    seed vocab beams steps         steps: at most so many new tokens
    penalty early                  length_penalty, early_stopping
    stop TOKEN, suppress TOKEN     or -1
    ngram N, least N, last TOKEN   no_repeat_ngram_size, min_new_tokens, forced_eos_token_id; or 0, 0, -1
    score S                        sum of log p, divided by the length to the power of the penalty; 0 with 1 beam
    tokens N TOKEN...              without the stop token

A "model" stands in for one: its logits are a hash of seed and text, exact in float32 (logits() below).  One token, 0, is the prompt.
"""

import pathlib

import torch
from transformers import GenerationConfig, PretrainedConfig, PreTrainedModel
from transformers.generation import GenerationMixin
from transformers.modeling_outputs import CausalLMOutputWithPast

MASK = (1 << 64) - 1


def mixed(z):
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 & MASK
    z = (z ^ z >> 27) * 0x94d049bb133111eb & MASK
    return z ^ z >> 31


def logits(seed, text, vocab, stop):
    """Multiples of 1/4096 from -3 to 3; the stop token's a little higher, the longer the text."""
    h = mixed(seed + 1)
    for token in text:
        h = mixed(h + token + 1 & MASK)
    row = [((mixed(h + 0x9e3779b97f4a7c15 * (i + 1) & MASK) >> 40) % 24577 - 12288) / 4096 for i in range(vocab)]
    if stop >= 0:
        row[stop] += len(text) / 8
    return row


class Config(PretrainedConfig):
    model_type = "hashed"


class Hashed(PreTrainedModel, GenerationMixin):
    config_class = Config
    main_input_name = "input_ids"

    def __init__(self, config, seed=0, vocab=0, stop=-1):
        super().__init__(config)
        self.seed, self.vocab, self.stop = seed, vocab, stop
        self.nothing = torch.nn.Parameter(torch.zeros(1))

    def prepare_inputs_for_generation(self, input_ids, **more):
        return {"input_ids": input_ids}

    def forward(self, input_ids, **more):
        rows = [[logits(self.seed, text, self.vocab, self.stop)] for text in input_ids.tolist()]
        return CausalLMOutputWithPast(logits=torch.tensor(rows, dtype=torch.float32))


def line(seed, vocab, beams, steps, penalty, early, stop, suppress, ngram=0, least=0, last=-1):
    model = Hashed(Config(vocab_size=vocab), seed, vocab, stop)
    config = GenerationConfig(num_beams=beams, length_penalty=penalty, early_stopping=early, do_sample=False, use_cache=False,
                              eos_token_id=stop if stop >= 0 else None, pad_token_id=0, return_dict_in_generate=True, output_scores=True,
                              suppress_tokens=[suppress] if suppress >= 0 else None, no_repeat_ngram_size=ngram, min_new_tokens=least or None,
                              forced_eos_token_id=last if last >= 0 else None, max_length=steps + 1)
    found = model.generate(torch.zeros((1, 1), dtype=torch.long), generation_config=config)
    text = found.sequences[0].tolist()[1:]
    if stop in text:
        text = text[:text.index(stop)]
    score = float(found.sequences_scores[0]) if beams > 1 else 0
    words = [f"{seed} {vocab} {beams} {steps}", f"penalty {penalty:g} early {int(early)} stop {stop} suppress {suppress}",
             f"ngram {ngram} least {least} last {last}", f"score {score:.6g}", "tokens " + " ".join(map(str, [len(text), *text]))]
    return " ".join(words)


def main():
    lines = []
    seed = 0
    for vocab in (10, 33, 100):
        for beams in (2, 3, 5):
            for penalty, early in ((1.0, False), (1.0, True), (0.0, False), (2.0, False), (0.6, True)):
                for steps, stop, suppress in ((12, 1, -1), (20, 2, 5), (5, 1, -1), (6, -1, 3)):
                    seed += 1
                    lines.append(line(seed, vocab, beams, steps, penalty, early, stop, suppress))
    for vocab in (10, 33):
        for beams in (1, 2, 4):
            for ngram, least, last in ((1, 0, -1), (2, 0, -1), (3, 8, -1), (0, 10, -1), (0, 0, 1), (0, 0, 4), (2, 4, 1), (1, 6, 3)):
                for steps, stop, suppress, penalty in ((8, 1, -1, 1.0), (20, 2, 5, 2.0)):
                    seed += 1
                    lines.append(line(seed, vocab, beams, steps, penalty, seed % 2 == 0, stop, suppress, ngram, least, last))
    path = pathlib.Path(__file__).parent.parent / "formats" / "beams.cases"
    path.write_text("".join(f"{l}\n" for l in lines))
    print(f"{len(lines)} lines")


main()

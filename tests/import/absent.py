#!/usr/bin/env python3
"""Records what each key is where a file lacks it: as transformers' class of the architecture has it, else as the item has it.

    tests/import/absent.py build/lathe >tests/import/absent.json          (it needs transformers, not torch)

tests/import/run imports each architecture's configuration twice, with all of these keys and with none: the model must be the same."""
import json
import sys

import defaults
import transformers

# keys whose default in the class is another one by intention: as in transformers 4, or as the published files have it
OTHERWISE = {
    "DeepseekV3ForCausalLM": {"num_nextn_predict_layers": 0},        # which tensors may be left over, and no number
    "MT5ForConditionalGeneration": {"tie_word_embeddings": False, "scale_decoder_outputs": False},
    "CohereForCausalLM": {"rope_theta": 10000, "rope_parameters": None}, "Cohere2ForCausalLM": {"rope_theta": 10000, "rope_parameters": None},
}

# keys of generation too, which have no default there; heads of encoder-decoders read them
OF_GENERATION = ("eos_token_id", "decoder_start_token_id")

# read as part of a directory of sentence-transformers alone
HEADLESS = {"LlamaModel", "MistralModel", "Qwen2Model", "Qwen3Model", "GemmaModel", "Gemma2Model", "Gemma3TextModel"}


def main(lathe):
    kinds, table = defaults.classes(), defaults.items(lathe)
    out = {"": f"transformers {transformers.__version__}"}
    for name, (parent, reads, where) in table.items():
        whole, above = dict(reads), parent
        while above in table:
            whole = {**table[above][1], **whole}
            above = table[above][0]
        if parent == "absent":
            continue
        # of the heads that an item has the one with most keys, classes of a text
        where = [(architecture, path) for architecture, path in where if architecture not in HEADLESS and
                 (architecture.endswith("ForSequenceClassification") or not defaults.is_repeated(architecture, where))]
        for architecture, path in where:
            path = [p.strip('"') for p in path]
            theirs = defaults.of_class(architecture, path, kinds)
            keys = {key: value for key, (known, value) in whole.items() if known and key not in ("model_type", "architectures", *OF_GENERATION)}
            said = {key: theirs[key] for key in keys if theirs and key in theirs}
            said |= OTHERWISE.get(defaults.HEAD.sub("ForCausalLM", architecture), {})
            needed = {key: theirs[key] for key, (_, value) in whole.items() if value is defaults.NEEDED and theirs and key in theirs}
            out["/".join([architecture, *path])] = {"needed": needed, "class": said, "item": {k: v for k, v in keys.items() if k not in said}}
    rows = [f"{json.dumps(name)}: {json.dumps(row, sort_keys=True)}" for name, row in sorted(out.items())]
    print("{" + ",\n".join(rows) + "}")


main(sys.argv[1])

"""A small model of any text type of transformers: its configuration (shrink.py, configurations.py), a directory with weights made from their
names (seeded.py), and what the class computes in float64.  For new.py and make.py."""

import functools
import inspect
import pathlib
import re
import shutil

import common
import torch
import transformers
from transformers import CONFIG_MAPPING
from transformers.models.auto import modeling_auto

import configurations
import directory
import seeded
import shrink

# the auto mappings, in the order in which a class is taken
HEADS = {"encoder-decoder": "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", "masked": "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
         "causal": "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "classifier": "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES",
         "token classifier": "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES", "answers": "MODEL_FOR_QUESTION_ANSWERING_MAPPING_NAMES",
         "vectors": "MODEL_MAPPING_NAMES"}


def classes(head):
    """{type: names of its classes}"""
    return {kind: list(names) if isinstance(names, tuple) else [names] for kind, names in getattr(modeling_auto, HEADS[head]).items()}


def heads(kind):
    """{name: keys} of the first configuration with each other head: classes of texts, where the last token fills up, of tokens, and answers."""
    (name, keys), *_ = configurations.of_type(kind).items()
    filler = {"is_decoder": False} if kind in classes("masked") else {"pad_token_id": int(common.tokens(shrink.TEXT, shrink.VOCABULARY)[-1])}
    more = {"classifier": ("texts", filler), "token classifier": ("tokens", filler), "answers": ("answers", filler)}
    return {f"{name}_{ours}": keys | given | {"class": classes(head)[kind][0], "num_labels": 2 if head == "answers" else 3}
            for head, (ours, given) in more.items() if kind in classes(head)}


def class_of(kind, name=None):
    """The class of this name, else the first of the auto mappings."""
    if name is None:
        heads = [head for head in HEADS if kind in classes(head)]
        if "encoder-decoder" in heads and not CONFIG_MAPPING[kind]().is_encoder_decoder:
            heads.remove("encoder-decoder")
        name = classes(heads[0])[kind][0] if heads else None
    if name is None:
        raise SystemExit(f"new.py: transformers {transformers.__version__} has no class of text for the type {kind}")
    return getattr(transformers, name)


def arguments_of(kind, changes):
    """Arguments of the configuration class, and large sizes that no rule knows."""
    changes = dict(changes)
    other = changes.pop("", None) == "flipped"
    changes.pop("class", None)
    arguments, unknown = shrink.small(kind, changes)
    arguments = shrink.flipped(kind, changes) if other else arguments
    if "num_key_value_heads" in arguments and "num_key_value_heads" not in changes:
        try:
            CONFIG_MAPPING[kind](**arguments)
        except Exception:                               # some classes demand as many heads of keys as of queries
            arguments = arguments | {"num_key_value_heads": arguments.get("num_attention_heads", 4)}
    return arguments, unknown


# tables that a class computes, and yet saves: the files here lack them, since rounded to bf16 they are other numbers
COMPUTED = r".*\.(slope_rate|query_decay|key_decay|diagonal_decay|inv_freq)"


def tables_of(module):
    """{name: submodule} of sinusoids, which the class rounds to float32."""
    return {f"{name}.weight": part for name, part in module.named_modules() if hasattr(part, "create_weight") or hasattr(part, "make_weight")}


def sinusoids(part):
    """The table of such a submodule, in float64."""
    if hasattr(part, "make_weight"):
        return part.get_embedding(*part.weight.shape, part.padding_idx)
    rounded, torch.FloatTensor = torch.FloatTensor, lambda values: torch.as_tensor(values, dtype=torch.float64)
    try:
        return part.create_weight()
    finally:
        torch.FloatTensor = rounded


def make(cls, config, folder):
    """Writes FOLDER: config.json, model.safetensors, weights.json.  The class in float64 that has read it."""
    config.architectures = [cls.__name__]
    config._attn_implementation = "eager"
    config._experts_implementation = "eager"
    torch.manual_seed(0)                    # starts of vectors, where a class draws them
    module = cls(config)
    if not of_one_text(module):                         # these read where a text ends
        directory.without_ends(module)
    for name, table in module.named_buffers():
        if name.endswith(".tid2eid"):                   # numbers of experts, which the class reads from the file; the first token has one twice
            experts = module.config.n_routed_experts
            table.copy_(torch.stack([torch.randperm(experts)[:table.shape[1]] for _ in table]))
            table[common.tokens(shrink.TEXT, len(table))[0]] = experts - 1
    directory.save(module, folder)
    written = seeded.described(folder / "model.safetensors")
    tables = tables_of(module)
    tensors = {name: row for name, row in written.items() if not re.fullmatch(COMPUTED, name) and name not in tables}
    seeded.save(folder, tensors)
    seeded.write(folder, tensors)
    computed = written.keys() - tensors.keys() | {name for name in module.state_dict() if re.fullmatch(COMPUTED, name)}
    found = common.opened(folder, cls, computed)
    for name, buffer in module.named_buffers():     # tables that files lack, as the class computes them
        if name not in module.state_dict() or name in computed:
            owner, _, own = name.rpartition(".")
            setattr(found.get_submodule(owner), own, buffer.clone())
    for part in tables_of(found).values():
        part.weight = torch.nn.Parameter(sinusoids(part), requires_grad=False)
    for name, part in found.named_modules():
        if hasattr(part, "expert_capacity") and name.startswith("decoder."):
            part.expert_capacity = 1 << 30              # in generation a call has one token, which always fits
    for part in found.modules():
        if type(part).__name__ == "NllbMoeExperts":
            part.forward = functools.partial(chosen_experts, part)
        if torch.is_tensor(getattr(part, "weights", None)) and hasattr(part, "get_embedding"):
            part.weights = part.get_embedding(*part.weights.shape, part.padding_idx)
    return found


def chosen_experts(part, rows, _, gates):
    """NLLB's experts, as transformers had them up to version 4: later ones take expert 1 for the first choice, and expert 0 for the second."""
    return sum(gates[:, e, None] * expert(rows) for e, expert in enumerate(part.values()) if e < part.num_experts) * (1 - max(0, part.moe_token_dropout))


# ---- inputs and outputs ----

def of_one_text(module):
    """Whether it is an encoder-decoder whose target is the source, moved by one."""
    return module.config.is_encoder_decoder and type(module).__name__.endswith(("SequenceClassification", "TokenClassification", "QuestionAnswering"))


def inputs_of(module):
    """Under lathe's names, and the class's names of the same."""
    c, kind = module.config.get_text_config(), type(module).__name__
    ids = common.tokens(shrink.TEXT, c.vocab_size)
    if kind == "LongformerForQuestionAnswering":        # <s> question </s></s> text </s>
        ids[[5, 6, 15]] = c.sep_token_id
    if module.config.is_encoder_decoder and not kind.endswith("EncoderModel") and not of_one_text(module):
        return {"words": ids, "tokens": common.tokens(shrink.TEXT + 4, c.vocab_size)}, {"words": "input_ids", "tokens": "decoder_input_ids"}
    of_decoder = c.model_type in classes("causal") and c.model_type not in classes("masked")
    two_sided = kind.startswith("BertGeneration") and not c.is_decoder
    if not two_sided and not of_one_text(module) and (module.can_generate() and not kind.endswith("WithLMHeadModel") or getattr(c, "is_decoder", False) or of_decoder):
        return {"tokens": ids}, {"tokens": "input_ids"}
    given = {"tokens": ids, "keep": (torch.arange(shrink.TEXT) < shrink.TEXT - 3).long()}
    if "attention_mask" not in inspect.signature(module.forward).parameters or c.model_type in ("mistral4", "openai_privacy_filter"):     # the family has no padding
        del given["keep"]
    if "bbox" in inspect.signature(module.forward).parameters:         # left, top, right, bottom
        corner = torch.stack([ids % 5, ids % 7], dim=-1)
        given["box"] = torch.cat([corner, corner + 1 + torch.stack([ids % 3, ids % 4], dim=-1)], dim=-1)
    if (getattr(c, "type_vocab_size", 0) or 0) > 1:
        given["token_types"] = (torch.arange(shrink.TEXT) > 7).long()
    return given, {"tokens": "input_ids", "keep": "attention_mask", "token_types": "token_type_ids", "box": "bbox"}


def outputs_of(module, found):
    kind = type(module).__name__
    if kind.endswith(("QuestionAnswering", "QuestionAnsweringSimple")):
        return {"ends": torch.stack([found.start_logits[0], found.end_logits[0]], dim=-1)}
    if kind.endswith("MultipleChoice"):
        return {"scores": found.logits[0]}
    if kind.endswith("NextSentencePrediction"):
        return {"is_next": found.logits[0]}
    if "seq_relationship_logits" in found:
        return {"is_next": found.seq_relationship_logits[0], "logits": found.prediction_logits[0]}
    if "logits" in found or "prediction_logits" in found:
        name = "scores" if kind.endswith("SequenceClassification") else "token_scores" if kind.endswith("TokenClassification") else "logits"
        return {name: (found["logits"] if "logits" in found else found["prediction_logits"])[0]}
    pooled = found.get("pooler_output")
    return {"hidden": found["last_hidden_state"][0], **({} if pooled is None else {"pooled": pooled[0]})}


class FirstOfEquals(torch.overrides.TorchFunctionMode):
    """topk takes the first of equal values, as lathe does; which one torch takes is not defined."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function in (torch.topk, torch.Tensor.topk):
            return self.topk(*args, **(kwargs or {}))
        return function(*args, **(kwargs or {}))

    @staticmethod
    def topk(values, k, dim=-1, largest=True, sorted=True):
        found = torch.sort(values, dim=dim, descending=largest, stable=True)
        return torch.return_types.topk((found.values.narrow(dim, 0, k), found.indices.narrow(dim, 0, k)))


def stepped(module, given):
    """As in generation, a call for each token of the target: in a call with several, the class gives rows of the second stream the biases of others."""
    *source, target = given
    rows, cache = [], None
    for i in range(given[target].shape[1]):
        found = module(**{name: given[name] for name in source}, **{target: given[target][:, i:i + 1]}, cache=cache, use_cache=True)
        rows, cache = [*rows, found.logits], found.cache
    return {"logits": torch.cat(rows, dim=1)}


def run(module, taps=()):
    """Inputs, outputs, and the values of these submodules."""
    values = common.taps(dict(taps))
    given, names = inputs_of(module)
    if "global_attention_mask" in inspect.signature(module.forward).parameters and module.config.is_encoder_decoder and not of_one_text(module):      # the first token of the source
        names["global"], given["global"] = "global_attention_mask", (torch.arange(shrink.TEXT) < 1).long()
    more = {"use_cache": False} if getattr(module.config, "use_cache", None) is not None else {}
    with torch.no_grad(), FirstOfEquals():
        one = (None, None) if type(module).__name__.endswith("MultipleChoice") else (None,)       # a batch of one, of one choice
        read = {names[key]: value[one] for key, value in given.items()}
        found = stepped(module, read) if module.config.model_type == "prophetnet" else module(**read, **more)
    given.pop("global", None)
    return given, outputs_of(module, found), values


# ---- values within the model ----

# what the parts of a layer are called there, and here
PARTS = {"attn": r"(self_)?attn|(self_)?attention|SelfAttention|mixer|mamba|linear_attn|temporal_block|short_conv|conv|recurrent\w*",
         "ffn": r"mlp|ffn|feed_forward|block_sparse_moe|moe|ff|ffw|experts_block|shared_mlp_moe"}
OUTER = {"final": r"norm|final_layernorm|final_layer_norm|ln_f|norm_f|embedding_norm|final_norm"}


def layers_of(module):
    """{path in lathe: the list of layers}: `layer`, or `encoder.layer` and `decoder.layer`."""
    lists = [(path, part) for path, part in module.named_modules() if isinstance(part, torch.nn.ModuleList) and len(part) > 1 and
             re.fullmatch(r"(\w+\.)*(layers?|h|blocks?|block)", path) and not re.search(r"\.\d+\.", path)]
    if len(lists) == 1:
        return {"layer": lists[0][1]}
    return {f"{re.search(r'(encoder|decoder)[.]', path)[1]}.layer": part for path, part in lists if re.search(r"(encoder|decoder)[.]", path)}


def candidates(module):
    """{path in lathe: submodule}, in the order in which they are computed."""
    out = {}
    for path, layers in layers_of(module).items():
        for i, layer in enumerate(layers):
            if i == 0 and path == "layer":
                out["layer[0].start"] = common.entry(layer)
            children = dict(layer.named_children())
            for ours, theirs in PARTS.items():
                named = [name for name in children if re.fullmatch(theirs, name)]
                if named:
                    out[f"{path}[{i}].{ours}"] = children[named[0]]
            out[f"{path}[{i}].x"] = layer
    base = module.base_model
    for ours, theirs in OUTER.items():
        named = [part for name, part in base.named_children() if re.fullmatch(theirs, name)]
        if named and len(layers_of(module)) == 1:
            out[ours] = named[0]
    return out


# ---- a whole directory ----

def write(kind, name, changes, folder):
    """FOLDER/NAME with expected.safetensors; taps.safetensors has the values of submodules too.  The class, and large sizes."""
    arguments, unknown = arguments_of(kind, changes)
    module, given, outputs, taps = write_one(class_of(kind, changes.get("class")), CONFIG_MAPPING[kind](**arguments), pathlib.Path(folder) / name)
    common.references[name] = type(module).__name__
    taps = {key: value for key, value in taps.items() if torch.is_tensor(value) and value.dim() <= 2 and value.is_floating_point() and
            (value.dim() < 2 or not key.startswith(("encoder.", "decoder.")) or value.shape[0] in (shrink.TEXT, shrink.TEXT + 4))}     # of the text's tokens
    directory.record(pathlib.Path(folder) / name / "taps.safetensors", type(module).__name__, given, outputs,
                     {key: taps[key] for key in candidates(module) if key in taps})
    return module, unknown


def write_one(cls, config, path):
    """The directory of a configuration, with expected.safetensors.  The class, inputs, outputs, and values of submodules."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    module = make(cls, config, path)
    found = run(module, candidates(module))
    directory.record(path / "expected.safetensors", cls.__name__, *found[:2])
    return module, *found

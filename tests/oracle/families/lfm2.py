"""LFM 2 (transformers): short convolutions between gates, and attention."""

import common
from transformers import Lfm2Config, Lfm2ForCausalLM

SIZES = dict(vocab_size=37, max_position_embeddings=32, hidden_size=24, intermediate_size=20, num_hidden_layers=3,
             num_attention_heads=4, block_auto_adjust_ff_dim=False,
             rope_parameters={"rope_type": "default", "rope_theta": 1e6})


def record(name, kinds, **other):
    model = common.published(name, Lfm2ForCausalLM, Lfm2Config(layer_types=kinds, **SIZES, **other))
    common.decoder(name, model, layers=model.model.layers, parts={"ln1": "operator_norm", "ffn": "feed_forward", "x": ""},
                   more={f"layer[{i}].attn": layer.conv if kinds[i] == "conv" else layer.self_attn
                         for i, layer in enumerate(model.model.layers)})


record("lfm2", ["conv", "conv", "full_attention"], num_key_value_heads=2)
record("lfm2_biased", ["full_attention", "conv", "conv"], num_key_value_heads=1, conv_L_cache=4, conv_bias=True,
       tie_word_embeddings=False)

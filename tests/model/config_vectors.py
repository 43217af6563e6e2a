#!/usr/bin/env python3
"""Writes data/configurations.json: config.json files as transformers 5.24.0 saves them, and what it makes of them.

    python3 -m venv VENV && VENV/bin/pip install transformers==5.24.0 && VENV/bin/python tests/model/config_vectors.py"""

import json
import pathlib

import transformers

SIZES = {"num_hidden_layers": 8, "hidden_size": 64, "intermediate_size": 96, "num_attention_heads": 4,
         "num_key_value_heads": 2, "vocab_size": 300, "max_position_embeddings": 512}  # fmt: skip
YARN = {"rope_type": "yarn", "rope_theta": 5e5, "factor": 4.0, "original_max_position_embeddings": 128}
CASES = {
    "llama": ("LlamaForCausalLM", transformers.LlamaConfig(**SIZES)),
    "llama, old": ("LlamaForCausalLM", transformers.LlamaConfig(
        **SIZES, rope_theta=2e4, rope_scaling={"type": "linear", "factor": 2.0}, tie_word_embeddings=True)),
    "mistral": ("MistralForCausalLM", transformers.MistralConfig(**SIZES, sliding_window=48)),
    "mistral, no window": ("MistralForCausalLM", transformers.MistralConfig(
        **SIZES, sliding_window=None, head_dim=32)),
    "qwen2": ("Qwen2ForCausalLM", transformers.Qwen2Config(**SIZES, rope_parameters=YARN)),
    "qwen2, windows": ("Qwen2ForCausalLM", transformers.Qwen2Config(
        **SIZES, use_sliding_window=True, sliding_window=32, max_window_layers=5)),
    "qwen3": ("Qwen3ForCausalLM", transformers.Qwen3Config(**SIZES)),
    "gemma3": ("Gemma3ForCausalLM", transformers.Gemma3TextConfig(**SIZES, sliding_window=24)),
    "gemma3, defaults": ("Gemma3ForCausalLM", transformers.Gemma3TextConfig()),
    "gemma3, images": ("Gemma3ForConditionalGeneration", transformers.Gemma3Config(text_config=SIZES)),
}  # fmt: skip


def expected(config):
    types = getattr(config, "layer_types", None)
    window = getattr(config, "sliding_window", None) or 0
    if types is None:
        types = ["sliding_attention" if window else "full_attention"] * config.num_hidden_layers
    windows = [window if kind == "sliding_attention" else 0 for kind in types]
    rope = config.rope_parameters
    bases = [rope.get(kind, rope)["rope_theta"] for kind in types]
    names = ["num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads",
             "vocab_size", "max_position_embeddings", "rms_norm_eps", "tie_word_embeddings"]  # fmt: skip
    out = {name: getattr(config, name) for name in names}
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    scalar = getattr(config, "query_pre_attn_scalar", head_dim)
    return out | {"head_dim": head_dim, "windows": windows, "bases": bases, "scalar": scalar}


def main():
    out = {}
    for name, (architecture, config) in CASES.items():
        config.architectures = [architecture]
        text = getattr(config, "text_config", config)
        out[name] = {"saved": json.loads(config.to_json_string()), "expected": expected(text)}
    path = pathlib.Path(__file__).with_name("data") / "configurations.json"
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(case)}" for name, case in out.items())
    path.write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()

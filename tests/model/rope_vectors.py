#!/usr/bin/env python3
"""Writes data/rope_frequencies.json: rotary frequencies and magnitudes as the functions of transformers compute
them (5.24.0, modeling_rope_utils.py), in float64: numpy stands in for torch.

    python3 -m venv VENV && VENV/bin/pip install transformers==5.24.0 && VENV/bin/python tests/model/rope_vectors.py"""

import json
import pathlib
import types

import numpy as np
import transformers.modeling_rope_utils as rope


class Tensor(np.ndarray):
    def to(self, device=None, dtype=None):
        return self.astype(dtype or self.dtype)

    def float(self):
        return self.astype(np.float64)


rope.torch = types.SimpleNamespace(
    arange=lambda *bounds, dtype=np.int64, device=None: np.arange(*bounds, dtype=dtype).view(Tensor),
    clamp=np.clip,
    where=np.where,
    float=np.float64,
    float32=np.float64,
    int64=np.int64,
)

YARN = {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 32768}
CASES = {
    "linear x8 d256": (256, {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}),
    "llama3 x8 d128": (128, {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0,
                             "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}),
    "llama3 x32 d64": (64, {"rope_type": "llama3", "rope_theta": 5e5, "factor": 32.0, "low_freq_factor": 1.0,
                            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}),
    "yarn x4 d128": (128, YARN),
    "yarn x4 d128 betas": (128, YARN | {"beta_fast": 24.0, "beta_slow": 2.0, "truncate": False}),
    "yarn x40 d64 magnitude": (64, YARN | {"rope_theta": 1e4, "factor": 40.0, "attention_factor": 1.25,
                                           "original_max_position_embeddings": 4096}),
}  # fmt: skip


def main():
    out = {}
    for name, (dim, parameters) in CASES.items():
        config = types.SimpleNamespace(
            rope_parameters=parameters, head_dim=dim, hidden_size=dim, num_attention_heads=1,
            standardize_rope_params=lambda: None)  # fmt: skip
        frequencies, magnitude = rope.ROPE_INIT_FUNCTIONS[parameters["rope_type"]](config)
        out[name] = {"frequencies": np.asarray(frequencies).tolist(), "magnitude": magnitude}
    path = pathlib.Path(__file__).with_name("data") / "rope_frequencies.json"
    path.write_text(json.dumps(out, indent=0).replace(",\n", ", ") + "\n")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes data/blocks.bin: for each format that src/core/quantised_blocks.h lists, in its order, 4 random blocks
and the f32 weights that the package gguf (0.19.0, with numpy) makes of them.

    python3 -m venv VENV && VENV/bin/pip install gguf==0.19.0 && VENV/bin/python tests/core/block_vectors.py"""

import pathlib

import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import dequantize

BLOCKS = 4
# format: (bytes of a block, places of its f16 numbers)
FORMATS = {
    Type.F32: (4, []),
    Type.F16: (2, [0]),
    Type.BF16: (2, []),
    Type.Q4_0: (18, [0]),
    Type.Q4_1: (20, [0, 2]),
    Type.Q5_0: (22, [0]),
    Type.Q5_1: (24, [0, 2]),
    Type.Q8_0: (34, [0]),
    Type.Q4_K: (144, [0, 2]),
    Type.Q5_K: (176, [0, 2]),
    Type.Q6_K: (210, [208]),
}


def random_blocks(size, halves, random):
    blocks = random.integers(0, 256, (BLOCKS, size), dtype=np.uint8)
    for place in halves:  # finite, of either sign, one subnormal
        numbers = random.normal(0, 0.1, BLOCKS).astype("<f2")
        numbers[0] = 3e-6
        blocks[:, place : place + 2] = numbers.view(np.uint8).reshape(BLOCKS, 2)
    return blocks


def plain_blocks(kind, random):
    numbers = random.normal(0, 1, BLOCKS).astype("<f4")
    if kind == Type.BF16:
        return (numbers.view("<u4") >> 16).astype("<u2").view(np.uint8).reshape(BLOCKS, 2)
    return numbers.view(np.uint8).reshape(BLOCKS, 4)


def main():
    random = np.random.default_rng(1)
    out = b""
    for kind, (size, halves) in FORMATS.items():
        blocks = random_blocks(size, halves, random) if halves else plain_blocks(kind, random)
        weights = dequantize(blocks.reshape(-1), kind).astype("<f4")
        assert np.isfinite(weights).all()
        out += blocks.tobytes() + weights.tobytes()
    pathlib.Path(__file__).with_name("data").joinpath("blocks.bin").write_bytes(out)


if __name__ == "__main__":
    main()

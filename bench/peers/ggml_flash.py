"""ggml, llama.cpp's library: its flash attention, through ggml_flash.c."""

import ctypes
import pathlib
import sys

import numpy as np

from step import TYPES

GGML_TYPES = {"f32": 0, "f16": 1, "q8_0": 8}

library = ctypes.CDLL(str(pathlib.Path(sys.prefix, "ggml/libggml_flash.so")))
library.ggml_version.restype = ctypes.c_char_p
library.flash_new.restype = ctypes.c_void_p
library.flash_row_bytes.restype = ctypes.c_int64


def version():
    return library.ggml_version().decode()


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def quantise(cache, copies):
    """F32 [1, batch, kv_heads, kv_len, dim] to copies of its rows in q8_0 blocks."""
    *sizes, dim = cache.shape
    kind, row_bytes = GGML_TYPES["q8_0"], library.flash_row_bytes(GGML_TYPES["q8_0"], ctypes.c_int64(dim))
    rows = np.empty((copies, *sizes[1:], row_bytes), np.uint8)
    count = ctypes.c_int64(cache.size // dim)
    library.flash_quantise(kind, pointer(cache), pointer(rows), count, ctypes.c_int64(dim))
    rows[1:] = rows[0]
    return rows


class Attention:
    def __init__(self, step):
        batch, q_len, kv_len = step.even()
        self.choose(step)
        if self.kind == "q8_0":
            self.k, self.v = (quantise(cache, step.copies) for cache in step.even_kv(TYPES["f32"], copies=1))
        else:
            self.k, self.v = step.even_kv(TYPES[self.kind])
        self.q = step.even_q(TYPES["f32"])
        self.mask = step.causal_mask(TYPES["f16"]) if step.causal and q_len > 1 else None
        self.out = np.full(step.q.shape, np.nan, np.float32)
        sizes = (ctypes.c_int64 * 6)(step.dim, step.q_heads, step.kv_heads, q_len, kv_len, batch)
        mask = pointer(self.mask) if self.mask is not None else None
        scale = ctypes.c_float(step.scale)
        self.handle = ctypes.c_void_p(
            library.flash_new(GGML_TYPES[self.kind], sizes, scale, pointer(self.q), mask, pointer(self.out), step.threads)
        )

    def choose(self, step):
        """The fastest cache type of those that stand beside the step's."""
        self.bound = None
        if step.eight_bit:
            self.kind, self.note, self.bound = "q8_0", "K and V in q8_0, q in F32", 2e-2
        elif step.q_type == "f32":
            self.kind, self.note = "f32", None
        else:
            self.kind, self.note, self.bound = "f16", "K and V in F16, q in F32; sums V in F16", 6e-2
        self.setting = f"flash attention, {self.kind}"

    def run(self, copy):
        status = library.flash_run(self.handle, pointer(self.k[copy]), pointer(self.v[copy]))
        if status != 0:
            raise RuntimeError(f"ggml_graph_compute returned {status}")

    def answer(self):
        return self.out

    def __del__(self):
        if getattr(self, "handle", None):
            library.flash_free(self.handle)

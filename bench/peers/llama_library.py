"""llama.cpp, as setup.sh --models builds it, for one model file."""

import ctypes
import os
import pathlib
import sys

import numpy as np

BUILT = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "headwise/peers/ggml"
BATCH = 2048  # tokens of a call that asks for no logits


def load(built=BUILT):
    """The module llama_cpp over the library in BUILT/build; BUILT/source is llama-cpp-python's."""
    (library,) = pathlib.Path(built, "build").rglob("libllama.so")
    os.environ["LLAMA_CPP_LIB_PATH"] = str(library.parent)
    sys.path.insert(0, str(pathlib.Path(built, "source")))
    import llama_cpp

    return llama_cpp


class Model:
    """One sequence in a context of `context` tokens, f16 K and V unless said otherwise.

    `repacked`: weights are laid out anew for this processor's products, AMX among them, where llama.cpp can.
    """

    def __init__(self, llama_cpp, path, context, threads, kv="f16", flash=True, ubatch=512, repacked=True):
        self.api = llama_cpp
        parameters = llama_cpp.llama_cpp.llama_model_default_params()
        parameters.use_extra_bufts = repacked
        llama_cpp.llama_cpp.llama_model_default_params = lambda: parameters  # Llama has no argument for it
        kv_type = {"f32": llama_cpp.GGML_TYPE_F32, "f16": llama_cpp.GGML_TYPE_F16, "q8_0": llama_cpp.GGML_TYPE_Q8_0}[kv]
        # swa_full would keep all keys of layers with a window.
        self.model = llama_cpp.Llama(
            str(path), swa_full=False, n_ctx=context, n_batch=BATCH, n_ubatch=ubatch, n_threads=threads,
            n_threads_batch=threads, flash_attn=flash, type_k=kv_type, type_v=kv_type, verbose=False,
        )  # fmt: skip
        self.vocab = self.model.n_vocab()

    def tokenize(self, text, bos):
        return self.model.tokenize(text, add_bos=bos)

    def clear(self):
        self.length = 0
        self.api.llama_memory_clear(self.api.llama_get_memory(self.model.ctx), True)

    def run(self, tokens):
        """Appends tokens; the logits after the last, [vocab], valid until the next call."""
        for begin in range(0, len(tokens), BATCH):
            part = tokens[begin : begin + BATCH]
            ids = (ctypes.c_int32 * len(part))(*part)  # which the batch points into
            self._decode(self.api.llama_batch_get_one(ids, len(part)))
        return np.ctypeslib.as_array(self.api.llama_get_logits_ith(self.model.ctx, -1), (self.vocab,))

    def rows(self, tokens, at_once=512):
        """Appends tokens to an empty context; logits after each, [<= at_once, vocab] a time."""
        batch = self.api.llama_batch_init(at_once, 0, 1)
        try:
            for begin in range(0, len(tokens), at_once):
                part = tokens[begin : begin + at_once]
                batch.n_tokens = len(part)
                for i, token in enumerate(part):
                    batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.logits[i] = token, begin + i, 1, 1
                    batch.seq_id[i][0] = 0
                self._decode(batch)
                yield np.ctypeslib.as_array(self.api.llama_get_logits(self.model.ctx), (len(part), self.vocab))
        finally:
            self.api.llama_batch_free(batch)

    def _decode(self, batch):
        status = self.api.llama_decode(self.model.ctx, batch)
        if status:
            raise RuntimeError(f"llama_decode returned {status}")


def dequantise(llama_cpp, source, target):
    """Writes `target`, the model in `source` with all weights in F32."""
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype, parameters.allow_requantize = llama_cpp.LLAMA_FTYPE_ALL_F32, True
    if llama_cpp.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(parameters)):
        raise RuntimeError(f"llama.cpp could not dequantise {source}")

"""The step that bench hands over, as numpy arrays, and what most peers have in common."""

import ml_dtypes
import numpy as np

from handed_step import HandedStep
from refused import Refused

TYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


class Step(HandedStep):
    """`q` [tokens, q_heads, dim], `out` (F32) the same; `k` and `v` a list with [kv_heads, kv_len, dim] of each request."""

    def __init__(self, request):
        super().__init__(request)
        tensors = request["tensors"]
        self.device, self.threads, self.memory_bytes = request["device"], request["threads"], request["memory_bytes"]
        file = np.memmap(tensors["path"], np.uint8, "r+")
        dtype = TYPES[tensors["type"]]

        def take(start, dtype, *sizes):
            return file[start : start + int(np.prod(sizes)) * dtype.itemsize].view(dtype).reshape(sizes)

        def take_requests(start):
            return [take(at, dtype, *sizes) for at, sizes in self.requests(start, dtype.itemsize)]

        self.q = take(tensors["q"], dtype, self.tokens, self.q_heads, self.dim)
        self.out = take(tensors["out"], TYPES["f32"], *self.q.shape)
        self.k, self.v = take_requests(tensors["k"]), take_requests(tensors["v"])

    def even(self):
        """(batch, q_len, kv_len), of a step whose requests are all alike."""
        if not self.is_even:
            raise Refused("all requests of a call have the same lengths")
        return len(self.q_lens), self.q_lens[0], self.kv_lens[0]

    def even_q(self, dtype):
        """q as [batch, q_heads, q_len, dim]."""
        batch, q_len, _ = self.even()
        return np.ascontiguousarray(self.q.reshape(batch, q_len, self.q_heads, self.dim).transpose(0, 2, 1, 3).astype(dtype))

    def even_kv(self, dtype, copies=None):
        """K and V as [copies, batch, kv_heads, kv_len, dim] each; numpy asks for huge pages."""
        batch, _, kv_len = self.even()
        pair = []
        for source in (self.k, self.v):
            array = np.empty((copies or self.copies, batch, self.kv_heads, kv_len, self.dim), dtype)
            for request in range(batch):
                array[0, request] = source[request]
            array[1:] = array[0]
            pair.append(array)
        return pair

    def causal_mask(self, dtype):
        """[q_len, kv_len] to be added to logits; the new tokens are the last of the keys."""
        _, q_len, kv_len = self.even()
        hidden = np.arange(kv_len)[None] > np.arange(kv_len - q_len, kv_len)[:, None]
        return np.where(hidden, dtype.type(-np.inf), dtype.type(0))

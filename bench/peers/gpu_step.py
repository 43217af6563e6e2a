"""The step that bench hands over, as tensors on a GPU, and what peers there have in common."""

import math
import mmap

import torch

from refused import Refused, refuse_what_none_does

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}

torch.set_grad_enabled(False)


class Step:
    """`q` [tokens, q_heads, dim] on the GPU; `out` (F32) the same in bench's file; `k` and `v` a list with
    [kv_heads, kv_len, dim] of each request, on the CPU.

    `copies` sets of K and V are to be run in rotation, so that no call finds the last one's data in a cache.
    """

    def __init__(self, request):
        shape, tensors = request["shape"], request["tensors"]
        self.q_heads, self.kv_heads = shape["q_heads"], shape["kv_heads"]
        self.dim, self.scale, self.causal = shape["head_dim_qk"], shape["scale"], shape["window_right"] == 0
        self.q_lens, self.kv_lens = request["q_lens"], request["kv_lens"]
        self.copies, self.protocol, self.page_size = request["copies"], request["protocol"], request["page_size"]
        self.tokens = sum(self.q_lens)
        refuse_what_none_does(shape)
        if shape["kv_type"] in ("f8e4m3", "i8"):
            raise Refused("8-bit KV is not set up for peers on GPUs")
        if shape["q_type"] == "f32":
            raise Refused("no F32")
        self.device, self.dtype = torch.device(request["device"]), TYPES[tensors["type"]]
        torch.cuda.set_device(self.device)
        with open(tensors["path"], "r+b") as file:
            self.file = mmap.mmap(file.fileno(), 0)

        self.q = self.take(tensors["q"], self.dtype, self.tokens, self.q_heads, self.dim).to(self.device)
        self.out = self.take(tensors["out"], torch.float32, self.tokens, self.q_heads, self.dim)
        self.k, self.v = self.take_requests(tensors["k"]), self.take_requests(tensors["v"])

    def take(self, start, dtype, *sizes):
        return torch.frombuffer(self.file, dtype=dtype, count=math.prod(sizes), offset=start).view(sizes)

    def take_requests(self, start):
        taken = []
        for kv_len in self.kv_lens:
            taken.append(self.take(start, self.dtype, self.kv_heads, kv_len, self.dim))
            start += taken[-1].nbytes
        return taken

    def release_inputs(self):
        self.q = self.k = self.v = None

    @property
    def group(self):
        return self.q_heads // self.kv_heads

    @property
    def is_even(self):
        return len(set(self.q_lens)) == 1 and len(set(self.kv_lens)) == 1

    @property
    def is_prefill(self):
        return self.q_lens == self.kv_lens

    @property
    def sees_all(self):
        """Every new token sees every key: no mask is needed."""
        return not self.causal or max(self.q_lens) == 1

    def empty(self, *sizes):
        return torch.empty(sizes, dtype=self.dtype, device=self.device)

    def repeated(self, one):
        """[copies, ...] of a tensor."""
        if self.copies == 1:
            return one[None]
        return one[None].repeat(self.copies, *(1 for _ in one.shape))

    def stacked(self, caches):
        """[copies, batch, kv_heads, kv_len, dim] of an even step's K or V."""
        one = self.empty(len(caches), *caches[0].shape)
        for request, cache in enumerate(caches):
            one[request] = cache
        return self.repeated(one)

    def packed(self, caches):
        """[copies, keys of all requests, kv_heads, dim]."""
        one = self.empty(sum(self.kv_lens), self.kv_heads, self.dim)
        start = 0
        for cache in caches:
            one[start : start + cache.shape[1]] = cache.to(self.device).transpose(0, 1)
            start += cache.shape[1]
        return self.repeated(one)

    def paged(self, caches, page, table):
        """[copies, pages, page, kv_heads, dim] where `table` [batch, columns] says."""
        one = self.empty(sum(-(-kv_len // page) for kv_len in self.kv_lens), page, self.kv_heads, self.dim)
        for cache, row in zip(caches, table):
            pages = -(-cache.shape[1] // page)
            slots = self.empty(pages * page, self.kv_heads, self.dim).zero_()
            slots[: cache.shape[1]] = cache.to(self.device).transpose(0, 1)
            one[row[:pages].long()] = slots.view(pages, page, self.kv_heads, self.dim)
        return self.repeated(one)

    def shuffled_table(self, page):
        pages = [-(-kv_len // page) for kv_len in self.kv_lens]
        order = torch.randperm(sum(pages), generator=torch.Generator().manual_seed(0)).to(torch.int32)
        table = torch.zeros(len(pages), max(pages), dtype=torch.int32)
        start = 0
        for request, count in enumerate(pages):
            table[request, :count] = order[start : start + count]
            start += count
        return table.to(self.device)

    def ints(self, values):
        return torch.tensor(values, dtype=torch.int32, device=self.device)

    def begins(self, lengths):
        """[0, the first length, the sum of the first two, ...]."""
        sums = [0]
        for length in lengths:
            sums.append(sums[-1] + length)
        return self.ints(sums)

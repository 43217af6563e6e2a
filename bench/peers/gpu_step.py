"""The step that bench hands over, as tensors on a GPU, and what peers there have in common."""

import math
import mmap

import torch

from handed_step import HandedStep
from refused import Refused

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}

torch.set_grad_enabled(False)


class Step(HandedStep):
    """`q` [tokens, q_heads, dim] on the GPU; `out` (F32) the same in bench's file; `k` and `v` a list with
    [kv_heads, kv_len, dim] of each request, on the CPU. Of an e4m3 cache these are the numbers that its codes stand for,
    and `k_scale` and `v_scale` what the codes are multiplied by.
    """

    def __init__(self, request):
        super().__init__(request)
        tensors = request["tensors"]
        if self.q_type == "f32":
            raise Refused("no F32")
        self.k_scale, self.v_scale = request.get("k_scale"), request.get("v_scale")
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
        return [self.take(at, self.dtype, *sizes) for at, sizes in self.requests(start, self.dtype.itemsize)]

    def refuse_eight_bit(self):
        if self.eight_bit:
            raise Refused("no 8-bit KV with queries of 16 bits")

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

    def pages(self, page):
        """How many each request's keys take."""
        return [-(-kv_len // page) for kv_len in self.kv_lens]

    def paged(self, caches, page, table, scale=None):
        """[copies, pages, page, kv_heads, dim] where `table` [batch, columns] says; with a scale, as e4m3 codes."""
        pool = self.empty(self.pool_pages(page), page, self.kv_heads, self.dim)
        if scale is not None:
            pool = torch.empty(pool.shape, dtype=torch.uint8, device=self.device)
        for cache, row, pages in zip(caches, table, self.pages(page)):
            slots = self.empty(pages * page, self.kv_heads, self.dim).zero_()
            slots[: cache.shape[1]] = cache.to(self.device).transpose(0, 1)
            if scale is not None:
                slots = (slots.float() / scale).to(torch.float8_e4m3fn).view(torch.uint8)
            pool[row[:pages].long()] = slots.view(pages, page, self.kv_heads, self.dim)
        copies = self.repeated(pool)
        return copies if scale is None else copies.view(torch.float8_e4m3fn)

    def shared_pages(self, page):
        """Whole pages of the prefix that all requests but the prompts begin with."""
        return self.shared_prefix // page

    def pool_pages(self, page):
        sharing = len(self.kv_lens) - self.prompts
        return sum(self.pages(page)) - max(0, sharing - 1) * self.shared_pages(page)

    def shuffled_table(self, page):
        pages, shared = self.pages(page), self.shared_pages(page)
        order = torch.randperm(self.pool_pages(page), generator=torch.Generator().manual_seed(0)).to(torch.int32)
        table = torch.zeros(len(pages), max(pages), dtype=torch.int32)
        start = shared
        for request, count in enumerate(pages):
            first = shared if request >= self.prompts else 0
            table[request, :first] = order[:first]
            table[request, first:count] = order[start : start + count - first]
            start += count - first
        return table.to(self.device)

    def ints(self, values):
        return torch.tensor(values, dtype=torch.int32, device=self.device)

    def begins(self, lengths):
        """[0, the first length, the sum of the first two, ...]."""
        sums = [0]
        for length in lengths:
            sums.append(sums[-1] + length)
        return self.ints(sums)

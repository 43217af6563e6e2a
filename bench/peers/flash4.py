"""FlashAttention-4, its kernels for Hopper: prefills only, since it has no parts of keys there.

HEADWISE_FA4 is a folder with its Python packages. Kernels that the folder's `cache` lacks are compiled when they are first
needed, seconds each, and kept there.
"""

import functools
import importlib
import importlib.metadata
import os
import pathlib
import site

from gpu_timer import fastest
from refused import Refused

VARIABLE = "HEADWISE_FA4"


@functools.cache
def library():
    name = os.environ.get(VARIABLE)
    if not name:
        raise Refused(f"{VARIABLE} names no folder")
    folder = pathlib.Path(name)
    if not (folder / "flash_attn/cute").is_dir():
        raise Refused(f"there is no flash_attn/cute in {folder}, which {VARIABLE} names")
    site.addsitedir(folder)  # a package there has a .pth file
    os.environ["FLASH_ATTENTION_CUTE_DSL_CACHE_ENABLED"] = "1"
    os.environ["FLASH_ATTENTION_CUTE_DSL_CACHE_DIR"] = str(folder / "cache")
    return importlib.import_module("flash_attn.cute.interface")


class Flash4:
    note = None
    bound = None

    def __init__(self, step):
        attention = library()
        self.version = importlib.metadata.version("flash-attn-4")
        step.refuse_eight_bit()
        if not step.is_prefill:
            raise Refused("prefills only")
        self.options = {"softmax_scale": step.scale, "causal": not step.sees_all}
        if step.is_even:
            self.call, self.layout = attention.flash_attn_func, "contiguous"
            sizes = (len(step.q_lens), step.q_lens[0])
        else:
            self.call, self.layout = attention.flash_attn_varlen_func, "packed"
            sizes = (step.tokens,)
            begins, longest = step.begins(step.q_lens), max(step.q_lens)
            self.options |= {"cu_seqlens_q": begins, "cu_seqlens_k": begins, "max_seqlen_q": longest, "max_seqlen_k": longest}
        self.q = step.q.view(*sizes, step.q_heads, step.dim)
        self.k, self.v = (step.packed(x).view(step.copies, *sizes, step.kv_heads, step.dim) for x in (step.k, step.v))
        packs, self.attend = fastest([None, False] if step.group > 1 else [None], self.make_run, step)
        self.setting = self.layout if packs is None else f"{self.layout}, groups apart"
        self.run(0)

    def make_run(self, packs):
        """`packs`: whether a group's heads are rows of one tile; None is the library's own choice."""
        return lambda copy: self.call(self.q, self.k[copy], self.v[copy], pack_gqa=packs, **self.options)[0]

    def run(self, copy):
        self.out = self.attend(copy)

    def answer(self):
        return self.out.reshape(-1, *self.q.shape[-2:]).float()

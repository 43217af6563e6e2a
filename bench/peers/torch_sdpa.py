"""PyTorch: scaled_dot_product_attention by its flash kernel."""

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from refused import Refused
from step import TYPES

# For the life of the process: entered around each call it would cost some microseconds of it.
FLASH_ONLY = sdpa_kernel(SDPBackend.FLASH_ATTENTION)
FLASH_ONLY.__enter__()
torch.set_grad_enabled(False)


def tensor_of(array):
    """Shares the array's memory; torch does not know numpy's bfloat16."""
    if array.dtype == TYPES["bf16"]:
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16)
    return torch.from_numpy(array)


class Attention:
    note = None
    bound = None

    def __init__(self, step):
        if step.eight_bit:
            raise Refused("no 8-bit KV")
        batch, q_len, kv_len = step.even()
        self.shape = (batch, step.q_heads, q_len, step.dim)
        torch.set_num_threads(step.threads)
        dtype = TYPES[step.q_type]
        self.q = tensor_of(step.even_q(dtype))
        self.k, self.v = (tensor_of(array) for array in step.even_kv(dtype))
        self.options = {}
        self.setting = "SDPA flash"
        if q_len == kv_len:
            self.options = {"is_causal": step.causal, "enable_gqa": step.group > 1}
            self.setting += ", enable_gqa" if step.group > 1 else ""
        else:
            # A group's query heads as further rows of one head: enable_gqa reads K and V once for each of them.
            self.q = self.q.view(batch, step.kv_heads, step.group * q_len, step.dim)
            if step.causal and q_len > 1:
                mask = tensor_of(step.causal_mask(dtype))
                self.options["attn_mask"] = mask.repeat(step.group, 1)
            self.setting += ", groups as rows" if step.group > 1 else ""

    def run(self, copy):
        self.out = scaled_dot_product_attention(self.q, self.k[copy], self.v[copy], **self.options)

    def answer(self):
        batch, heads, q_len, dim = self.shape
        return self.out.view(self.shape).float().transpose(1, 2).reshape(batch * q_len, heads, dim).numpy()

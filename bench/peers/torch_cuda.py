"""PyTorch on a GPU: scaled_dot_product_attention by FlashAttention-2 or cuDNN, whatever is fastest of each."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from gpu_timer import fastest
from refused import Refused


class Sdpa:
    """Even steps: q, K and V as [batch, heads, length, dim]."""

    note = None
    bound = None
    version = torch.__version__

    def __init__(self, step, kernel):
        step.refuse_eight_bit()
        # For the life of the process: entered around each call it would cost some microseconds of it.
        self.kernel = sdpa_kernel(kernel)
        self.kernel.__enter__()
        batch, self.q_len, kv_len = len(step.q_lens), step.q_lens[0], step.kv_lens[0]
        self.shape = (batch, step.q_heads, self.q_len, step.dim)
        self.q = step.q.view(batch, self.q_len, step.q_heads, step.dim).transpose(1, 2).contiguous()
        self.k, self.v = step.stacked(step.k), step.stacked(step.v)
        settings = self.settings(step, kv_len)
        self.setting, self.attend = fastest(settings, settings.get, step)
        self.run(0)

    def settings(self, step, kv_len):
        """Name to a call over a copy."""
        options = {"is_causal": step.causal and self.q_len == kv_len > 1, "enable_gqa": step.group > 1, "scale": step.scale}
        settings = {self.name: lambda copy: scaled_dot_product_attention(self.q, self.k[copy], self.v[copy], **options)}
        if step.group > 1 and step.sees_all:
            # A group's query heads as further rows of one head.
            rows = self.q.reshape(self.shape[0], step.kv_heads, -1, step.dim)
            settings[f"{self.name}, groups as rows"] = lambda copy: scaled_dot_product_attention(
                rows, self.k[copy], self.v[copy], scale=step.scale
            )
        return settings

    def run(self, copy):
        self.out = self.attend(copy)

    def answer(self):
        batch, heads, q_len, dim = self.shape
        return self.out.reshape(self.shape).float().transpose(1, 2).reshape(batch * q_len, heads, dim)


class Cudnn(Sdpa):
    name = "SDPA cuDNN"

    def __init__(self, step):
        if not step.is_even:
            raise Refused("all requests of a call have the same lengths")
        if not step.sees_all and not step.is_prefill:
            raise Refused("no causal mask of fewer queries than keys")
        super().__init__(step, SDPBackend.CUDNN_ATTENTION)
        self.version = f"{torch.backends.cudnn.version()}, torch {torch.__version__}"


class EvenFlash2(Sdpa):
    name = "SDPA flash"

    def __init__(self, step):
        super().__init__(step, SDPBackend.FLASH_ATTENTION)

    def settings(self, step, kv_len):
        if step.sees_all or self.q_len == kv_len:
            return super().settings(step, kv_len)
        # Its mask ends with the last key; that of the function above ends with the first ones.
        flash = torch.ops.aten._scaled_dot_product_flash_attention
        return {
            f"{self.name}, bottom right": lambda copy: flash(
                self.q, self.k[copy], self.v[copy], 0.0, True, False, scale=step.scale
            )[0]
        }


class UnevenFlash2:
    """Requests of different lengths, packed one after another."""

    note = None
    bound = None
    version = torch.__version__
    setting = "flash, variable lengths"

    def __init__(self, step):
        step.refuse_eight_bit()
        self.q, self.k, self.v = step.q, step.packed(step.k), step.packed(step.v)
        self.lengths = (step.begins(step.q_lens), step.begins(step.kv_lens), max(step.q_lens), max(step.kv_lens))
        self.causal, self.scale = not step.sees_all, step.scale

    def run(self, copy):
        flash = torch.ops.aten._flash_attention_forward
        keys = self.k[copy], self.v[copy]
        self.out = flash(self.q, *keys, *self.lengths, 0.0, self.causal, False, scale=self.scale)[0]

    def answer(self):
        return self.out.float()


def Flash2(step):
    return EvenFlash2(step) if step.is_even else UnevenFlash2(step)

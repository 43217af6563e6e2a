"""FlashAttention-3: upstream's library (HEADWISE_FA3) and vLLM's fork (HEADWISE_VLLM_FA3), loaded without their packages."""

import os

import torch

from gpu_timer import fastest
from refused import Refused


def load(variable):
    path = os.environ.get(variable)
    if not path:
        raise Refused(f"{variable} names no library")
    torch.ops.load_library(path)


def splits_of(step, blocks):
    """Numbers of parts worth a try: 0 is the library's own choice."""
    if step.is_prefill:
        return [1]
    if not step.is_even:
        return [0, 1, 2, 4, 8, 16, 32]
    even = max(1, blocks // (len(step.q_lens) * step.kv_heads))
    return [0] + sorted({n for n in (1, 2, even // 2, even, 2 * even, 4 * even) if 1 <= n <= 128})


class Flash3:
    note = None
    bound = None
    version = None
    page = None

    def __init__(self, step):
        load(self.variable)
        step.refuse_eight_bit()
        self.step, self.q = step, step.q
        self.batch, self.max_q, self.max_k = len(step.q_lens), max(step.q_lens), max(step.kv_lens)
        self.causal, self.scale = not step.sees_all, step.scale
        self.multiprocessors = torch.cuda.get_device_properties(step.device).multi_processor_count
        self.lay_out(step)
        chosen, self.attend = fastest(self.settings(step), self.make_run, step)
        self.setting = ", ".join([self.layout, *(f"{name} {value}" for name, value in chosen.items() if value is not None)])
        self.step = None
        self.run(0)

    def settings(self, step):
        settings = [{"splits": n, "pack": None} for n in splits_of(step, self.multiprocessors)]
        if step.group > 1:
            settings += [{"splits": n["splits"], "pack": pack} for n in settings[:2] for pack in (True, False)]
        return settings

    def even_q(self):
        return self.q.view(self.batch, self.max_q, *self.q.shape[1:])

    def head(self, q, k, v, cu_q=None, cu_k=None, used=None, max_q=None, max_k=None, table=None):
        """The operators' first arguments, to the window."""
        nothing = [None] * 8
        return (
            q, k, v, None, None, None, None, cu_q, cu_k, None, None, used, max_q, max_k, table, *nothing,
            self.scale, self.causal, -1, -1,
        )  # fmt: skip

    def run(self, copy):
        self.out = self.attend(copy)

    def answer(self):
        return self.out.reshape(-1, *self.q.shape[-2:]).float()


class Upstream(Flash3):
    variable = "HEADWISE_FA3"

    def lay_out(self, step):
        if step.dtype != torch.bfloat16:
            raise Refused("BF16 only")
        self.k, self.v = step.packed(step.k), step.packed(step.v)
        self.lengths, self.layout = {}, "contiguous"
        if step.is_even:
            self.q = self.even_q()
            self.k, self.v = (x.view(step.copies, self.batch, self.max_k, step.kv_heads, step.dim) for x in (self.k, self.v))
        else:
            self.layout = "packed"
            begins = {"cu_q": step.begins(step.q_lens), "cu_k": step.begins(step.kv_lens)}
            self.lengths = begins | {"max_q": self.max_q, "max_k": self.max_k}

    def make_run(self, setting):
        def run(copy):
            head = self.head(self.q, self.k[copy], self.v[copy], **self.lengths)
            return torch.ops.fa3_fwd.fwd(*head, 0, 0.0, True, None, setting["splits"], setting["pack"], 0)[0]

        return run


class Vllm(Flash3):
    """Over shuffled pages, but for prefills, whose keys are new."""

    variable = "HEADWISE_VLLM_FA3"

    def lay_out(self, step):
        self.used = step.ints(step.kv_lens)
        if step.is_prefill:
            begins = step.begins(step.q_lens)
            self.k, self.v, self.layout = step.packed(step.k), step.packed(step.v), "packed"
            self.lengths = {"cu_q": begins, "cu_k": begins, "max_q": self.max_q, "max_k": self.max_k}
            return
        self.page = step.page_size if step.page_size % 16 == 0 and step.page_size <= 256 else 16
        table = step.shuffled_table(self.page)
        self.k, self.v = step.paged(step.k, self.page, table), step.paged(step.v, self.page, table)
        self.layout = f"pages of {self.page}"
        self.lengths = {"used": self.used, "max_k": self.max_k, "table": table}
        if len(set(step.q_lens)) == 1:
            self.q = self.even_q()
        else:
            self.lengths |= {"cu_q": step.begins(step.q_lens), "max_q": self.max_q}

    def settings(self, step):
        if self.page is None or self.q.dim() == 3:
            return [{"splits": n, "pack": None, "metadata": None} for n in ([1] if self.page is None else [0, 1])]
        made = [{"splits": n, "pack": None, "metadata": "ahead"} for n in splits_of(step, self.multiprocessors)]
        packed = [{"splits": 0, "pack": True, "metadata": "ahead"}] if step.group > 1 else []
        return [{"splits": 0, "pack": None, "metadata": None}, *made, *packed]

    def metadata(self, setting):
        if setting["metadata"] is None:
            return None
        step = self.step
        return torch.ops._vllm_fa3_C.get_scheduler_metadata(
            self.batch, self.max_q, self.max_k, step.q_heads, step.kv_heads, step.dim, step.dim, self.q.dtype, self.used,
            None, None, None, None, None, self.page, 0, self.causal, -1, -1, False, setting["splits"], setting["pack"], 0,
        )  # fmt: skip

    def make_run(self, setting):
        metadata = self.metadata(setting)

        def run(copy):
            head = self.head(self.q, self.k[copy], self.v[copy], **self.lengths)
            tail = (0.0, True, metadata, setting["splits"], setting["pack"], 0, None, 1, 0, None)
            return torch.ops._vllm_fa3_C.fwd(*head, *tail)[0]

        return run

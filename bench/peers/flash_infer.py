"""FlashInfer: whatever of its ways through a step is fastest. Prefills are packed, everything else lies in shuffled pages.

Its kernels compile when they are first needed, minutes each; FLASHINFER_DISABLE_JIT=1 leaves out those not built ahead.
"""

import functools

import flashinfer
import torch

from gpu_timer import fastest
from refused import Refused

WORKSPACE = 768 << 20  # bytes
XQA_WORKSPACE = 256 << 20
XQA_PAGES = (16, 32, 64, 128)  # tokens
LARGEST_GROUP = 8  # of decode without tensor cores
LAYOUT = "NHD"  # [pages, page, kv_heads, dim]


@functools.cache
def workspace(device, size):
    return torch.zeros(size, dtype=torch.uint8, device=device)


class FlashInfer:
    note = None
    bound = None
    page = None
    version = flashinfer.__version__

    def __init__(self, step):
        if step.kv_type == "i8":
            raise Refused("no int8 KV")
        self.step, self.q = step, step.q
        self.bf16 = not step.eight_bit
        self.float_workspace = workspace(step.device, WORKSPACE)
        ways = self.lay_out_packed() if step.is_prefill and self.bf16 else self.lay_out_pages()
        if not ways:
            raise Refused("none of its ways is for such a step")
        way, self.attend = fastest(ways, lambda name: ways[name](), step)
        self.setting = f"{way}, pages of {self.page}" if self.page else f"{way}, packed"
        self.step = None
        self.run(0)

    def run(self, copy):
        self.out = self.attend(copy)

    def answer(self):
        parts = self.out if isinstance(self.out, tuple) else (self.out,)
        return torch.cat([part.view(-1, *self.q.shape[-2:]) for part in parts]).float()

    def heads(self):
        return self.step.q_heads, self.step.kv_heads, self.step.dim

    def types(self):
        return {"sm_scale": self.step.scale, "q_data_type": self.q.dtype, "kv_data_type": self.k.dtype}

    def causal(self):
        return not self.step.sees_all

    # Packed keys.

    def lay_out_packed(self):
        step = self.step
        self.k, self.v = step.packed(step.k), step.packed(step.v)
        self.begins = step.begins(step.q_lens)
        return {
            "ragged prefill fa3": lambda: self.ragged("fa3"),
            "ragged prefill fa2": lambda: self.ragged("fa2"),
            "fmha_v2": self.fmha_v2,
        }

    def ragged(self, backend):
        wrapper = flashinfer.BatchPrefillWithRaggedKVCacheWrapper(self.float_workspace, LAYOUT, backend=backend)
        wrapper.plan(self.begins, self.begins, *self.heads(), causal=self.causal(), **self.types())
        return lambda copy: wrapper.run(self.q, self.k[copy], self.v[copy])

    def fmha_v2(self):
        """TensorRT-LLM's, which wants K and V of a token side by side."""
        step, batch, longest = self.step, len(self.step.q_lens), max(self.step.q_lens)
        pairs, lengths, out = torch.stack([self.k, self.v], 2), step.ints(step.kv_lens), torch.empty_like(self.q)
        mask, begins, floats, scale = "causal" if self.causal() else "padding", self.begins, self.float_workspace, step.scale
        return lambda copy: flashinfer.prefill.trtllm_fmha_v2_prefill(
            (self.q, pairs[copy]), "CONTIGUOUS_Q_KV", floats, lengths, longest, longest, scale, 1.0, batch, begins, begins,
            out=out, mask_mode=mask,
        )  # fmt: skip

    # Pages.

    def lay_out_pages(self):
        step = self.step
        self.page = step.page_size if step.page_size % 16 == 0 and step.page_size <= 256 else 16
        self.table = step.shuffled_table(self.page)
        self.k = step.paged(step.k, self.page, self.table, step.k_scale)
        self.v = step.paged(step.v, self.page, self.table, step.v_scale)
        # Codes stand for so much; other caches take no scales.
        self.scales = {} if self.bf16 else {"k_scale": step.k_scale, "v_scale": step.v_scale}
        return self.decodes() if step.is_decode else self.mixtures()

    def cache(self, copy):
        return self.k[copy], self.v[copy]

    def lists(self, first=0, last=None, skip=0):
        """Page lists of requests first to last, without their first `skip` pages: begins, pages, keys in the last one."""
        step = self.step
        lengths, rows = step.kv_lens[first:last], self.table[first:last]
        counts = step.pages(self.page)[first:last]
        pages = torch.cat([row[skip:count] for row, count in zip(rows, counts)])
        return step.begins([n - skip for n in counts]), pages, step.ints([(n - 1) % self.page + 1 for n in lengths])

    def decodes(self):
        """Their queries are one token a request."""
        step, ways = self.step, {}
        if step.group <= LARGEST_GROUP:
            ways |= {"decode": self.decode, "decode for graphs": lambda: self.decode(graph=True)}
        tensor_cores = {"use_tensor_cores": True, "backend": "fa2"}
        ways["tensor-core decode"] = lambda: self.decode(**tensor_cores)
        ways["tensor-core decode for graphs"] = lambda: self.decode(graph=True, **tensor_cores)
        if self.page in XQA_PAGES:
            ways |= {"XQA": self.xqa, "XQA, heads before tokens": lambda: self.xqa("HND")}
        if self.bf16 and step.dim == 128:
            ways["tensor-core decode fa3"] = lambda: self.decode(use_tensor_cores=True, backend="fa3")
            ways["BatchAttention"] = self.batch_attention
        if self.bf16 and step.shared_pages(self.page) > 0:
            ways["cascade"] = self.cascade
        return ways

    def decode(self, graph=False, **options):
        begins, pages, last = self.lists()
        if graph:
            buffers = {"indptr": begins.clone(), "indices": pages.clone(), "last_page_len": last.clone()}
            options |= {"use_cuda_graph": True} | {f"paged_kv_{name}_buffer": buffer for name, buffer in buffers.items()}
        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(self.float_workspace, LAYOUT, **options)
        wrapper.plan(begins, pages, last, *self.heads(), self.page, **self.types())
        return lambda copy: wrapper.run(self.q, self.cache(copy), **self.scales)

    def xqa(self, layout=LAYOUT):
        """TensorRT-LLM's decode."""
        step, table, k, v = self.step, self.table, self.k, self.v
        if layout == "HND":
            k, v = (x.view(torch.uint8).transpose(2, 3).contiguous().view(x.dtype) for x in (k, v))
        lengths, longest = step.ints(step.kv_lens).to(torch.uint32), max(step.kv_lens)
        scales = {"bmm1_scale": step.scale * (step.k_scale or 1.0), "bmm2_scale": step.v_scale or 1.0}
        own = workspace(step.device, XQA_WORKSPACE)
        return lambda copy: flashinfer.decode.xqa_batch_decode_with_kv_cache(
            self.q, (k[copy], v[copy]), own, table, lengths, longest, kv_layout=layout, **scales
        )

    def batch_attention(self):
        """One persistent kernel for steps of any kind."""
        step, (begins, pages, _) = self.step, self.lists()
        wrapper = flashinfer.BatchAttention(LAYOUT)
        lengths = (step.begins(step.q_lens), begins, pages, step.ints(step.kv_lens))
        wrapper.plan(*lengths, *self.heads(), step.dim, self.page, causal=self.causal(), **self.types())
        return lambda copy: wrapper.run(self.q, self.cache(copy))[0]

    def cascade(self):
        """The prefix for all requests at once, then what each has of its own."""
        step, shared, batch = self.step, self.step.shared_pages(self.page), len(self.step.q_lens)
        begins, pages, last = self.lists(skip=shared)
        wrapper = flashinfer.MultiLevelCascadeAttentionWrapper(2, self.float_workspace, LAYOUT)
        queries = [step.ints([0, batch]), step.begins(step.q_lens)]
        prefix = self.table[0, :shared].contiguous()
        full = step.ints([self.page])
        wrapper.plan(
            queries, [step.ints([0, shared]), begins], [prefix, pages], [full, last], *self.heads(), self.page, **self.types()
        )
        return lambda copy: wrapper.run(self.q, self.cache(copy))

    def mixtures(self):
        """Steps with several new tokens in some requests."""
        if not self.bf16:
            return {"paged prefill fa2": lambda: self.prefill("fa2")}
        ways = {f"paged prefill {backend}": lambda backend=backend: self.prefill(backend) for backend in ("fa3", "fa2")}
        if self.step.dim == 128:
            ways["BatchAttention"] = self.batch_attention
        prompts = self.step.prompts
        if 0 < prompts < len(self.step.q_lens) and max(self.step.q_lens[prompts:]) == 1:
            ways["POD"] = self.pod
        return ways

    def prefill(self, backend):
        step, (begins, pages, last) = self.step, self.lists()
        wrapper = flashinfer.BatchPrefillWithPagedKVCacheWrapper(self.float_workspace, LAYOUT, backend=backend)
        queries = step.begins(step.q_lens)
        wrapper.plan(queries, begins, pages, last, *self.heads(), self.page, causal=self.causal(), **self.types())
        return lambda copy: wrapper.run(self.q, self.cache(copy), **self.scales)

    def pod(self):
        """Prompts and decodes side by side in one kernel."""
        step, prompts = self.step, self.step.prompts
        tokens = sum(step.q_lens[:prompts])
        prompt_q, decode_q = self.q[:tokens], self.q[tokens:]
        wrapper = flashinfer.BatchPODWithPagedKVCacheWrapper(self.float_workspace, LAYOUT)
        of_prompts = (step.begins(step.q_lens[:prompts]), *self.lists(0, prompts))
        of_decodes = (step.begins(step.q_lens[prompts:]), *self.lists(prompts))
        wrapper.plan(*of_prompts, *of_decodes, *self.heads(), self.page, **self.types())
        causal = step.causal

        def run(copy):
            cache = self.cache(copy)
            return tuple(wrapper.run(prompt_q, cache, decode_q, cache, causal_p=causal))

        return run

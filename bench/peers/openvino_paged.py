"""OpenVINO: PagedAttention of its CPU plugin, in a model of this one operator."""

import numpy as np
import openvino
from openvino import opset13 as ops
from openvino.op import _PagedAttentionExtension as PagedAttention

from refused import Refused
from step import TYPES

OV_TYPES = {"f32": openvino.Type.f32, "bf16": openvino.Type.bf16}
FILLED_AT_ONCE = 256  # blocks


def constant(dtype, *sizes):
    """Zeros; without sizes a single one. What the operator takes and this step has no use for is empty."""
    return ops.constant(np.zeros(sizes, dtype)).output(0)


class Model:
    """`inputs` by name: q, k, v [tokens, heads * dim], the caches, and the tables of a step."""

    def __init__(self, step):
        self.parameters = {}
        element, i32, empty = OV_TYPES[step.q_type], openvino.Type.i32, (0,)
        arguments = [
            self.parameter("q", element, -1, step.q_heads * step.dim),
            self.parameter("k", element, -1, step.kv_heads * step.dim),
            self.parameter("v", element, -1, step.kv_heads * step.dim),
            self.parameter("k_cache", openvino.Type.dynamic, -1, -1, -1, -1),
            self.parameter("v_cache", openvino.Type.dynamic, -1, -1, -1, -1),
            self.parameter("past_lens", i32, -1),
            self.parameter("token_begins", i32, -1),
            self.parameter("blocks", i32, -1),
            self.parameter("block_begins", i32, -1),
            ops.constant(np.float32(step.scale)).output(0),
            constant(np.int32),  # sliding window: none
            constant(np.float32, *empty),  # ALiBi slopes
            self.parameter("longest_kv", i32),
            constant(np.int32, *empty),  # score aggregation window
            constant(np.int32, *empty),  # rotated blocks, their deltas, table
            constant(np.int32, 0, 0),
            constant(np.float32, 0, 0),
            constant(np.float32, *empty),  # XAttention threshold, block, stride
            constant(np.int32),
            constant(np.int32),
            constant(np.float32, 0, 0, 0, 0),  # sinks
            constant(np.int32),  # adaptive eviction: start, sizes, diversity blocks and begins
            constant(np.int32, *empty),
            constant(np.int32, *empty),
            constant(np.int32, *empty),
            constant(np.int32, *empty),  # token types
            constant(np.uint8, *empty),
            constant(np.int32, *empty),
        ]
        attention = PagedAttention(arguments)
        # By these the plugin chooses the caches' layout.
        sizes = {"num_k_heads": step.kv_heads, "num_v_heads": step.kv_heads, "k_head_size": step.dim, "v_head_size": step.dim}
        for name, size in sizes.items():
            attention.get_rt_info()[name] = size
        self.model = openvino.Model([ops.result(attention.output(0))], list(self.parameters.values()), "attention")

    def parameter(self, name, element, *sizes):
        parameter = ops.parameter(openvino.PartialShape(list(sizes)), element)
        parameter.output(0).get_tensor().set_names({name})
        self.parameters[name] = parameter
        return parameter.output(0)

    def compile(self, step):
        cache = "u8" if step.eight_bit else step.q_type
        options = {
            "INFERENCE_NUM_THREADS": step.threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": step.q_type, "KV_CACHE_PRECISION": cache,
        }  # fmt: skip
        return openvino.Core().compile_model(self.model, "CPU", options)


def tensor_of(array):
    """A tensor with the array's bytes; OpenVINO's Python does not know numpy's bfloat16."""
    array = np.ascontiguousarray(array)
    if array.dtype != TYPES["bf16"]:
        return openvino.Tensor(array, shared_memory=False)
    tensor = openvino.Tensor(openvino.Type.bf16, openvino.Shape(list(array.shape)))
    tensor.data.view(np.uint16)[:] = array.view(np.uint16)
    return tensor


def indices(values):
    return openvino.Tensor(np.asarray(values, np.int32), shared_memory=False)


def begins(lengths):
    return np.concatenate(([0], np.cumsum(lengths)))


class Attention:
    def __init__(self, step):
        if step.q_type not in OV_TYPES:
            raise Refused("no F16 products on this CPU")
        if not step.causal:
            raise Refused("causal only")
        self.step = step
        compiled = Model(step).compile(step)
        self.request = compiled.create_infer_request()
        self.block = compiled.input("v_cache").partial_shape[2].get_length()
        self.blocks_of = [-(-kv_len // self.block) for kv_len in step.kv_lens]
        self.blocks_a_copy = sum(self.blocks_of)
        self.make_caches(compiled)
        self.fill()
        self.set_step()
        kind = compiled.input("k_cache").element_type.get_type_name()
        self.setting = f"PagedAttention, {kind} cache, blocks of {self.block}"
        self.note = "K and V in u8 with scales and zeros" if step.eight_bit else None
        self.bound = 3e-2 if step.eight_bit else None
        self.step = None

    def make_caches(self, compiled):
        self.caches = []
        for name in ("k_cache", "v_cache"):
            port = compiled.input(name)
            sizes = [self.step.copies * self.blocks_a_copy] + [port.partial_shape[i].get_length() for i in (1, 2, 3)]
            # numpy's memory comes in huge pages.
            memory = np.empty(int(np.prod(sizes)) * port.element_type.size, np.uint8)
            cache = openvino.Tensor(memory, openvino.Shape(sizes), port.element_type)
            self.caches.append((memory, cache))
            self.request.set_tensor(name, cache)

    def fill(self):
        """By the operator itself, which knows the layout: each block of each request as a sequence of its own."""
        for copy in range(self.step.copies):
            first = copy * self.blocks_a_copy
            for k, v, blocks in zip(self.step.k, self.step.v, self.blocks_of):
                for at in range(0, blocks, FILLED_AT_ONCE):
                    count = min(FILLED_AT_ONCE, blocks - at)
                    self.fill_blocks(k, v, at, count, first + at)
                first += blocks

    def fill_blocks(self, k, v, at, count, first):
        start, end = at * self.block, min((at + count) * self.block, k.shape[1])
        lengths = np.minimum(self.block, end - start - np.arange(count) * self.block)
        step = self.step
        self.set(
            q=tensor_of(np.zeros((end - start, step.q_heads * step.dim), TYPES[step.q_type])),
            k=tensor_of(token_rows(k, start, end)), v=tensor_of(token_rows(v, start, end)),
            past_lens=indices(np.zeros(count)), token_begins=indices(begins(lengths)),
            blocks=indices(first + np.arange(count)), block_begins=indices(np.arange(count + 1)),
            longest_kv=indices(self.block),
        )  # fmt: skip
        self.request.infer()

    def set_step(self):
        """What every call has in common, and the blocks of each copy."""
        step = self.step
        news = [(kv_len - q_len, kv_len) for q_len, kv_len in zip(step.q_lens, step.kv_lens)]

        def rows(cache):
            return tensor_of(np.concatenate([token_rows(one, *new) for one, new in zip(cache, news)]))

        self.set(
            q=tensor_of(step.q.reshape(step.q.shape[0], -1)), k=rows(step.k), v=rows(step.v),
            past_lens=indices([past for past, _ in news]), token_begins=indices(begins(step.q_lens)),
            block_begins=indices(begins(self.blocks_of)), longest_kv=indices(max(step.kv_lens)),
        )  # fmt: skip
        self.blocks = [
            indices(copy * self.blocks_a_copy + np.arange(self.blocks_a_copy)) for copy in range(step.copies)
        ]
        self.shape = step.q.shape

    def set(self, **tensors):
        for name, tensor in tensors.items():
            self.request.set_tensor(name, tensor)

    def run(self, copy):
        self.request.set_tensor("blocks", self.blocks[copy])
        self.request.infer()

    def answer(self):
        out = self.request.get_output_tensor(0)
        if out.element_type == openvino.Type.bf16:
            return out.data.view(TYPES["bf16"]).astype(np.float32).reshape(self.shape)
        return np.array(out.data, np.float32).reshape(self.shape)


def token_rows(cache, start, end):
    """[kv_heads, kv_len, dim] to [end - start, kv_heads * dim]."""
    return cache[:, start:end].transpose(1, 0, 2).reshape(end - start, -1)

"""ONNX Runtime: GroupQueryAttention on the CPU."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from refused import Refused
from step import TYPES


def one_operator(step, element):
    """A model of one GroupQueryAttention. Its cache comes in and goes out whole, in one buffer."""
    batch, q_len, kv_len = step.even()
    new = [batch, q_len, step.kv_heads * step.dim]
    wide = [batch, q_len, step.q_heads * step.dim]
    cache = [batch, step.kv_heads, kv_len, step.dim]
    inputs = {"q": wide, "k": new, "v": new, "past_k": cache, "past_v": cache, "last": [batch], "total": [1]}
    outputs = {"out": wide, "present_k": cache, "present_v": cache}

    def infos(tensors):
        types = {"last": TensorProto.INT32, "total": TensorProto.INT32}
        return [helper.make_tensor_value_info(name, types.get(name, element), sizes) for name, sizes in tensors.items()]

    node = helper.make_node(
        "GroupQueryAttention", list(inputs), list(outputs), domain="com.microsoft",
        num_heads=step.q_heads, kv_num_heads=step.kv_heads, scale=step.scale,
    )  # fmt: skip
    graph = helper.make_graph([node], "attention", infos(inputs), infos(outputs))
    opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()


def value(array):
    return onnxruntime.OrtValue.ortvalue_from_numpy(np.ascontiguousarray(array))


class Attention:
    bound = None

    def __init__(self, step):
        refuse(step)
        f32 = step.q_type == "f32"
        dtype = TYPES["f32" if f32 else "f16"]
        self.note = "in F16, since it has no BF16 on CPUs" if step.q_type == "bf16" else None
        self.setting = f"GroupQueryAttention {'F32' if f32 else 'F16'}, one cache buffer"
        self.shape = step.q.shape

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = step.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        model = one_operator(step, TensorProto.FLOAT if f32 else TensorProto.FLOAT16)
        self.session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

        batch, q_len, kv_len = step.even()
        k, v = step.even_kv(dtype)

        def rows(cache):
            return cache[:, :, kv_len - q_len :].transpose(0, 2, 1, 3).reshape(batch, q_len, -1)

        shared = {
            "q": value(step.q.reshape(batch, q_len, -1).astype(dtype)),
            "k": value(rows(k[0])),
            "v": value(rows(v[0])),
            "last": value(np.full(batch, kv_len - 1, np.int32)),
            "total": value(np.array([kv_len], np.int32)),
        }
        self.out = value(np.full((batch, q_len, step.q_heads * step.dim), np.nan, dtype))
        self.kept = (k, v, shared)
        self.bindings = [self.bind(shared, k[copy], v[copy]) for copy in range(step.copies)]

    def bind(self, shared, k, v):
        # Past and present in one buffer; two would copy the cache in every call.
        caches = {"k": onnxruntime.OrtValue.ortvalue_from_numpy(k), "v": onnxruntime.OrtValue.ortvalue_from_numpy(v)}
        binding = self.session.io_binding()
        for name, tensor in shared.items():
            binding.bind_ortvalue_input(name, tensor)
        for name, cache in caches.items():
            binding.bind_ortvalue_input(f"past_{name}", cache)
            binding.bind_ortvalue_output(f"present_{name}", cache)
        binding.bind_ortvalue_output("out", self.out)
        return binding, caches

    def run(self, copy):
        self.session.run_with_iobinding(self.bindings[copy][0])

    def answer(self):
        return self.out.numpy().reshape(self.shape).astype(np.float32)


def refuse(step):
    if step.eight_bit:
        raise Refused("no 8-bit KV")
    if not step.causal:
        raise Refused("causal only")
    batch, q_len, kv_len = step.even()
    score_bytes = 4 * batch * step.q_heads * q_len * kv_len
    if score_bytes > step.memory_bytes // 2:
        raise Refused(f"it holds all scores, {score_bytes / 2**30:.0f} GiB here")

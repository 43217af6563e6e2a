"""JAX's attention kernel in Mosaic GPU (pallas.ops.gpu.attention_mgpu): prefills of even lengths, contiguous keys.

JAX replays no graphs of its callers and has no events: calls over the copies are one program, and programs are queued for
some milliseconds and timed by this process's clock. The kernel's buffers are F16, and so are BF16 steps here; it has no
scale of its own, so that queries are multiplied by it.
"""

import functools
import itertools
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others use the GPU's memory, too

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas.ops.gpu import attention_mgpu

from refused import Refused

BLOCKS = ((128, 128), (128, 64), (64, 128), (128, 256), (128, 192), (64, 64), (64, 256))  # of queries, of keys
STEPS = 2  # of keys under way
MOST_COPIES = 8  # in a program, which compiles in seconds
QUEUED = 5e-3  # seconds of programs between two looks at the clock


class Attention:
    version = jax.__version__
    bound = None

    def __init__(self, step):
        if step.eight_bit or step.q_type == "f32":
            raise Refused("BF16 and F16 only")
        batch, q_len, kv_len = step.even()
        if not step.is_prefill:
            raise Refused("prefills only: its mask begins with the first key")
        self.device = jax.devices("gpu")[int(step.device.split(":")[1])]
        self.shape, self.copies = step.q.shape, min(step.copies, MOST_COPIES)
        self.note = "in F16" if step.q_type == "bf16" else None
        q = (step.q.astype(np.float32) * step.scale).astype(np.float16)
        self.q = jax.device_put(q.reshape(batch, q_len, step.q_heads, step.dim), self.device)
        self.k, self.v = self.repeated(step.k), self.repeated(step.v)
        self.tune(step)

    def repeated(self, caches):
        """Copies of [batch, kv_len, kv_heads, dim]."""
        one = jax.device_put(np.stack([cache.transpose(1, 0, 2) for cache in caches]).astype(np.float16), self.device)
        return [one] + [jnp.array(one, copy=True) for _ in range(self.copies - 1)]

    def tune(self, step):
        """Keeps the fastest blocks."""
        best, complaint = None, None
        for (block_q, block_kv), barrier in itertools.product(BLOCKS, (True, False)):
            config = attention_mgpu.TuningConfig(
                block_q=block_q, block_kv=block_kv, max_concurrent_steps=STEPS, use_schedule_barrier=barrier, causal=step.causal
            )
            try:
                program = jax.jit(functools.partial(over_copies, config=config))
                seconds = min(self.seconds_of(program, 1) for _ in range(4))
            except Exception as error:  # blocks that do not divide the lengths, or do not fit
                complaint = complaint or error
                continue
            if best is None or seconds < best:
                best, self.program, self.config = seconds, program, config
                self.setting = f"blocks {block_q} x {block_kv}" + (", schedule barrier" if barrier else "")
        if best is None:
            raise complaint

    def seconds_of(self, program, times):
        """Of a call, of so many programs queued."""
        start = time.perf_counter()
        for _ in range(times):
            outs = program(self.q, self.k, self.v)
        jax.block_until_ready(outs)
        return (time.perf_counter() - start) / (times * self.copies)

    def run(self, copy):
        copy %= self.copies
        self.out = jax.block_until_ready(self.program(self.q, self.k, self.v)[copy])

    def answer(self):
        return np.asarray(self.out.astype(jnp.float32)).reshape(self.shape)


def over_copies(q, k, v, config):
    return [attention_mgpu.attention(q, *pair, config) for pair in zip(k, v)]


class Timer:
    def __init__(self, attention, _):
        self.attention, self.expected = attention, None

    def sample(self):
        program, copies = self.attention.program, self.attention.copies
        if self.expected is None:
            self.expected = self.attention.seconds_of(program, 1)
        programs = max(1, round(QUEUED / (self.expected * copies)))
        self.expected = self.attention.seconds_of(program, programs)
        return self.expected, programs * copies

    def measure(self, request):
        untimed, warm = request["untimed"], request["warm_up_s"]
        while untimed > 0 or warm > 0.0:
            seconds, calls = self.sample()
            untimed, warm = untimed - calls, warm - seconds * calls
        samples, total = [], 0.0
        while not samples or total < request["seconds"]:
            seconds, calls = self.sample()
            samples.append(seconds)
            total += seconds * calls
        return samples

    @staticmethod
    def forget():
        jax.clear_caches()

#!/usr/bin/env python3
"""What the peer fa4 asks of its library, by stand-ins for that and for PyTorch's tensors."""

import os
import pathlib
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench/peers"))


def fastest(settings, make_run, _):
    """The last one, once all have run."""
    for setting in settings:
        make_run(setting)(0)
    return settings[-1], make_run(settings[-1])


sys.modules["gpu_timer"] = types.SimpleNamespace(fastest=fastest)

import flash4
from handed_step import HandedStep
from refused import Refused

# What flash_attn/cute/interface.py is here: it keeps what it is called with.
LIBRARY = """
calls = []

def keep(name):
    def call(q, k, v, **options):
        calls.append((name, q.shape, k.shape, v.shape, options))
        return q, None
    return call

flash_attn_func, flash_attn_varlen_func = keep("even"), keep("uneven")
"""


class Tensor:
    def __init__(self, *shape):
        self.shape = shape

    def view(self, *shape):
        return Tensor(*shape)

    def __getitem__(self, _):
        return Tensor(*self.shape[1:])


class Step(HandedStep):
    def __init__(self, q_lens, kv_lens, **shape):
        shape = {
            "q_heads": 4, "kv_heads": 4, "head_dim_qk": 8, "head_dim_v": 8, "q_type": "bf16", "kv_type": "bf16", "scale": 0.25,
            "window_left": -1, "window_right": 0, "softcap": 0.0, "sinks": False,
        } | shape  # fmt: skip
        request = {"shape": shape, "q_lens": q_lens, "kv_lens": kv_lens, "page_size": 64, "shared_prefix": 0, "prompts": 0}
        super().__init__(request | {"copies": 3, "protocol": "sustained"})
        self.q, self.k, self.v = Tensor(self.tokens, self.q_heads, self.dim), kv_lens, kv_lens

    def packed(self, lengths):
        return Tensor(self.copies, sum(lengths), self.kv_heads, self.dim)

    def begins(self, lengths):
        return [sum(lengths[:i]) for i in range(len(lengths) + 1)]

    def refuse_eight_bit(self):
        if self.eight_bit:
            raise Refused("no 8-bit KV")


class Flash4Test(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        package = pathlib.Path(cls.folder.name, "flash_attn/cute")
        package.mkdir(parents=True)
        (package / "interface.py").write_text(LIBRARY, encoding="utf-8")
        about = pathlib.Path(cls.folder.name, "flash_attn_4-1.2.dist-info")
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: flash-attn-4\nVersion: 1.2\n", encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        os.environ["HEADWISE_FA4"] = self.folder.name
        flash4.library().calls.clear()

    def calls(self):
        return flash4.library().calls

    def refusal(self, *step, **shape):
        with self.assertRaises(Refused) as caught:
            flash4.Flash4(Step(*step, **shape))
        return str(caught.exception)

    def test_even_requests_are_a_batch(self):
        peer = flash4.Flash4(Step([5, 5], [5, 5]))
        options = {"softmax_scale": 0.25, "causal": True, "pack_gqa": None}
        self.assertEqual(self.calls()[-1], ("even", (2, 5, 4, 8), (2, 5, 4, 8), (2, 5, 4, 8), options))
        self.assertEqual((peer.setting, peer.version), ("contiguous", "1.2"))

    def test_others_are_packed(self):
        peer = flash4.Flash4(Step([5, 7], [5, 7], window_right=-1))
        name, q, k, _, options = self.calls()[-1]
        self.assertEqual((name, q, k), ("uneven", (12, 4, 8), (12, 4, 8)))
        self.assertEqual(options["cu_seqlens_q"], [0, 5, 12])
        self.assertEqual(options["cu_seqlens_k"], [0, 5, 12])
        self.assertEqual((options["max_seqlen_q"], options["max_seqlen_k"], options["causal"]), (7, 7, False))
        self.assertEqual(peer.setting, "packed")

    def test_groups_are_tried_packed_and_apart(self):
        peer = flash4.Flash4(Step([5], [5], kv_heads=2))
        self.assertEqual([call[-1]["pack_gqa"] for call in self.calls()], [None, False, False])
        self.assertEqual(self.calls()[0][1:3], ((1, 5, 4, 8), (1, 5, 2, 8)))
        self.assertEqual(peer.setting, "contiguous, groups apart")

    def test_only_prefills(self):
        self.assertEqual(self.refusal([1], [5]), "prefills only")
        self.assertEqual(self.refusal([3], [5]), "prefills only")
        self.assertEqual(self.refusal([5], [5], kv_type="f8e4m3"), "no 8-bit KV")

    def test_says_where_it_is_not(self):
        flash4.library.cache_clear()
        del os.environ["HEADWISE_FA4"]
        self.assertEqual(self.refusal([5], [5]), "HEADWISE_FA4 names no folder")
        os.environ["HEADWISE_FA4"] = "/nonexistent"
        self.assertEqual(self.refusal([5], [5]), "there is no flash_attn/cute in /nonexistent, which HEADWISE_FA4 names")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""What peers are told of a step: where its tensors lie, and what kind of step it is."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench/peers"))

from handed_step import HandedStep
from refused import Refused


def step(q_lens, kv_lens, **shape):
    shape = {
        "q_heads": 4, "kv_heads": 2, "head_dim_qk": 8, "head_dim_v": 8, "q_type": "bf16", "kv_type": "bf16", "scale": 0.25,
        "window_left": -1, "window_right": 0, "softcap": 0.0, "sinks": False,
    } | shape  # fmt: skip
    request = {"shape": shape, "q_lens": q_lens, "kv_lens": kv_lens, "page_size": 16, "shared_prefix": 0, "prompts": 0}
    return HandedStep(request | {"copies": 3, "protocol": "graph"})


class HandedStepTest(unittest.TestCase):
    def test_requests_lie_one_after_another(self):
        found = list(step([1, 2], [5, 7]).requests(64, 2))
        self.assertEqual(found, [(64, (2, 5, 8)), (64 + 2 * 5 * 8 * 2, (2, 7, 8))])

    def test_kinds_of_steps(self):
        prefill, decode, mixed = step([5, 5], [5, 5]), step([1, 1], [5, 7]), step([5, 1], [5, 7])
        self.assertEqual([s.is_prefill for s in (prefill, decode, mixed)], [True, False, False])
        self.assertEqual([s.is_decode for s in (prefill, decode, mixed)], [False, True, False])
        self.assertEqual([s.is_even for s in (prefill, decode, mixed)], [True, False, False])
        self.assertEqual([s.sees_all for s in (prefill, decode, mixed)], [False, True, False])
        self.assertTrue(step([5], [5], window_right=-1).sees_all)
        self.assertEqual(mixed.tokens, 6)

    def test_formats(self):
        self.assertFalse(step([1], [5]).eight_bit)
        self.assertTrue(step([1], [5], kv_type="f8e4m3").eight_bit)
        self.assertEqual(step([1], [5]).group, 2)

    def test_what_no_peer_does_is_refused(self):
        for shape in ({"sinks": True}, {"softcap": 5.0}, {"window_left": 3}, {"head_dim_v": 4}):
            with self.assertRaises(Refused):
                step([1], [5], **shape)


if __name__ == "__main__":
    unittest.main()

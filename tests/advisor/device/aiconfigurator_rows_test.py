#!/usr/bin/env python3
"""The choice and the naming of aiconfigurator's rows, on rows made up here."""

import unittest

import aiconfigurator_rows as rows

QUERY = {query.name: query for query in rows.QUERIES}
ATTENTION = {
    "num_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "window_size": 0, "batch_size": 4, "isl": 1024,
    "attn_dtype": "bfloat16", "kv_cache_dtype": "fp8", "step": 0, "latency": 0.1234567,
}  # fmt: skip
MLA = {"num_heads": 16, "batch_size": 3, "isl": 1, "step": 16383, "mla_dtype": "bfloat16",
       "kv_cache_dtype": "bfloat16", "latency": 0.05}  # fmt: skip
GEMM = {"gemm_dtype": "fp8_block", "m": 4096, "n": 7168, "k": 2048, "latency": 0.1322}
MOE = {
    "hidden_size": 7168, "inter_size": 2048, "num_experts": 256, "topk": 8, "moe_tp_size": 1, "moe_ep_size": 8,
    "moe_dtype": "nvfp4", "distribution": "balanced", "num_tokens": 64, "kernel_source": "any", "latency": 2.0,
}  # fmt: skip


def only_table(name, table):
    tables = rows.to_json(QUERY[name], rows.select(QUERY[name], table))["tables"]
    assert len(tables) == 1
    return tables[0]


class Rows(unittest.TestCase):
    def test_prefill(self):
        self.assertEqual(
            only_table("attention_prefill", [ATTENTION]),
            {
                "fixed": {"q_type": "bf16", "kv_type": "f8e4m3", "q_heads": 32, "kv_heads": 8, "head_dim": 128,
                          "window": 0, "prefix": 0},
                "points": [[4, 1024, 123.5]],
            },
        )  # fmt: skip

    def test_a_decode_sees_its_own_token_too(self):
        table = only_table("attention_decode", [ATTENTION | {"isl": 1, "step": 16383}])
        self.assertEqual(table["points"], [[4, 16384, 123.5]])
        self.assertNotIn("prefix", table["fixed"])

    def test_mla(self):
        table = only_table("mla_decode", [MLA])
        self.assertEqual(table["points"], [[3, 16384, 50.0]])
        self.assertEqual((table["fixed"]["head_dim_qk"], table["fixed"]["head_dim_v"]), (576, 512))
        self.assertEqual(only_table("mla_prefill", [MLA | {"step": 0}])["fixed"]["head_dim_qk"], 192)

    def test_gemm_sorts_by_shape_then_rows(self):
        table = only_table("gemm", [GEMM, GEMM | {"m": 64, "latency": 1.23456}, GEMM | {"n": 256}])
        self.assertEqual(table["fixed"], {"weights": "fp8_block"})
        self.assertEqual(table["points"], [[256, 2048, 4096, 132.2], [7168, 2048, 64, 1235], [7168, 2048, 4096, 132.2]])

    def test_moe(self):
        table = only_table("moe", [MOE, MOE | {"kernel_source": rows.LOW_LATENCY_KERNEL}])
        self.assertEqual(table["points"], [[64, 2000]])
        self.assertEqual(table["fixed"]["routing"], "balanced")
        self.assertEqual(table["fixed"]["ep"], 8)

    def test_all_reduce_counts_bytes(self):
        row = {"allreduce_dtype": "bfloat16", "num_gpus": 8, "message_size": 524288, "latency": 0.0257}
        table = only_table("all_reduce", [row])
        self.assertEqual(table, {"fixed": {"type": "bf16", "devices": 8}, "points": [[1048576, 25.7]]})

    def test_shapes_apart_are_tables_apart(self):
        found = rows.select(QUERY["attention_prefill"], [ATTENTION, ATTENTION | {"head_dim": 64}])
        self.assertEqual(len(found), 2)

    def test_what_is_not_wanted(self):
        unwanted = [("attention_prefill", ATTENTION | {"num_heads": 3}), ("attention_prefill", ATTENTION | {"isl": 16}),
                    ("attention_decode", ATTENTION | {"head_dim": 192}), ("gemm", GEMM | {"m": 7}),
                    ("attention_decode", ATTENTION | {"head_dim": 64, "window_size": 8192}),
                    ("gemm", GEMM | {"k": 32}), ("moe", MOE | {"num_experts": 8})]  # fmt: skip
        for name, row in unwanted:
            self.assertEqual(rows.select(QUERY[name], [row]), {}, name)

    def test_two_times_of_one_point_are_refused(self):
        with self.assertRaisesRegex(ValueError, "two times"):
            rows.select(QUERY["gemm"], [GEMM, GEMM | {"latency": 1.0}])

    def test_unknown_types_are_refused(self):
        with self.assertRaises(KeyError):
            rows.select(QUERY["attention_prefill"], [ATTENTION | {"kv_cache_dtype": "int3"}])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
"""The questions for headwise and aiconfigurator, and their answers side by side, on answers made up here."""

import unittest

import aiconfigurator_points as points
import aiconfigurator_side_by_side as side_by_side
import headwise_choices

R1 = points.Deployment("deepseek-r1", "fp8_block", "bf16", points.Plan(adp=8, ep=8))


def answered(context, batch, ours):
    """A row whose headwise answers are `ours` times aiconfigurator's, known to 6%; None: there are none."""
    theirs = {"ttft_ms": 100.0, "decode_ms": 5.0, "largest_batch": 100, "parts_prefill": {},
              "parts_decode": {"attention": 0.5}}  # fmt: skip
    headwise = None
    if ours:
        headwise = {"prefill_ms": 100.0 * ours, "decode_ms": 5.0 * ours, "largest_batch": 100 * ours,
                    "error_prefill": 0.06, "error_decode": 0.06, "parts_prefill": {}, "parts_decode": {}}  # fmt: skip
    return {"model": "m", "weights": "bf16", "kv_type": "bf16", "plan": "TP1", "context": context, "batch": batch,
            "aiconfigurator": theirs, "headwise": headwise}  # fmt: skip


class Points(unittest.TestCase):
    def test_every_plan_is_one_that_can_be(self):
        for deployment in points.DEPLOYMENTS:
            plan = deployment.plan
            self.assertLessEqual(plan.gpus, points.GPUS)
            if deployment.model == "deepseek-r1":
                self.assertEqual(plan.gpus, plan.tp_ff * plan.ep, deployment)

    def test_names_of_plans(self):
        self.assertEqual(points.Plan().name, "TP1")
        self.assertEqual(R1.plan.name, "ADP8/EP8")
        self.assertEqual(points.Plan(tp=8, tp_ff=4, ep=2).name, "TP8/TPFF4/EP2")

    def test_arguments_are_the_deployments(self):
        asked = points.estimate_arguments(points.Point(R1, 8192, 16), "static", 2)
        self.assertEqual((asked["tp_size"], asked["attention_dp_size"], asked["moe_ep_size"]), (1, 8, 8))
        self.assertEqual((asked["gemm_quant_mode"], asked["kvcache_quant_mode"]), ("fp8_block", "bfloat16"))
        self.assertEqual((asked["isl"], asked["osl"], asked["batch_size"]), (8192, 2, 16))

    def test_the_same_question_as_a_command_line(self):
        asked = points.estimate_arguments(points.Point(R1, 8192, 16), "static", 2)
        words = points.command_of(asked, "folder")
        self.assertEqual(words[:5], ["aiconfigurator", "cli", "estimate", "--model-path", "folder"])
        for flag, value in (("--system", "h200_sxm"), ("--estimate-mode", "static"), ("--attention-dp-size", "8")):
            self.assertEqual(words[words.index(flag) + 1], value)

    def test_a_config_says_how_its_weights_are_stored(self):
        config = {"model_type": "any", "num_nextn_predict_layers": 1, "quantization_config": {"quant_method": "other"}}
        self.assertEqual(points.config_with(config, "bf16"), {"model_type": "any"})
        self.assertIn("weight_block_size", points.config_with(config, "fp8_block")["quantization_config"])
        self.assertNotIn("weight_block_size", points.config_with(config, "fp8")["quantization_config"])

    def test_largest_batch_is_what_the_budget_holds(self):
        def half_of_what_is_free(capacity, rest):
            return 0.5 * (capacity - rest)

        memory = {"total": 20.0, "kvcache": 1.0}
        self.assertEqual(points.largest_batch(memory, 141.0, half_of_what_is_free), 61)
        self.assertEqual(points.largest_batch(memory, 18.0, half_of_what_is_free), 0)

    def test_batches_end_near_the_largest(self):
        self.assertEqual(points.batches_for(193), [1, 16, 128])
        self.assertEqual(points.batches_for(4000), [1, 16, 256])
        self.assertEqual(points.batches_for(16), [1, 16])
        self.assertEqual(points.batches_for(5), [1, 4])
        self.assertEqual(points.batches_for(0), [])


class SideBySide(unittest.TestCase):
    def test_operations_add_to_parts(self):
        found = side_by_side.parts_of({"context_attention": 1.0, "context_qkv_gemm": 2.0, "context_proj_gemm": 4.0})
        self.assertEqual(found, {("attention",): 1.0, ("attention projections",): 6.0})

    def test_what_was_measured_together_stays_together(self):
        operations = {"generation_router_gemm": 1.0, "generation_moe_overlap": 8.0, "generation_logits_gemm": 16.0}
        together = ("communication", "feed-forward", "router")
        self.assertEqual(side_by_side.parts_of(operations), {together: 9.0, ("output matrix",): 16.0})

    def test_operations_that_take_no_time_are_left_out(self):
        self.assertEqual(side_by_side.parts_of({"context_p2p": 0.0}), {})

    def test_unknown_operations_are_refused(self):
        with self.assertRaises(KeyError):
            side_by_side.parts_of({"context_something_new": 1.0})

    def test_headwise_is_added_as_they_have_it(self):
        groups = {("attention", "attention projections"): 3.0}
        own = {"attention": 1.0, "attention projections": 2.5, "overhead": 0.5}
        self.assertEqual(
            side_by_side.same_parts(groups, own),
            {("attention", "attention projections"): 3.5, ("overhead",): 0.5},
        )

    def test_headwise_answers_of_a_context(self):
        def of(context, batch):
            parts = [{"name": "attention", "ms": 1.5}, {"name": "router", "ms": 0.0}]
            return {"context": context, "prefill_ms": 90.0, "decode_ms": 5.0, "kv_bytes": 512, "source_prefill": "s",
                    "error_prefill": 0.1, "source_decode": "s", "error_decode": 0.2, "largest_batch": batch,
                    "parts_prefill": parts, "parts_decode": parts}  # fmt: skip

        document = {"contexts": [of(4000, 999), of(4500, 900)]}
        row = side_by_side.headwise_row(document, 4000, 4500, 8)
        self.assertEqual((row["largest_batch"], row["prefill_ms"]), (112, 90.0))
        self.assertEqual(row["parts_decode"], {"attention": 1.5})

    def test_headwise_is_asked_for_all_groups(self):
        words = points.codesign_command("headwise", "config.json", R1, [4000, 8192], 16)
        self.assertEqual(words[:3], ["headwise", "codesign", "config.json"])
        for flag, value in (("--contexts", "4000,4500,8192,8692"), ("--batch", "128"), ("--plan", "tp1adp8ep8")):
            self.assertEqual(words[words.index(flag) + 1], value)

    def test_numbers(self):
        shown = [side_by_side.number(value) for value in (None, 0, 0.0625, 1.5, 12.345, 812.7, 12345.6)]
        self.assertEqual(shown, ["-", "0", "0.062", "1.500", "12.35", "812.7", "12346"])
        self.assertEqual(side_by_side.ratio(3.0, 2.0), "1.50")
        self.assertEqual(side_by_side.ratio(None, 2.0), "-")

    def test_a_plan_of_one_kind_of_worker_and_of_two(self):
        one = {"parallel": "tp4", "bs": 28, "num_total_gpus": 4, "ttft": 858.0, "tpot": 29.0, "tokens/s/gpu": 228.0}
        two = {"(p)parallel": "tp1", "(p)workers": 2, "(p)bs": 1, "(d)parallel": "tp2", "(d)workers": 1, "(d)bs": 208,
               "num_total_gpus": 4, "ttft": 177.0, "tpot": 19.7, "tokens/s/gpu": 2284.0}  # fmt: skip
        found = {"model": "m", "weights": "bf16", "context": 4000, "ttft_target_ms": 2000.0, "tpot_target_ms": 30.0,
                 "chosen": "disagg", "plans": {"agg": [one], "disagg": [two]}}  # fmt: skip
        lines = side_by_side.plan_table([found])
        self.assertIn("| agg | tp4 | 4 | 28 |", lines[2])
        self.assertIn("| disagg (chosen) | 2 x tp1 + 1 x tp2 | 4 | 1 / 208 |", lines[3])

    def test_headwise_chooses_by_tokens_a_gpu_within_targets(self):
        def plan(name, gpus, ttft, tpot, adp=1, flags="{}"):
            return {"name": name, "gpus": gpus, "adp": adp, "ttft_ms": ttft, "tpot_ms": tpot,
                    "flags": {"trtllm": flags}}  # fmt: skip

        # 8 requests over 2 groups: 4 prefills of 100 ms and 100 steps of 10 ms make 800 tokens
        found = headwise_choices.served(plan("ADP2", 2, 100.0, 10.0, adp=2), 8, 100)
        self.assertEqual((found["tpot_ms"], found["step_ms"]), (14.0, 10.0))
        self.assertAlmostEqual(found["tokens_s_gpu"], 800 / 1.4 / 2)
        asked = [(1, [plan("TP1", 1, 100.0, 10.0)]), (8, [plan("TP2", 2, 50.0, 5.0), plan("KVP2", 2, 40.0, 4.0, flags=None)]),
                 (64, [plan("TP2", 2, 50.0, None)])]  # fmt: skip
        self.assertEqual(headwise_choices.choice(asked, 100, 60.0, 20.0, "trtllm")["plan"], "TP2")
        self.assertEqual(headwise_choices.choice(asked, 100, 60.0, 20.0)["plan"], "KVP2")
        self.assertIsNone(headwise_choices.choice(asked, 100, 1.0, 20.0))

    def test_answers_of_only_one_are_shown_too(self):
        lines = side_by_side.tables([answered(4000, 1, None)], [])
        self.assertIn("| m, bf16 weights, bf16 KV, TP1 | 100.0 / - |", lines)
        self.assertIn("| m, bf16 weights, bf16 KV, TP1 | 4000 | 5.000 / - |  |  |", lines)

    def test_a_line_of_steps_is_a_context(self):
        rows = [answered(4000, 1, 1.0), answered(4000, 16, 1.02), answered(4000, 128, 0.8), answered(8192, 1, 1.0)]
        lines = side_by_side.steps(rows)
        self.assertIn("| 4000 | 5.000 / 5.000 | 5.000 / 5.100 | 5.000 / 4.000 (128) |", lines[2])
        self.assertIn("| 8192 | 5.000 / 5.000 |  |  |", lines[3])

    def test_what_batches_do_not_change_is_counted_once(self):
        rows = [answered(4000, 1, 1.05), answered(4000, 16, 0.8), answered(8192, 1, 1.0)]
        lines = side_by_side.summary(rows)
        name = "m, bf16 weights, bf16 KV, TP1"
        self.assertEqual(lines[2], f"| time to first token | 2 | 2.5% | 2 | 2 | 5%: {name}, 4000 |")
        self.assertEqual(lines[3], f"| decode step | 3 | 5.0% | 2 | 2 | 20%: {name}, 4000 x 16 |")
        self.assertEqual(lines[4], f"| largest batch | 2 | 2.5% | 2 | - | 5%: {name}, 4000 |")

    def test_a_list_has_an_element_a_line(self):
        text = side_by_side.lines_of({"system": "h200", "points": [{"a": 1}, {"a": 2}]})
        self.assertEqual(text, '{\n"system": "h200",\n"points": [\n{"a": 1},\n{"a": 2}\n]\n}\n')

    def test_rounding(self):
        tree = {"a": [1.23456789, 7], "b": ("text", None, True, float("nan"))}
        self.assertEqual(side_by_side.rounded(tree), {"a": [1.2346, 7], "b": ["text", None, True, None]})


if __name__ == "__main__":
    unittest.main()

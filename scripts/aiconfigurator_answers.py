"""aiconfigurator's answers, through the functions that its command line calls."""

import aiconfigurator_points as points
import aiconfigurator_side_by_side as side_by_side

ONE_STEP = 2  # output tokens: the prompt's, and one of one decode step


def estimate(folder, point, mode, osl):
    from aiconfigurator.cli.api import cli_estimate

    return cli_estimate(str(folder), **points.estimate_arguments(point, mode, osl))


def largest_batch(folder, deployment, context):
    """Of requests whose KV fits in what the engine leaves to it, by its own arithmetic."""
    from aiconfigurator_core.sdk.backends.trtllm_backend import (
        KV_CACHE_MEMORY_RESERVED_FRACTION,
        KV_CACHE_MEMORY_TOLERANCE,
        TRTLLM_DEFAULT_FREE_GPU_MEMORY_FRACTION,
    )
    from aiconfigurator_core.sdk.memory import kv_cache_budget_bytes

    summary = estimate(folder, points.Point(deployment, context, 1), "agg", points.LONGEST_ANSWER).summary

    def budget(capacity, rest):
        return kv_cache_budget_bytes(
            capacity=capacity, non_kv=rest, fraction=TRTLLM_DEFAULT_FREE_GPU_MEMORY_FRACTION, of_free=True,
            reserved=KV_CACHE_MEMORY_RESERVED_FRACTION, tolerance=KV_CACHE_MEMORY_TOLERANCE,
        )  # fmt: skip

    capacity = summary.get_mem_capacity_bytes() / 2**30
    return points.largest_batch(summary.get_memory(), capacity, budget)


def parts(operations):
    return {" + ".join(names): ms for names, ms in side_by_side.parts_of(operations).items()}


def estimates(folder, deployment):
    """A row for each context and batch. Times in ms, memory in GiB; TTFT is of one request an attention rank."""
    rows = []
    for context in points.CONTEXTS:
        prefill = estimate(folder, points.Point(deployment, context, 1), "static", ONE_STEP)
        largest = largest_batch(folder, deployment, context)
        for batch in points.batches_for(largest):
            point = points.Point(deployment, context, batch)
            step = estimate(folder, point, "static", ONE_STEP)
            mean = estimate(folder, point, "static", points.LONGEST_ANSWER)
            served = estimate(folder, point, "agg", points.LONGEST_ANSWER)
            theirs = {
                "command": " ".join(points.command_of(points.estimate_arguments(point, "static", ONE_STEP), "FOLDER")),
                "ttft_ms": prefill.ttft,
                "decode_ms": step.tpot,
                "tpot_ms": mean.tpot,
                "parts_prefill": parts(prefill.summary.get_context_latency_dict()),
                "parts_decode": parts(step.summary.get_generation_latency_dict()),
                "largest_batch": largest,
                "memory": served.summary.get_memory(),
                "served": {"ttft_ms": float(served.ttft), "tpot_ms": float(served.tpot),
                           "throughput_tok_s": float(served.tokens_per_second)},
                "warning": served.kv_cache_warning,
            }  # fmt: skip
            rows.append(
                {"model": deployment.model, "weights": deployment.weights, "kv_type": deployment.kv_type,
                 "plan": deployment.plan.name, "context": context, "batch": batch, "aiconfigurator": theirs}
            )  # fmt: skip
    return rows


def searches(folder, model, weights):
    """What `aiconfigurator cli default` chooses, for each of the targets: the best plan of each kind of serving."""
    from aiconfigurator.cli.api import cli_default

    found = []
    for context, osl, ttft, tpot in points.TARGETS:
        result = cli_default(
            str(folder), points.GPUS, points.SYSTEM, backend=points.FRAMEWORK, backend_version=points.VERSION,
            isl=context, osl=osl, ttft=ttft, tpot=tpot,
        )  # fmt: skip
        found.append(
            {"model": model, "weights": weights, "context": context, "output_tokens": osl, "ttft_target_ms": ttft,
             "tpot_target_ms": tpot, "chosen": result.chosen_exp,
             "plans": {kind: [side_by_side.plan_row(row) for row in table.to_dict("records")[:3]]
                       for kind, table in result.best_configs.items()}}
        )  # fmt: skip
    return found

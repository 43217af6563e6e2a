"""Which plan Headwise would choose for aiconfigurator's targets, from the plans of `headwise codesign --gpus N --batch B`.

Nothing here runs a program or reads a file."""

import math

GPUS = (1, 2, 4, 8)
BATCHES = (*range(1, 9), 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 160, 192, 256)

# --kv-type and --q-type that aiconfigurator's search takes for weights
TYPES = {"bf16": ("bf16", "bf16"), "fp8": ("f8", "f8"), "fp8_block": ("f8", "bf16")}


def command(program, config, weights, gpus, batch, context, routing):
    kv_type, q_type = TYPES[weights]
    return [
        program, "codesign", config, "--hardware", "h200", "--contexts", str(context), "--weights", weights,
        "--kv-type", kv_type, "--q-type", q_type, "--routing", routing, "--gpus", str(gpus),
        "--batch", str(batch), "--json",
    ]  # fmt: skip


def served(plan, batch, output):
    """Requests that come all the time: each prefill stops the steps of its devices. None: a time is not known."""
    if plan["ttft_ms"] is None or plan["tpot_ms"] is None:
        return None
    turn = math.ceil(batch / plan["adp"]) * plan["ttft_ms"] + output * plan["tpot_ms"]
    return {"plan": plan["name"], "gpus": plan["gpus"], "batch": batch, "ttft_ms": plan["ttft_ms"],
            "tpot_ms": turn / output, "step_ms": plan["tpot_ms"],
            "tokens_s_gpu": 1e3 * batch * output / turn / plan["gpus"]}  # fmt: skip


def choice(asked, output, ttft, tpot, engine=None):
    """The most tokens a second and GPU within the targets, of plans that `engine` can run; `asked` has (batch, plans).
    None: no plan keeps them."""
    best = None
    for batch, plans in asked:
        for plan in plans:
            if engine and not plan["flags"][engine]:
                continue
            found = served(plan, batch, output)
            if found and found["ttft_ms"] <= ttft and found["tpot_ms"] <= tpot:
                if best is None or found["tokens_s_gpu"] > best["tokens_s_gpu"]:
                    best = found
    return best

"""What headwise and aiconfigurator are both asked.

Nothing here runs a program or reads a file."""

import dataclasses
import math

SYSTEM, FRAMEWORK, VERSION = "h200_sxm", "trtllm", "1.3.0rc20"  # data/calibration/h200-trtllm.json's
GPUS = 8

# Names of number formats: ours -> aiconfigurator's
KV_TYPES = {"bf16": "bfloat16", "f8e4m3": "fp8"}
WEIGHTS = {"bf16": "bfloat16", "fp8": "fp8", "fp8_block": "fp8_block"}
OWN_KV_TYPES = {"bf16": "bf16", "f8e4m3": "f8"}  # to the command line
ROUTING = "power_law_1.01"  # of tokens to experts, as aiconfigurator has it
# How a checkpoint's config.json says so, from which aiconfigurator's search reads it
QUANTIZATION = {
    "bf16": None,
    "fp8": {"quant_method": "fp8", "activation_scheme": "dynamic"},
    "fp8_block": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]},
}

LONGEST_ANSWER = 500  # output tokens of the mean time per output token and of the throughput
LARGEST_BATCH = 256  # of the tables
MTP_FIELD = "num_nextn_predict_layers"


@dataclasses.dataclass(frozen=True)
class Plan:
    """Attention's tensor and data parallelism, and the experts' tensor and expert parallelism."""

    tp: int = 1
    adp: int = 1
    tp_ff: int = 1
    ep: int = 1

    @property
    def gpus(self):
        return self.tp * self.adp

    @property
    def flag(self):
        """For headwise, which splits the experts' widths over what EP leaves."""
        return f"tp{self.tp}adp{self.adp}ep{self.ep}"

    @property
    def name(self):
        parts = [("TP", self.tp), ("ADP", self.adp), ("TPFF", self.tp_ff), ("EP", self.ep)]
        return "/".join(f"{name}{size}" for name, size in parts if size > 1) or "TP1"


@dataclasses.dataclass(frozen=True)
class Deployment:
    model: str  # a file of tests/data/configs, without .json
    weights: str
    kv_type: str
    plan: Plan


@dataclasses.dataclass(frozen=True)
class Point:
    deployment: Deployment
    context: int  # tokens of the prompt
    batch: int  # requests that one attention rank decodes


DEPLOYMENTS = (
    Deployment("llama-3.1-8b", "bf16", "bf16", Plan()),
    Deployment("llama-3.1-8b", "fp8", "f8e4m3", Plan()),
    Deployment("llama-3.1-70b", "bf16", "bf16", Plan(tp=4)),
    Deployment("llama-3.1-70b", "bf16", "bf16", Plan(tp=8)),
    Deployment("llama-3.1-70b", "fp8", "f8e4m3", Plan(tp=4)),
    Deployment("llama-3.1-70b", "fp8", "f8e4m3", Plan(tp=8)),
    Deployment("qwen3-32b", "bf16", "bf16", Plan()),
    Deployment("qwen3-32b", "bf16", "bf16", Plan(tp=2)),
    Deployment("deepseek-r1", "fp8_block", "bf16", Plan(tp=8, ep=8)),
    Deployment("deepseek-r1", "fp8_block", "bf16", Plan(tp=8, tp_ff=8)),
    Deployment("deepseek-r1", "fp8_block", "bf16", Plan(adp=8, ep=8)),
)
CONTEXTS = (4000, 8192, 32768)
BATCHES = (1, 16)

# Weights, and (context, output tokens, TTFT in ms, TPOT in ms) for which aiconfigurator looks for a plan
SEARCHES = (
    ("llama-3.1-8b", "bf16"),
    ("llama-3.1-70b", "bf16"),
    ("llama-3.1-70b", "fp8"),
    ("qwen3-32b", "bf16"),
    ("deepseek-r1", "fp8_block"),
)
TARGETS = ((4000, 500, 2000.0, 30.0), (32768, 500, 10000.0, 50.0))


def config_with(config, weights):
    """A config.json that says which format the weights have; without modules for multi-token prediction."""
    config = {name: value for name, value in config.items() if name not in (MTP_FIELD, "quantization_config")}
    quantization = QUANTIZATION[weights]
    return config | ({"quantization_config": quantization} if quantization else {})


def estimate_arguments(point, mode, osl):
    """Of aiconfigurator.cli.api.cli_estimate, without the model's path."""
    plan = point.deployment.plan
    weights, kv_type = WEIGHTS[point.deployment.weights], KV_TYPES[point.deployment.kv_type]
    # Queries are bf16 where both have it: the context tables of FP8 queries are of another kernel
    return {
        "system_name": SYSTEM, "backend_name": FRAMEWORK, "backend_version": VERSION, "mode": mode,
        "isl": point.context, "osl": osl, "batch_size": point.batch,
        "tp_size": plan.tp, "attention_dp_size": plan.adp, "moe_tp_size": plan.tp_ff, "moe_ep_size": plan.ep,
        "gemm_quant_mode": weights, "moe_quant_mode": weights, "kvcache_quant_mode": kv_type,
        "fmha_quant_mode": "bfloat16",
    }  # fmt: skip


FLAGS = {
    "system_name": "--system", "backend_name": "--backend", "backend_version": "--backend-version",
    "mode": "--estimate-mode",
}  # fmt: skip


def command_of(arguments, folder):
    """The same question as a command line."""
    words = ["aiconfigurator", "cli", "estimate", "--model-path", folder]
    for name, value in arguments.items():
        words += [FLAGS.get(name, "--" + name.replace("_", "-")), str(value)]
    return words


def largest_batch(memory, capacity, budget):
    """Requests whose KV fits: `memory` in GiB with one request, `budget` what (capacity, all but KV) leave to KV."""
    return max(0, int(budget(capacity, memory["total"] - memory["kvcache"]) // memory["kvcache"]))


def batches_for(largest):
    """The usual ones that fit, and the largest power of two that does, within the tables."""
    fitting = [batch for batch in BATCHES if batch <= largest]
    if largest >= 1:
        fitting.append(2 ** int(math.log2(min(largest, LARGEST_BATCH))))
    return sorted(set(fitting))


def with_answer(context):
    """Tokens whose KV a request needs in the end."""
    return context + LONGEST_ANSWER


def codesign_command(program, config, deployment, contexts, batch):
    """Headwise's question: a request of each context a group for TTFT, `batch` of them a group for decode. The contexts
    with their answers are there for the largest batch."""
    plan = deployment.plan
    asked = sorted({length for context in contexts for length in (context, with_answer(context))})
    return [
        program, "codesign", config, "--hardware", "h200", "--contexts", ",".join(map(str, asked)),
        "--weights", deployment.weights, "--kv-type", OWN_KV_TYPES[deployment.kv_type], "--routing", ROUTING,
        "--batch", str(batch * plan.adp), "--plan", plan.flag, "--json",
    ]  # fmt: skip

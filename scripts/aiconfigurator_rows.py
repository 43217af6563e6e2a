"""Which rows of aiconfigurator's tables become points of a calibration file, and under which names.

Nothing here reads files: rows are dictionaries."""

import dataclasses
from collections.abc import Callable

DTYPES = {"bfloat16": "bf16", "float16": "f16", "fp8": "f8e4m3"}
WEIGHTS = {"bfloat16": "bf16"}  # other formats keep the names of the tables

# (query heads, KV heads): the models' and their shares at tensor parallelism, and group sizes side by side
HEADS = {(64, 8), (64, 4), (40, 8), (32, 8), (32, 4), (32, 2), (32, 1), (32, 32), (16, 8), (16, 2), (16, 1), (8, 4),
         (8, 1), (4, 1)}  # fmt: skip
HEAD_DIMS = {64, 128, 256}
PREFILL_BATCHES = {1, 4, 16}
DECODE_BATCHES = {1, 4, 8, 16, 32, 64, 256}
SHORTEST_PREFILL, SHORTEST_DECODE = 128, 512

# Sizes from 256 to 51200 hold the projections of DeepSeek-V3, Llama 3.1 and Qwen3-32B between them
GEMM_ROWS = {1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}
GEMM_SIZES = {256, 512, 1024, 1536, 2048, 2560, 4096, 5120, 7168, 8192, 12288, 16384, 51200}

MOE_SHAPES = {(7168, 2048, 256, 8)}  # hidden, feed-forward, experts, chosen: DeepSeek-V3's
MOE_RANKS = {1, 2, 4, 8, 16, 32, 64}
# For few tokens; engines leave it above a hundred or so, where the tables have it twice
LOW_LATENCY_KERNEL = "moe_torch_flow_min_latency"


@dataclasses.dataclass(frozen=True)
class Query:
    name: str
    group: str  # the folder of the tables
    table: str
    axes: tuple  # (name, unit)
    point_of: Callable  # row -> (fixed values, place), or None: not wanted


def attention_types(row, dtype):
    return {"q_type": DTYPES[row[dtype]], "kv_type": DTYPES[row["kv_cache_dtype"]]}


def attention_shape(row):
    """The layer that a row is about, or None. Window 0 is none."""
    heads = (row["num_heads"], row["num_key_value_heads"])
    window = row["window_size"]
    if heads not in HEADS or row["head_dim"] not in HEAD_DIMS or (window > 128 and row["head_dim"] != 128):
        return None
    shape = {"q_heads": heads[0], "kv_heads": heads[1], "head_dim": row["head_dim"], "window": window}
    return attention_types(row, "attn_dtype") | shape


def attention_prefill(row):
    shape = attention_shape(row)
    wanted = shape and row["batch_size"] in PREFILL_BATCHES and row["isl"] >= SHORTEST_PREFILL
    return (shape | {"prefix": row["step"]}, (row["batch_size"], row["isl"])) if wanted else None


def attention_decode(row):
    shape = attention_shape(row)
    kv_len = row["isl"] + row["step"]
    wanted = shape and row["batch_size"] in DECODE_BATCHES and kv_len >= SHORTEST_DECODE
    return (shape, (row["batch_size"], kv_len)) if wanted else None


def mla_prefill(row):
    """Not absorbed, the core alone: keys of 128 + 64, values of 128."""
    shape = {"q_heads": row["num_heads"], "head_dim_qk": 192, "head_dim_v": 128, "prefix": row["step"]}
    return attention_types(row, "mla_dtype") | shape, (row["batch_size"], row["isl"])


def mla_decode(row):
    """Absorbed: one key of 512 + 64 for all heads, whose first 512 are the value."""
    shape = {"q_heads": row["num_heads"], "head_dim_qk": 576, "head_dim_v": 512}
    return attention_types(row, "mla_dtype") | shape, (row["batch_size"], row["isl"] + row["step"])


def gemm(row):
    if row["m"] not in GEMM_ROWS or row["n"] not in GEMM_SIZES or row["k"] not in GEMM_SIZES:
        return None
    return {"weights": WEIGHTS.get(row["gemm_dtype"], row["gemm_dtype"])}, (row["n"], row["k"], row["m"])


def moe(row):
    shape = (row["hidden_size"], row["inter_size"], row["num_experts"], row["topk"])
    ranks = (row["moe_tp_size"], row["moe_ep_size"])
    is_wanted = shape in MOE_SHAPES and all(rank in MOE_RANKS for rank in ranks)
    if not is_wanted or row["kernel_source"] == LOW_LATENCY_KERNEL:
        return None
    names = ("hidden", "feed_forward", "experts", "chosen", "tp", "ep")
    fixed = {"weights": WEIGHTS.get(row["moe_dtype"], row["moe_dtype"]), "routing": row["distribution"]}
    return fixed | dict(zip(names, shape + ranks)), (row["num_tokens"],)


def all_reduce(row):
    """By the engine's own kernels. The tables count elements."""
    dtype = DTYPES[row["allreduce_dtype"]]
    return {"type": dtype, "devices": row["num_gpus"]}, (2 * row["message_size"],)


BATCH, NEW, KEYS = ("batch", "requests"), ("q_len", "tokens a request"), ("kv_len", "tokens a request")
QUERIES = (
    Query("attention_prefill", "attention", "context_attention_perf", (BATCH, NEW), attention_prefill),
    Query("attention_decode", "attention", "generation_attention_perf", (BATCH, KEYS), attention_decode),
    Query("mla_prefill", "mla", "context_mla_perf", (BATCH, NEW), mla_prefill),
    Query("mla_decode", "mla", "generation_mla_perf", (BATCH, KEYS), mla_decode),
    Query("gemm", "gemm", "gemm_perf", (("n", "columns"), ("k", "summands"), ("m", "rows")), gemm),
    Query("moe", "moe", "moe_perf", (("tokens", "tokens of all ranks"),), moe),
    Query("all_reduce", "comm", "custom_allreduce_perf", (("bytes", "bytes of the result"),), all_reduce),
)


def microseconds(milliseconds):
    """With four digits, which is more than is repeatable."""
    value = float(f"{milliseconds * 1000.0:.4g}")
    return int(value) if value >= 1000 else value


def select(query, table):
    """{fixed values: {place: microseconds}}, in the table's order. Fails where a point comes twice."""
    found = {}
    for row in table:
        point = query.point_of(row)
        if point is None:
            continue
        fixed, place = point
        points = found.setdefault(tuple(fixed.items()), {})
        if place in points:
            raise ValueError(f"{query.table}: {fixed} has two times at {place}")
        points[place] = microseconds(row["latency"])
    return found


def to_json(query, found):
    axes = [{"name": name, "unit": unit, "scale": "log"} for name, unit in query.axes]
    tables = [
        {"fixed": dict(fixed), "points": [[*place, time] for place, time in sorted(points.items())]}
        for fixed, points in sorted(found.items(), key=lambda item: str(item[0]))
    ]
    return {"query": query.name, "axes": axes, "tables": tables}

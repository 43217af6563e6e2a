"""Answers of headwise and aiconfigurator laid side by side.

Nothing here runs a program or reads a file."""

import math

# aiconfigurator's operations, without "context_" or "generation_", and the parts of a headwise answer that hold the
# same work. An operation that holds more than one part, since it was measured as one or overlaps, names them all.
ATTENTION, PROJECTIONS, FEED_FORWARD = "attention", "attention projections", "feed-forward"
ROUTER, OUTPUT, COMMUNICATION, REST = "router", "output matrix", "communication", "norms and embedding"
PARTS = {
    "attention": (ATTENTION,),
    "qkv_gemm": (PROJECTIONS,),
    "proj_gemm": (PROJECTIONS,),
    "mla_block": (ATTENTION, PROJECTIONS),
    "gate_ffn1_gemm": (FEED_FORWARD,),
    "act_gate": (FEED_FORWARD,),
    "ffn2_gemm": (FEED_FORWARD,),
    "shared_gate_up_gemm": (FEED_FORWARD,),
    "shared_act_gate": (FEED_FORWARD,),
    "shared_ffn2_gemm": (FEED_FORWARD,),
    "moe": (FEED_FORWARD,),
    "moe_overlap": (FEED_FORWARD, ROUTER, COMMUNICATION),
    "router_gemm": (ROUTER,),
    "moe_pre_dispatch": (COMMUNICATION,),
    "moe_post_dispatch": (COMMUNICATION,),
    "logits_gemm": (OUTPUT,),
    "ar_1": (COMMUNICATION,),
    "ar_2": (COMMUNICATION,),
    "embedding_ar": (COMMUNICATION,),
    "p2p": (COMMUNICATION,),
    "embedding": (REST,),
    "add_norm_1": (REST,),
    "add_norm_2": (REST,),
}


def parts_of(operations):
    """{parts: ms} of {aiconfigurator's operation: ms}; parts that some operation holds together are together."""
    groups = []
    for name, ms in operations.items():
        held, total = set(PARTS[name.split("_", 1)[1]]), ms
        for other in [group for group in groups if group[0] & held]:
            groups.remove(other)
            held, total = held | other[0], total + other[1]
        groups.append((held, total))
    return {tuple(sorted(held)): ms for held, ms in groups if ms > 0.0}


def same_parts(groups, parts):
    """Headwise's parts, [{"name", "ms"}], added as `groups` has them; what no group holds is under its own name."""
    found = {group: 0.0 for group in groups}
    for part in parts:
        if part["ms"] is None:
            continue
        home = next((group for group in groups if part["name"] in group), (part["name"],))
        found[home] = found.get(home, 0.0) + part["ms"]
    return found


def plan_row(row):
    """What says which plan a row of aiconfigurator's search is, and what it promises."""
    names = ("parallel", "(p)parallel", "(p)workers", "(p)bs", "(d)parallel", "(d)workers", "(d)bs", "bs",
             "num_total_gpus", "concurrency", "ttft", "tpot", "tokens/s", "tokens/s/gpu", "memory")  # fmt: skip
    return {name: row[name] if isinstance(row[name], str) else float(row[name]) for name in names if name in row}


def headwise_rows(document):
    """The contexts of `headwise codesign --json`, with what the tables need of them."""
    names = ("context", "prefill_ms", "decode_ms", "ttft_ms", "tpot_ms", "parts_prefill", "parts_decode", "kv_bytes",
             "largest_batch", "throughput_tok_s", "source", "error", "why_not")  # fmt: skip
    return [{name: row.get(name) for name in names} for row in document["contexts"]]


def number(value):
    """With four digits; three decimals at most."""
    if value is None:
        return "-"
    return f"{value:.{max(0, min(3, 3 - int(math.floor(math.log10(abs(value))))))}f}" if value else "0"


def ratio(ours, theirs):
    return f"{ours / theirs:.2f}" if ours and theirs else "-"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def title(row):
    return f"{row['model']}, {row['weights']} weights, {row['kv_type']} KV, {row['plan']}"


def times(rows):
    """TTFT of one request and one decode step of a batch: theirs, ours, ours over theirs."""
    cells = []
    for row in rows:
        theirs, ours = row["aiconfigurator"], row.get("headwise") or {}
        cells.append(
            [row["context"], row["batch"]]
            + [cell for name, own in (("ttft_ms", "prefill_ms"), ("decode_ms", "decode_ms"))
               for cell in (number(theirs[name]), number(ours.get(own)), ratio(ours.get(own), theirs[name]))]
            + [theirs["largest_batch"], ours.get("largest_batch") or "-"]
        )  # fmt: skip
    head = ["context", "batch", "TTFT: theirs, ms", "ours, ms", "ratio", "step: theirs, ms", "ours, ms", "ratio",
            "largest batch: theirs", "ours"]  # fmt: skip
    return table(head, cells)


def parts_beside(row, phase):
    """Part by part, those of one row and phase."""
    groups = {tuple(name.split(" + ")): ms for name, ms in row["aiconfigurator"]["parts_" + phase].items()}
    own = (row.get("headwise") or {}).get("parts_" + phase)
    ours = same_parts(groups, own) if own else dict.fromkeys(groups)
    cells = [
        [" + ".join(names), number(groups.get(names)), number(ms), ratio(ms, groups.get(names))]
        for names, ms in ours.items()
    ]
    return table([f"{phase}, {row['context']}, batch {row['batch']}", "theirs, ms", "ours, ms", "ratio"], cells)


def tables(rows, plans):
    lines = []
    for name in dict.fromkeys(title(row) for row in rows):
        own = [row for row in rows if title(row) == name]
        lines += ["", f"### {name}", "", *times(own)]
        lines += ["", *parts_beside(own[0], "prefill"), "", *parts_beside(own[-1], "decode")]
    if plans:
        lines += ["", "### Plans that aiconfigurator chooses", "", *plan_table(plans)]
    return lines


def plan_table(plans):
    head = ["model", "weights", "prompt", "targets", "serving", "plan", "GPUs", "batch", "TTFT, ms", "TPOT, ms",
            "tokens/s a GPU"]  # fmt: skip
    cells = []
    for found in plans:
        for kind, best in found["plans"].items():
            for row in best[:1]:
                plan, batch = "{parallel}", "{bs:g}"
                if "parallel" not in row:  # prefill and decode on GPUs of their own
                    plan = "{(p)workers:g} x {(p)parallel} + {(d)workers:g} x {(d)parallel}"
                    batch = "{(p)bs:g} / {(d)bs:g}"
                cells.append(
                    [found["model"], found["weights"], found["context"],
                     f"{found['ttft_target_ms']:g} / {found['tpot_target_ms']:g} ms",
                     kind + (" (chosen)" if kind == found["chosen"] else ""), plan.format(**row),
                     f"{row['num_total_gpus']:g}", batch.format(**row),
                     number(row["ttft"]), number(row["tpot"]), number(row["tokens/s/gpu"])]
                )  # fmt: skip
    return table(head, cells)


def rounded(value, digits=5):
    """Every number of a tree, with `digits` digits; what is no number stays."""
    if isinstance(value, dict):
        return {key: rounded(item, digits) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item, digits) for item in value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    if isinstance(value, int):
        return value
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None

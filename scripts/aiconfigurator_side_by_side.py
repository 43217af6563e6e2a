"""Answers of headwise and aiconfigurator laid side by side.

Nothing here runs a program or reads a file."""

import json
import math
import statistics

# aiconfigurator's operations, without "context_" or "generation_", and the parts of a headwise answer that hold the
# same work. An operation that holds more than one part, since it was measured as one or overlaps, names them all.
ATTENTION, PROJECTIONS, FEED_FORWARD = "attention", "attention projections", "feed-forward"
ROUTER, OUTPUT, COMMUNICATION, OVERHEAD = "router", "output matrix", "communication", "overhead"
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
    "embedding": (OVERHEAD,),
    "add_norm_1": (OVERHEAD,),
    "add_norm_2": (OVERHEAD,),
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
    """Headwise's {part: ms} added as `groups` has them; what no group holds is under its own name."""
    found = dict.fromkeys(groups, 0.0)
    for name, ms in parts.items():
        home = next((group for group in groups if name in group), (name,))
        found[home] = found.get(home, 0.0) + ms
    return found


def plan_row(row):
    """What says which plan a row of aiconfigurator's search is, and what it promises."""
    names = ("parallel", "(p)parallel", "(p)workers", "(p)bs", "(d)parallel", "(d)workers", "(d)bs", "bs",
             "num_total_gpus", "concurrency", "ttft", "tpot", "tokens/s", "tokens/s/gpu", "memory")  # fmt: skip
    return {name: row[name] if isinstance(row[name], str) else float(row[name]) for name in names if name in row}


def headwise_row(document, context, with_answer, groups):
    """What the tables need of a context; largest_batch is of contexts with their answers, and of one of `groups`."""
    names = ("prefill_ms", "decode_ms", "kv_bytes", "source_prefill", "error_prefill", "source_decode", "error_decode")
    rows = {row["context"]: row for row in document["contexts"]}
    row = {name: rows[context][name] for name in names}
    for phase in ("parts_prefill", "parts_decode"):
        row[phase] = {part["name"]: part["ms"] for part in rows[context][phase] if part["ms"]}
    return row | {"largest_batch": rows[with_answer]["largest_batch"] // groups}


def number(value):
    """With four digits; three decimals at most. Counts as they are."""
    if value is None or isinstance(value, int):
        return "-" if value is None else str(value)
    return f"{value:.{max(0, min(3, 3 - int(math.floor(math.log10(abs(value))))))}f}" if value else "0"


def ratio(ours, theirs):
    return f"{ours / theirs:.2f}" if ours and theirs else "-"


def table(head, rows):
    def line(row):
        return "| " + " | ".join(str(cell) for cell in row) + " |"

    return [line(head), "|" + "---|" * len(head), *map(line, rows)]


def title(row):
    return f"{row['model']}, {row['weights']} weights, {row['kv_type']} KV, {row['plan']}"


def once_a_context(rows):
    """Rows of the first batch: what does not depend on it is the same in the others."""
    return list({(title(row), row["context"]): row for row in reversed(rows)}.values())[::-1]


def pairs(rows, name, own):
    """(row, theirs, ours), where both have answered."""
    both = [row for row in rows if row["headwise"]]
    return [(row, row["aiconfigurator"][name], row["headwise"][own]) for row in both]


QUANTITIES = (  # title, theirs, ours, our error, whether it depends on the batch
    ("time to first token", "ttft_ms", "prefill_ms", "error_prefill", False),
    ("decode step", "decode_ms", "decode_ms", "error_decode", True),
    ("largest batch", "largest_batch", "largest_batch", None, False),
)


def summary(rows):
    cells = []
    for quantity, name, own, error, by_batch in QUANTITIES:
        found = pairs(rows if by_batch else once_a_context(rows), name, own)
        if not found:
            continue
        away = [(abs(ours / theirs - 1.0), row) for row, theirs, ours in found]
        within = (
            sum(abs(theirs / ours - 1.0) <= row["headwise"][error] for row, theirs, ours in found) if error else "-"
        )
        farthest, where = max(away, key=lambda item: item[0])
        cells.append(
            [quantity, len(found), f"{100 * statistics.median(distance for distance, _ in away):.1f}%",
             sum(distance <= 0.1 for distance, _ in away), within,
             f"{100 * farthest:.0f}%: {title(where)}, {where['context']}" + (f" x {where['batch']}" if by_batch else "")]
        )  # fmt: skip
    head = ["", "questions", "median distance", "within 10%", "within our error", "farthest"]
    return table(head, cells)


def cell(row, name, own):
    """Theirs / ours."""
    return f"{number(row['aiconfigurator'][name])} / {number((row['headwise'] or {}).get(own))}"


def by_context(rows, name, own):
    contexts = sorted({row["context"] for row in rows})
    found = {(title(row), row["context"]): cell(row, name, own) for row in rows}
    names = dict.fromkeys(title(row) for row in rows)
    return table(["", *contexts], [[name, *(found.get((name, context), "") for context in contexts)] for name in names])


def steps(rows):
    """Decode steps of each context: of one request, of sixteen, of nearly as many as fit."""
    found = {}
    for row in rows:
        shown = cell(row, "decode_ms", "decode_ms")
        found.setdefault((title(row), row["context"]), {})[row["batch"]] = shown
    cells = []
    for (name, context), by_batch in found.items():
        largest = max(by_batch)
        more = f"{by_batch[largest]} ({largest})" if largest not in (1, 16) else ""
        cells.append([name, context, by_batch.get(1, ""), by_batch.get(16, ""), more])
    return table(["", "context", "batch 1", "batch 16", "more (batch)"], cells)


def parts_beside(row, phase):
    """Part by part, those of one row and phase."""
    groups = {tuple(name.split(" + ")): ms for name, ms in row["aiconfigurator"]["parts_" + phase].items()}
    own = (row["headwise"] or {}).get("parts_" + phase)
    ours = same_parts(groups, own) if own else dict.fromkeys(groups)
    cells = [
        [" + ".join(names), number(groups.get(names)), number(ms), ratio(ms, groups.get(names))]
        for names, ms in ours.items()
    ]
    return table([f"{phase}, {row['context']}, batch {row['batch']}", "theirs, ms", "ours, ms", "ratio"], cells)


def tables(rows, plans):
    lines = ["### Summary", "", *summary(rows)]
    lines += ["", "### Time to first token, ms: theirs / ours", "", *by_context(rows, "ttft_ms", "prefill_ms")]
    lines += ["", "### Decode step, ms: theirs / ours", "", *steps(rows)]
    largest = by_context(rows, "largest_batch", "largest_batch")
    lines += ["", "### Requests of a GPU's attention that fit: theirs / ours", "", *largest]
    for name in dict.fromkeys(title(row) for row in rows):
        own = [row for row in rows if title(row) == name]
        lines += ["", f"### Parts: {name}", "", *parts_beside(own[0], "prefill"), "", *parts_beside(own[-1], "prefill")]
        lines += ["", *parts_beside(own[0], "decode"), "", *parts_beside(own[-1], "decode")]
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
        for kind, ours in found.get("headwise", {}).items():
            name = [found["model"], found["weights"], found["context"],
                    f"{found['ttft_target_ms']:g} / {found['tpot_target_ms']:g} ms", kind]  # fmt: skip
            cells.append(name + (
                [ours["plan"], ours["gpus"], ours["batch"], number(ours["ttft_ms"]), number(ours["tpot_ms"]),
                 number(ours["tokens_s_gpu"])] if ours else ["none"] + ["-"] * 5
            ))  # fmt: skip
    return table(head, cells)


def lines_of(document):
    """JSON, an element of a list a line."""
    fields = []
    for name, value in document.items():
        text = json.dumps(value)
        if isinstance(value, list):
            text = "[\n" + ",\n".join(json.dumps(item) for item in value) + "\n]"
        fields.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


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

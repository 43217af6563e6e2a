"""Faults to plant, one at a time: name -> edits (file, exact text, replacement, occurrences)."""

MASK = "src/attention/mask.h"
RUNS = "src/attention/key_runs.h"
ROWS = "src/attention/rows.h"
PLAN = "src/attention/plan.cpp"
MERGE = "src/attention/merge.cpp"
SHAPE = "src/attention/attention_shape.cpp"
REFERENCE = "src/cpu/reference.cpp"
STANDARD = "src/cpu/standard_plan.cpp"
SOFTMAX = "src/cpu/softmax_row.cpp"


def edit(file, old, new, count=1):
    return (file, old, new, count)


LAST_PAGE = "std::min(page_size, kv_len - slot)"
PAGES = "std::int64_t end = (kv_len + page_size - 1) / page_size;"
DEFAULT_START = "next.q_start.push_back(next.kv_lens[r] - next.q_lens[r]);"

# The definition that all backends share: golden cases and the oracle must notice.
SHARED = {
    "causal offset": [edit(PLAN, DEFAULT_START, "next.q_start.push_back(next.kv_lens[r] - next.q_lens[r] + 1);")],
    "causal offset left out": [edit(PLAN, DEFAULT_START, "next.q_start.push_back(0);")],
    "window one key short": [edit(MASK, "rows.first - left", "rows.first - left + 1")],
    "window one key long": [edit(MASK, "rows.first - left", "rows.first - left - 1")],
    "window right edge": [edit(MASK, "rows.last + right", "rows.last + right + 1")],
    "windows of a request's first row only": [edit(RUNS, "{q_start, q_start + q_len - 1}", "{q_start, q_start}")],
    "page_pos ignored": [edit(RUNS, "tables.positions != nullptr ? tables.positions[row + entry] : slot", "slot")],
    "table tail read": [edit(RUNS, PAGES, "std::int64_t end = kv_len / page_size + 1;"),
                        edit(RUNS, LAST_PAGE, "page_size")],
    "page tail read": [edit(RUNS, LAST_PAGE, "page_size")],
    "last page left out": [edit(RUNS, PAGES, "std::int64_t end = kv_len / page_size;")],
    "one table for all KV heads": [edit(RUNS, "tables.heads > 1 ? kv_head * tables.head_stride : 0", "0 * kv_head")],
    "first request's table for all": [edit(RUNS, "request.index * tables.request_stride +", "0 +")],
    "packed keys from the start": [edit(RUNS, "kv_len > 0 ? step.kv_start[request.index] : 0", "0")],
    "page offsets of 32 bits": [edit(RUNS, "return run.page * page +", "return static_cast<std::int32_t>(run.page * page) +")],
    "packed offsets of 32 bits": [edit(RUNS, "+ run.token * token;", "+ static_cast<std::int32_t>(run.token * token);")],
    "FP8 scale of the first head": [edit(ROWS, "granularity == ScaleGranularity::kv_head ? head : 0", "granularity == ScaleGranularity::kv_head ? 0 * head : 0")],
    "scale of the shape ignored": [edit(SHAPE, "return scale ? *scale :", "return scale ? static_cast<float>(1.0 / std::sqrt(static_cast<double>(head_dim_qk))) :")],
    "updates forgotten": [edit(PLAN, "  current_ = 1 - current_;\n", "")],
    "merge: LSE base 2": [edit(MERGE, "weights.top + std::log(weights.total)", "weights.top + std::log2(weights.total)")],
    "merge: weights base 2": [edit(MERGE, "std::exp(lse - weights.top)", "std::exp2(lse - weights.top)")],
    "merge: empty part read": [edit(MERGE, "    if (lse == kNothing) continue;\n", "")],
    "merge: empty and empty": [edit(MERGE, "if (weights.top != kNothing) {", "{"),
                               edit(MERGE, "weights.top == kNothing ? kNothing : ", "")],
    "merge: sink counted twice": [edit(MERGE, "        weights.add(sink);\n", "        weights.add(sink);\n        weights.add(sink);\n")],
    "merge: sink forgotten": [edit(MERGE, "        weights.add(sink);\n", "")],
}

# What `reference` computes on its own.
OF_REFERENCE = {
    "reference: LSE base 2": [edit(REFERENCE, "std::log(total)", "std::log2(total)")],
    "reference: heads interleaved over KV heads": [
        edit(REFERENCE, "(kv_head * group + g) * q.strides[1]", "(g * shape().kv_heads + kv_head) * q.strides[1]"),
        edit(REFERENCE, "args.sinks[kv_head * group + g]", "args.sinks[g * shape().kv_heads + kv_head]"),
        edit(REFERENCE, "store(args, token, kv_head * group + g, g, s)", "store(args, token, g * shape().kv_heads + kv_head, g, s)")],
    "reference: sink counted twice": [edit(REFERENCE, "total += std::exp(args.sinks", "total += 2.0 * std::exp(args.sinks")],
    "reference: sink left out of the maximum": [edit(REFERENCE, "sink > s.top[g]) s.top[g] = sink", "sink > s.top[g]) s.top[g] += 0.0")],
    "reference: cap before scale": [edit(REFERENCE, "cap * std::tanh(logit / cap)", "cap * std::tanh(logit / scale / cap) * scale")],
    "reference: K's FP8 scale for V": [edit(REFERENCE, "shape.v_is_k_prefix ? args.k_scale : args.v_scale", "args.k_scale")],
    "reference: K's int8 scale for V": [edit(REFERENCE, "shape_.v_is_k_prefix ? view_.k_scale : view_.v_scale", "view_.k_scale")],
    "reference: K's strides for V": [edit(REFERENCE, "v_(shape.v_is_k_prefix ? k_ : KvStrides(view_.v, args.kv->layout()))", "v_(k_)")],
    "reference: no maximum": [edit(REFERENCE, "s.logit[g] > s.top[g]) s.top[g] = s.logit[g]", "s.logit[g] > s.top[g]) s.top[g] = 0.0")],
    "reference: NaN taken for an empty row": [edit(REFERENCE, "std::isnan(s.logit[g]) || ", "")],
    "reference: rows of 32 bits": [edit(REFERENCE, "token * q.strides[0]", "static_cast<std::int32_t>(token * q.strides[0])")],
    "reference: outputs of 32 bits": [edit(REFERENCE, "token * out.strides[0]", "static_cast<std::int32_t>(token * out.strides[0])")],
    "reference: LSE laid out densely": [edit(REFERENCE, "values[token * lse.strides[0]", "values[token * shape().q_heads")],
    "reference: q's FP8 scale left out": [edit(REFERENCE, "const double scale = fp8_scale(args.q_scale, shape().q_type, shape().fp8_scale, kv_head);", "const double scale = 1.0;")],
}

# What `standard` computes on its own.
OF_STANDARD = {
    "standard: LSE base 2": [edit(SOFTMAX, "top + std::log(total)", "top + std::log2(total)")],
    "standard: heads interleaved over KV heads": [
        edit(STANDARD, "(kv_head * group + row % group) * q.strides[1]", "(row % group * shape().kv_heads + kv_head) * q.strides[1]"),
        edit(STANDARD, "const int head = kv_head * group + static_cast<int>(row % group);", "const int head = static_cast<int>(row % group) * shape().kv_heads + kv_head;"),
        edit(STANDARD, "(kv_head * group + row % group) * out.strides[1]", "(row % group * shape().kv_heads + kv_head) * out.strides[1]")],
    "standard: sink counted twice": [edit(SOFTMAX, "double total = std::exp(static_cast<double>(sink) - top);", "double total = 2.0 * std::exp(static_cast<double>(sink) - top);")],
    "standard: finite minus infinity": [edit(SOFTMAX, "constexpr float kNothing = -std::numeric_limits<float>::infinity();", "constexpr float kNothing = -1e5F;")],
    "standard: no softcap where it is small": [edit(SOFTMAX, "row.softcap > 0.0F", "row.softcap > 10.0F")],
    "standard: softcap before the keys' scales": [edit(SOFTMAX, "s[i] *= row.k_scale[i];", ";"),
                                                  edit(SOFTMAX, "s[i] = row.softcap * std::tanh(s[i] / row.softcap);\n", "s[i] = row.softcap * std::tanh(s[i] / row.softcap);\n  for (std::int64_t i = begin; row.k_scale != nullptr && i < end; ++i) s[i] *= row.k_scale[i];\n")],
    "standard: K's FP8 scale for V": [edit(STANDARD, "shape().v_is_k_prefix ? args.k_scale : args.v_scale", "args.k_scale")],
    "standard: K's int8 scale for V": [edit(STANDARD, "prefix ? kv.k_scale : kv.v_scale", "kv.k_scale")],
    "standard: int8 scale after the sum": [edit(SOFTMAX, "s[i] *= v_scale[i];", "s[i] *= v_scale[0];")],
    "standard: dead columns kept": [edit(STANDARD, "std::memset(head + end * row_bytes, 0, (work.keys - end) * row_bytes);", "static_cast<void>(end);")],
    "standard: every row sees what the last one sees": [edit(STANDARD, "work.request.q_start + row / group);", "work.request.q_start + work.request.q_len - 1);")],
    "standard: rows without keys left as they are": [edit(STANDARD, "        if (work.keys == 0) std::fill_n(values, head_dim, 0.0F);\n", "")],
    "standard: NaN taken for an empty row": [edit(SOFTMAX, "nan = nan || ", "nan = nan && ")],
}

ALL = {**SHARED, **OF_REFERENCE, **OF_STANDARD}

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
TILED = "src/cpu/tiled/tiled_plan.cpp"
WORK = "src/cpu/tiled/work_list.cpp"
READER = "src/cpu/tiled/key_reader.cpp"
ROWS_OF_KEYS = "src/cpu/tiled/key_reader.h"
KERNEL = "src/cpu/tiled/tile_kernel.h"
OPERANDS = "src/cpu/tiled/operands.h"
APPEND = "src/cpu/append_kv.cpp"
FORMATS = "src/core/number_formats.h"
VECTOR_MATH = "src/cpu/tiled/vector_math.h"


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
    "LSE laid out densely": [edit(ROWS, "values[token * step.lse.strides[0]", "values[token * step.lse.sizes[1]")],
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

# What the tiled backends compute on their own; a failure of any of them kills.
OF_TILED = {
    "tiled: causal offset left out": [edit(TILED, "seen_from(request.q_start + item.token + row / group)", "seen_from(0 * request.q_start + item.token + row / group)")],
    "tiled: every row sees what the first one sees": [edit(TILED, "seen_from(request.q_start + item.token + row / group)", "seen_from(request.q_start + item.token)")],
    "tiled: window one key short": [edit(TILED, "std::clamp<std::int64_t>(seen.first,", "std::clamp<std::int64_t>(seen.first + 1,")],
    "tiled: window one key long": [edit(TILED, "std::clamp<std::int64_t>(seen.first,", "std::clamp<std::int64_t>(seen.first - 1,")],
    "tiled: window right edge": [edit(TILED, "std::clamp<std::int64_t>(seen.last,", "std::clamp<std::int64_t>(seen.last + 1,")],
    "tiled: heads interleaved over KV heads": [
        edit(TILED, "const std::int64_t head = item.kv_head * group + row % group;", "const std::int64_t head = row % group * shape().kv_heads + item.kv_head;"),
        edit(TILED, "const int head = kv_head * group + row % group;", "const int head = row % group * shape().kv_heads + kv_head;")],
    "tiled: each tile of rows begins at the first token": [edit(TILED, "request.first_row + item.token + row / group", "request.first_row + row / group"),
                                                           edit(TILED, "request.first_row + token + row / group", "request.first_row + 0 * token + row / group")],
    "tiled: sink counted twice": [edit(TILED, "total * factor + std::exp2(sink - higher)", "total * factor + 2.0 * std::exp2(sink - higher)")],
    "tiled: sink without the sums' maximum": [edit(TILED, "total * factor + std::exp2(sink - higher)", "total + std::exp2(sink - higher)")],
    "tiled: LSE base 2": [edit(TILED, "(top + std::log2(total)) * kLn2", "top + std::log2(total)")],
    "tiled: negative scale taken for a positive one": [edit(TILED, "scale < 0.0 ? -1", "scale < 0.0 ? 1")],
    "tiled: softcap left out of the logits' scale": [edit(TILED, "positive / shape().softcap", "positive")],
    "tiled: K's FP8 scale for V": [edit(TILED, "shape().v_is_k_prefix ? args.k_scale : args.v_scale", "args.k_scale")],
    "tiled: parts merged without weights": [edit(TILED, "const float kept = weight_of(whole.top[row], top);", "const float kept = 1.0F;"),
                                            edit(TILED, "const float added = weight_of(next.top[next_row], top);", "const float added = 1.0F;")],
    "tiled: parts merged at the first one's maximum": [edit(TILED, "    whole.top[row] = top;\n", "")],
    "tiled: last part left out": [edit(TILED, "part < split.parts", "part + 1 < split.parts")],
    "tiled: fixed splits not merged": [edit(TILED, "        merge_row(sums, row, memory.split_sums, row);", "        static_cast<void>(row);")],
    "tiled: parts run to the last key": [edit(WORK, "piece.slot_end = cuts[part + 1];", "piece.slot_end = item.slot_end;")],
    "tiled: pages with positions cut by slots": [edit(WORK, "step.tables.positions != nullptr) return;", "step.tables.positions != nullptr && step.q_lens.empty()) return;")],
    "tiled: page_pos ignored": [edit(READER, "positions != nullptr ? positions", "positions != nullptr && entry < 0 ? positions")],
    "tiled: table tail read": [edit(READER, "std::min<std::int64_t>(slot + kTileKeys, request_.kv_len)", "slot + kTileKeys")],
    "tiled: page tail read": [edit(READER, "request_.kv_len)", "step_.layout == KvLayout::packed ? request_.kv_len : (request_.kv_len + step_.tables.page_size - 1) / step_.tables.page_size * step_.tables.page_size)")],
    "tiled: dead columns keep the tile before": [edit(READER, "      fill_dead(done, static_cast<int>(run.slot - slot), tile);\n", "      done += 0;\n"),
                                                 edit(READER, "  fill_dead(done, kTileKeys, tile);\n", "  if (tile.columns == 0) fill_dead(done, kTileKeys, tile);\n")],
    "tiled: dead columns stand at 0": [edit(READER, "tile.position[i] = kNowhere;", "tile.position[i] = 0;")],
    "tiled: dead columns taken for live": [edit(READER, "tile.all_live = tile.columns == kTileKeys;", "tile.all_live = tile.columns > 0;")],
    "tiled: dead slots of seen pages multiplied": [edit(READER, "fill_live(run, slot, tile);", "fill_live(run = {all.slot, all.count, all.position, run.page, all.token}, slot, tile);")],
    "tiled: K's int8 scale for V": [edit(READER, "shape.v_is_k_prefix ? kv.k_scale : kv.v_scale", "kv.k_scale")],
    "tiled: K's strides for V": [edit(READER, "v + i * v_.token", "v + i * k_.token")],
    "tiled: page offsets of 32 bits": [edit(ROWS_OF_KEYS, "run.page * page +", "static_cast<std::int32_t>(run.page * page) +")],
    "tiled: old sums not corrected": [edit(KERNEL, "Isa::mul(Isa::set(correction[i]),", "Isa::mul(Isa::set(correction[i] * 0.0F + 1.0F),")],
    "tiled: old weights not corrected": [edit(KERNEL, "rows.total[row] * *correction +", "rows.total[row] +")],
    "tiled: rows that see some take all": [edit(KERNEL, "return all ? Sight::all", "return all || any ? Sight::all")],
    "tiled: rows that see one key take none": [edit(KERNEL, "rows.first_seen[row] <= tile.last_position &&", "rows.first_seen[row] < tile.last_position &&")],
    "tiled: rows that see the first key take all": [edit(KERNEL, "rows.last_seen[row] >= tile.last_position", "rows.last_seen[row] >= tile.first_position")],
    "tiled: V's int8 scale in the weights' sum": [edit(KERNEL, "\n      sum = Isa::add(sum, x[j]);", "\n      sum = Isa::add(sum, shape.kv_type == Stored::i8 ? Isa::mul(x[j], Isa::load_floats(tile.v_scale + j * kLanes)) : x[j]);")],
    "tiled: NaN taken for an empty row": [edit(KERNEL, "if (seen != seen) rows.total[row] = seen;", "if (seen != seen) rows.total[row] += 0.0F;")],
    "tiled: coarse weights for F32 products": [edit(VECTOR_MATH, "if constexpr (Isa::kPairs) return coarse_power_of_two(x);\n    return power_of_two(x);", "return coarse_power_of_two(x);")],
    "tiled: rests of keys multiplied as they lie": [edit(OPERANDS, " && head_dim % kSpan == 0", " && head_dim > 0")],
}

# What the CPU's backends append.
OF_APPEND = {
    "append: one table for all KV heads": [edit(APPEND, "tables.heads > 1 ? head * tables.head_stride : 0", "0 * head")],
    "append: slots from the start": [edit(APPEND, "step.kv_lens[r] - step.q_lens[r]}", "0 * step.kv_lens[r]}")],
    "append: first request's rows for all": [edit(APPEND, "tokens.first_slot + row - tokens.first_row", "tokens.first_slot + row")],
    "append: rows of 32 bits": [edit(APPEND, "row * rows_.strides[0]", "static_cast<std::int32_t>(row * rows_.strides[0])")],
    "append: pages of 32 bits": [edit(APPEND, "strides_.offset(place, head) * size_of", "static_cast<std::int32_t>(strides_.offset(place, head)) * size_of")],
    "append: FP8 scale of the first head": [edit(APPEND, "ScaleGranularity::kv_head ? head : 0", "ScaleGranularity::kv_head ? 0 * head : 0")],
    "append: multiplied by the FP8 scale": [edit(APPEND, "const float value = values[i] / scale;", "const float value = values[i] * scale;")],
    "append: infinities not counted": [edit(APPEND, "std::fabs(value) > 448.0F ? 1 : 0", "std::fabs(value) > 448.0F && std::isfinite(value) ? 1 : 0")],
    "append: int8 scale without NaN": [edit(APPEND, "std::max(largest, magnitude(values[i]))", "std::max(largest, std::isnan(values[i]) ? 0 : magnitude(values[i]))")],
    "append: int8 codes to -128": [edit(APPEND, "values[i] / divisor, -127.0F", "values[i] / divisor, -128.0F")],
    "append: int8 codes cut off": [edit(APPEND, "rounded(code)", "code")],
    "append: int8 zeros divided by": [edit(APPEND, "|| scale == 0.0F", "|| scale < 0.0F")],
    "append: last chunk left out": [edit(APPEND, "first < dim; first += kChunk", "first + 1 < dim; first += kChunk")],
    "append: E4M3 ties up": [edit(FORMATS, "0x7ffffU + ((rebased >> 20) & 1U)", "0x80000U + 0 * rebased")],
}

ALL = {**SHARED, **OF_REFERENCE, **OF_STANDARD, **OF_TILED, **OF_APPEND}

"""Faults to plant in the KV cache, as in mutants.py."""

REFS = "src/kv/page_refs.cpp"
REFS_H = "src/kv/page_refs.h"
POOL = "src/kv/page_pool.cpp"
STEP = "src/kv/open_step.cpp"
CACHE_FILE = "src/kv/kv_cache.cpp"
STATE = "src/kv/kv_cache_state.cpp"
SEQUENCES = "src/kv/sequence_table.h"
TABLES = "src/kv/step_tables.h"
PREFIXES = "src/kv/prefix_cache.cpp"
TREE = "src/kv/prefix_tree.cpp"
HEAP = "src/kv/lru_heap.h"
EXTRAS = "src/kv/page_extras.cpp"
BOUNDS = "src/kv/key_bounds.cpp"
PICKS = "src/kv/picked_pages.cpp"
SCALES = "src/kv/fp8_scales.cpp"
CALIBRATION = "src/kv/kv_calibration.cpp"
KEPT = "src/kv/kept_pages.h"


def edit(file, old, new, count=1):
    return (file, old, new, count)


CACHE = {
    "cache: a retained page is counted once": [edit(REFS, "  ++held.sequences;\n", "  if (held.sequences == 0) ++held.sequences;\n")],
    "cache: pages shared by several are not counted": [edit(REFS, "if (held.sequences == 2) ++shared_;", "")],
    "cache: a cached page is written to": [edit(REFS_H, "return held.sequences == 1 && !held.cached;", "return held.sequences == 1;")],
    "cache: a page that is cached becomes free": [edit(REFS, "if (held.sequences == 0 && !held.cached)", "if (held.sequences == 0)")],
    "cache: a shared page is written to": [edit(STEP, "return sequence.length % page_size != 0 &&", "return false && sequence.length % page_size != 0 &&")],
    "cache: a copy is left empty": [edit(STEP, "cache.copy_page(group, table[entry], copied_.back().original, stream);", "cache.copy_page(group, table[entry], table[entry], stream);")],
    "cache: scales stay behind when a page is copied": [edit(POOL, "{k_, v_, k_scale_, v_scale_}", "{k_, v_}")],
    "cache: the last layer is not copied": [edit(POOL, "layer_bytes_, shape_.group.layers, stream", "layer_bytes_, shape_.group.layers - 1, stream")],
    "cache: a step rolled back keeps its pages": [edit(STEP, "cache.release(group, request.id.row, request.old_entries, sequence.entries);", "")],
    "cache: a step rolled back keeps its copies": [edit(STEP, "    entry = page.original;\n", "")],
    "cache: a copy's original is kept for ever": [edit(STEP, "for (const CopiedPage& page : copied_) cache.pool(page.group).refs().release(page.original);", "")],
    "cache: pages of refused tokens are kept": [edit(STEP, "if (accepted[r] < q_lens_[r]) give_back_pages(cache, r, accepted[r]);", "")],
    "cache: all tokens are accepted": [edit(STEP, "  std::ranges::copy(accepted, q_lens_.begin());\n", "")],
    "cache: a window passes a page too many": [edit(KEPT, "return std::max(length - window_left, std::int64_t{0}) / page_size;", "return std::max(length - window_left + 1, std::int64_t{0}) / page_size;")],
    "cache: windows never pass": [edit(STEP, "if (first <= first_kept) return;", "if (first <= first_kept || first > 0) return;")],
    "cache: passed entries keep their numbers": [edit(STEP, "std::fill(table + first_kept, table + first, -1);", "std::fill(table, table, -1);")],
    "cache: cut to where the window has passed": [edit(CACHE_FILE, "check(first >= entries || first >= kept,", "check(first >= entries || first >= kept || true,")],
    "cache: a cut sequence goes on where it was known": [edit(CACHE_FILE, "if (state_->prefixes) state_->prefixes->cut(sequence.cursor, length / page_size);", "")],
    "cache: a cut sequence writes to its last page": [edit(CACHE_FILE, "  sequence.owns_last_page = false;  // it may have been a full one\n", "")],
    "cache: a forked sequence writes to its last page": [edit(CACHE_FILE, "  source.owns_last_page = false;\n", "")],
    "cache: forks hold nothing": [edit(CACHE_FILE, "for (std::int32_t entry = first; entry < source.entries; ++entry) refs.retain(table[entry]);", "for (std::int32_t entry = first; entry < 0; ++entry) refs.retain(table[entry]);")],
    "cache: ids live on": [edit(SEQUENCES, " || rows_[static_cast<std::size_t>(id.row)].serial != id.serial", "")],
    "cache: cached pages are no room": [edit(STATE, "<= refs.free() + refs.cached()", "<= refs.free()")],
    "cache: the step's tables are stale": [edit(TABLES, "if (!is_same || sequence.tables_changed)", "if (!is_same)")],
    "cache: another sequence's tables": [edit(TABLES, "holders_[static_cast<std::size_t>(request)] == id.serial && sequence.step_row == request", "sequence.step_row == request")],
    "prefix: every token is reused": [edit(PREFIXES, "tokens.empty() ? 0 : tokens.size() - 1", "tokens.size()")],
    "prefix: extras do not count": [edit(EXTRAS, "  if (key.empty()) return {};", "  return {};")],
    "prefix: an image's place does not count": [edit(EXTRAS, "append(bytes, extra.first - first_token);", "append(bytes, 0 * (extra.first - first_token));")],
    "prefix: an adapter is a salt": [edit(EXTRAS, "std::string bytes(1, static_cast<char>(extra.kind));", "std::string bytes(1, 'x');")],
    "prefix: whose child a page is does not count": [edit(TREE, "at(node).hash == hash && at(node).parent == parent &&", "at(node).hash == hash && (at(node).parent == parent || true) &&"),
                                                     edit("src/kv/prefix_hash.h", "mix(parent ^ kFirst,", "mix(parent * 0 ^ kFirst,")],
    "prefix: windows need nothing": [edit(PREFIXES, "is_served = is_served && present_since <= std::min(first, page + 1);", "is_served = is_served || first > 0;")],
    "prefix: windows need everything": [edit(PREFIXES, "present_since <= std::min(first, page + 1)", "present_since == 0 && first >= 0")],
    "prefix: parts of pages from one token less": [edit(PREFIXES, "tokens = min_partial_ - 1;", "tokens = min_partial_ - 2;")],
    "prefix: what is in use goes": [edit(PREFIXES, "if (put_off > 0 && refs.sequences(tree_.page(leaf, group)) > 0) {", "if (false) {")],
    "prefix: the newest goes first": [edit(HEAP, "heap_[index(a)].time < heap_[index(b)].time", "heap_[index(a)].time > heap_[index(b)].time")],
    "prefix: hits are no uses": [edit(PREFIXES, "for (const std::int32_t node : match.nodes) tree_.use(node);", "")],
    "prefix: hits are no uses of windows": [edit(PREFIXES, "      tree_.use_page(match.nodes[static_cast<std::size_t>(page)], group);\n", "      ;\n")],
    "prefix: window pages stay cached for ever": [edit(PREFIXES, "  pool(group).refs().uncache(page);\n", "  if (window_of(group) < 0) pool(group).refs().uncache(page);\n")],
    "prefix: lost window pages are not taken up again": [edit(PREFIXES, "if (page == kNone || tree_.page(node, group) != kNone ||", "if (page == kNone || tree_.page(node, group) != kNone || tree_.first_child(node) != kNone ||")],
    "formats: scales are never frozen": [edit(CACHE_FILE, "check(!has_scales(group, layer) || ", "check(true || ")],
    "formats: V has K's scale": [edit(SCALES, "both.insert(both.end(), v.begin(), v.end());", "both.insert(both.end(), k.begin(), k.end());")],
    "formats: calibration forgets the sign": [edit(CALIBRATION, "std::fabs(stored_number(tensor, first + i))", "stored_number(tensor, first + i)")],
    "formats: one scale for all KV heads": [edit(CALIBRATION, "if (group_.shape.fp8_scale == ScaleGranularity::tensor)", "")],
    "picks: positions by order": [edit(PICKS, "picked_.entries_[at] * picked_.page_size_;", "i * picked_.page_size_;")],
    "picks: the last page counts as full": [edit(PICKS, "std::min(in_last, picked_.page_size_)", "std::max(in_last, picked_.page_size_)")],
    "picks: the first head's pages for all": [edit(PICKS, "entries.subspan(static_cast<std::size_t>(head) * count, count)", "entries.subspan(0 * static_cast<std::size_t>(head), count)")],
    "picks: the worst pages": [edit(PICKS, "score_a > score_b", "score_a < score_b")],
    "picks: bounds of one side": [edit(BOUNDS, "sum += std::max(query[i] * ranges[i].least, query[i] * ranges[i].greatest);", "sum += query[i] * ranges[i].greatest;")],
    "picks: bounds are not copied with their page": [edit(STATE, "kept->copy_page(to, from);", "kept->copy_page(to, to);")],
    "picks: a page's bounds begin with its last user's": [edit(BOUNDS, "    if (is_first)\n", "    if (is_first && i < 0)\n")],
}

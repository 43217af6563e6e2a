#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/quality/golden.h"
#include "tests/quality/judged_model.h"

namespace headwise::quality {

/// One check's outcome, a line of the table.
struct Verdict {
  std::string check;    ///< "continuation of 1024 tokens"
  std::string figures;  ///< "64 of 64 tokens equal"
  bool passed = false;
};

/// Greedy tokens behind each prompt of at most `longest` tokens. F32 maths must say what the
/// reference says; bf16 maths may leave it where its two best logits lie within 0.1.
std::vector<Verdict> check_continuations(JudgedModel& model, const Golden& golden,
                                         std::int64_t longest);

/// Mean over the positions of KL(reference || model): below 1e-3, in f32 maths below 1e-5. From the
/// whole rows in `rows`, f32 log-probabilities [positions, vocab]; without it from the likeliest
/// tokens and all others as one, a lower bound of it.
Verdict check_distributions(JudgedModel& model, const Golden& golden,
                            const std::filesystem::path& rows);

/// Perplexity over the first `count` windows of `length` tokens, 0: all. Within 0.5 % of the
/// reference's over the same, or 2 % where K and V are rounded to 8 bits. Throws Error where the
/// model's tokens of `text` are not the reference's.
Verdict check_perplexity(JudgedModel& model, const Golden& golden, const std::string& text,
                         std::int64_t length, std::size_t count, bool kv_is_8_bit = false);

}  // namespace headwise::quality

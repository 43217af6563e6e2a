#include <cmath>
#include <cstdio>

#include "core/check.h"
#include "tests/quality/checks.h"
#include "tests/quality/log_sum_exp.h"

namespace headwise::quality {
namespace {

constexpr double kBound = 0.005;  // relative, where K and V are kept as they are computed
constexpr double kBoundOf8Bit = 0.02;

/// Of every token of a window but its first, in nats, summed.
double negative_log_likelihood(JudgedModel& model, std::span<const TokenId> window) {
  double sum = 0.0;
  std::size_t next = 1;
  model.begin();
  model.each_logits(window, [&](std::span<const float> logits) {
    if (next == window.size()) return;
    sum += log_sum_exp(logits) - logits[static_cast<std::size_t>(window[next++])];
  });
  check(next == window.size(), "logits for ", next - 1, " tokens of ", window.size());
  return sum;
}

std::vector<TokenId> window_of(const Golden& golden, const Windows& windows, std::size_t index,
                               std::span<const TokenId> text) {
  const std::size_t body = static_cast<std::size_t>(windows.length) - golden.bos.size();
  check((index + 1) * body <= text.size(), "the text ends before window ", index);
  const std::span<const TokenId> part = text.subspan(index * body, body);
  check(fnv1a(part) == windows.text_hashes[index], "window ", index,
        " has other tokens than the reference's: another text, or another tokenizer");
  std::vector<TokenId> window = golden.bos;
  window.insert(window.end(), part.begin(), part.end());
  return window;
}

}  // namespace

Verdict check_perplexity(JudgedModel& model, const Golden& golden, const std::string& text,
                         std::int64_t length, std::size_t count, bool kv_is_8_bit) {
  const Windows& windows = golden.windows(length);
  if (count == 0) count = windows.nll.size();
  check(count <= windows.nll.size(), "the reference has ", windows.nll.size(), " windows of ",
        length, " tokens, not ", count);
  const std::vector<TokenId> tokens = model.encode(text);
  double ours = 0.0;
  double reference = 0.0;
  double change = 0.0;  // of perplexity, relative
  for (std::size_t i = 0; i < count; ++i) {
    ours += negative_log_likelihood(model, window_of(golden, windows, i, tokens));
    reference += windows.nll[i];
    change = std::expm1((ours - reference) / static_cast<double>((i + 1) * (length - 1)));
    std::fprintf(stderr, "%s: window %zu of %zu, perplexity %+.4f %%\n", golden.name.c_str(), i + 1,
                 count, 100 * change);
  }
  const double counted = static_cast<double>(count) * static_cast<double>(length - 1);
  return {.check = concat("perplexity of ", count, " windows of ", length),
          .figures = concat(std::exp(ours / counted), ", the reference ",
                            std::exp(reference / counted), ": ", 100 * change, " %; KV ",
                            static_cast<double>(model.kv_bytes()) / 1e6, " MB"),
          .passed = std::abs(change) <= (kv_is_8_bit ? kBoundOf8Bit : kBound)};
}

}  // namespace headwise::quality

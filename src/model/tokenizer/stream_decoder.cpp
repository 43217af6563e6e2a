#include "model/tokenizer/stream_decoder.h"

#include "model/tokenizer/utf8.h"

namespace headwise {
namespace {

constexpr const char* kReplacement = "\xef\xbf\xbd";  // U+FFFD

}  // namespace

std::string StreamDecoder::push(TokenId token) {
  pending_ += tokenizer_->bytes(token);
  std::string text;
  std::size_t done = 0;
  while (done < pending_.size()) {
    const Utf8Step step = next_utf8(std::string_view(pending_).substr(done));
    if (step.kind == Utf8Kind::incomplete) break;
    text += step.kind == Utf8Kind::character ? pending_.substr(done, step.bytes) : kReplacement;
    done += step.bytes;
  }
  pending_.erase(0, done);
  return text;
}

std::string StreamDecoder::finish() {
  std::string text = pending_.empty() ? "" : kReplacement;  // the beginning of one character
  pending_.clear();
  return text;
}

}  // namespace headwise

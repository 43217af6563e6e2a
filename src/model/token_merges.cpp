#include "model/token_merges.h"

#include <functional>
#include <queue>
#include <tuple>

namespace headwise {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr TokenId kGone = -1;  // merged into the neighbour on its left

struct Link {
  TokenId token;
  std::size_t left;
  std::size_t right;
};

// A pair that could be merged when it was noted; its tokens tell whether it still can.
struct Candidate {
  std::size_t rank;
  std::size_t at;  // of its left token
  TokenId left;
  TokenId right;
  TokenId merged;
  bool operator>(const Candidate& other) const {
    return std::tie(rank, at) > std::tie(other.rank, other.at);
  }
};

std::uint64_t pair_key(TokenId left, TokenId right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
}

std::vector<Link> make_links(std::span<const TokenId> tokens) {
  std::vector<Link> links;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    links.push_back({tokens[i], i == 0 ? kNone : i - 1, i + 1 == tokens.size() ? kNone : i + 1});
  }
  return links;
}

void join_right(std::vector<Link>& links, std::size_t at, TokenId merged) {
  Link& link = links[at];
  Link& gone = links[link.right];
  link.token = merged;
  link.right = gone.right;
  gone.token = kGone;
  if (link.right != kNone) links[link.right].left = at;
}

}  // namespace

bool TokenMerges::add(TokenId left, TokenId right, TokenId merged) {
  return merges_.emplace(pair_key(left, right), Merge{merges_.size(), merged}).second;
}

const TokenMerges::Merge* TokenMerges::find(TokenId left, TokenId right) const {
  const auto found = merges_.find(pair_key(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

void TokenMerges::apply(std::span<const TokenId> tokens, std::vector<TokenId>& out) const {
  std::vector<Link> links = make_links(tokens);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto note = [&](std::size_t at) {
    if (at == kNone || links[at].right == kNone) return;
    const TokenId left = links[at].token;
    const TokenId right = links[links[at].right].token;
    if (const Merge* merge = find(left, right)) {
      queue.push({merge->rank, at, left, right, merge->merged});
    }
  };
  for (std::size_t at = 0; at < links.size(); ++at) note(at);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    const Link& link = links[best.at];
    if (link.token != best.left || link.right == kNone) continue;
    if (links[link.right].token != best.right) continue;
    join_right(links, best.at, best.merged);
    note(link.left);
    note(best.at);
  }
  for (std::size_t at = links.empty() ? kNone : 0; at != kNone; at = links[at].right) {
    out.push_back(links[at].token);
  }
}

}  // namespace headwise

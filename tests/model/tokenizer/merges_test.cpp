// Merging by a heap against merging as it is defined: look for the best pair, merge it, begin anew.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "model/tokenizer/scored_merges.h"
#include "model/tokenizer/token_merges.h"

namespace headwise {
namespace {

using Tokens = std::vector<TokenId>;

Tokens naive_ranked(Tokens tokens, const std::vector<TokenMerge>& merges) {
  for (;;) {
    std::size_t best = merges.size();
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
      for (std::size_t rank = 0; rank < best; ++rank) {
        if (merges[rank].left == tokens[i] && merges[rank].right == tokens[i + 1]) {
          best = rank;
          at = i;
        }
      }
    }
    if (best == merges.size()) return tokens;
    tokens[at] = merges[best].merged;
    tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Merges, RankedOnesAreThoseOfTheDefinition) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    // Any pairs, cyclic ones too: a merge may give a token that the pair itself holds.
    const int letters = 2 + round % 4;
    std::vector<TokenMerge> merges;
    std::map<std::pair<TokenId, TokenId>, bool> taken;
    for (int i = 0; i < 12; ++i) {
      const auto any = [&] {
        return static_cast<TokenId>(random() % static_cast<unsigned>(letters + i));
      };
      const TokenMerge merge{any(), any(),
                             static_cast<TokenId>(round % 2 == 0 ? letters + i : any())};
      if (!taken.emplace(std::pair(merge.left, merge.right), true).second) continue;
      merges.push_back(merge);
    }
    Tokens tokens;
    for (int i = 0; i < round % 60; ++i) {
      tokens.push_back(static_cast<TokenId>(random() % static_cast<unsigned>(letters)));
    }
    Tokens merged;
    TokenMerges(merges).apply(tokens, merged);
    EXPECT_EQ(merged, naive_ranked(tokens, merges)) << "round " << round;
  }
}

using Parts = std::vector<std::string>;

Parts naive_scored(const std::string& text, const std::map<std::string, float>& scores) {
  Parts parts;
  for (const char c : text) parts.emplace_back(1, c);
  for (;;) {
    std::size_t at = parts.size();
    float best = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = scores.find(parts[i] + parts[i + 1]);
      if (found == scores.end() || (at < parts.size() && found->second <= best)) continue;
      at = i;
      best = found->second;
    }
    if (at == parts.size()) return parts;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
}

TEST(Merges, ScoredOnesAreThoseOfTheDefinition) {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto word = [&](std::size_t length) {
      std::string text;
      for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random() % 3);
      return text;
    };
    std::map<std::string, float> scores;
    for (int i = 0; i < 25; ++i) scores[word(1 + random() % 5)] = static_cast<float>(random() % 6);
    std::vector<VocabularyToken> tokens;
    for (const auto& [piece, score] : scores) tokens.push_back({piece, TokenType::normal, score});
    const std::string text = word(static_cast<std::size_t>(round % 60));
    Parts parts;
    ScoredMerges(tokens).apply(text, [&](TokenId token, std::string_view part) {
      parts.emplace_back(part);
      EXPECT_EQ(token == kNoToken, !scores.contains(parts.back()));
    });
    EXPECT_EQ(parts, naive_scored(text, scores)) << "round " << round;
  }
}

}  // namespace
}  // namespace headwise

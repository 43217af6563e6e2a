#include "tests/kv/page_content.h"

#include <functional>

namespace headwise {
namespace {

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b) * 0x9e3779b97f4a7c15;
  a = (a ^ (a >> 29)) * 0xbf58476d1ce4e5b9;
  return a ^ (a >> 32);
}

std::uint64_t hash_of(const PrefixExtra& extra) {
  const auto kind = static_cast<std::uint64_t>(extra.kind);
  const auto place = static_cast<std::uint64_t>(extra.first) << 32 | std::uint32_t(extra.tokens);
  return mix(mix(std::hash<std::string>{}(extra.id), kind), place);
}

bool reaches(const PrefixExtra& extra, std::int64_t token) {
  if (extra.kind != PrefixExtra::Kind::image) return token == 0;
  return extra.first <= token && token < std::int64_t{extra.first} + extra.tokens;
}

float k_of(int salt, std::int32_t token) { return static_cast<float>(token + 1000 * salt); }

/// 24 bits, which a float holds.
float v_of(int salt, std::uint64_t hash) {
  return static_cast<float>((hash + std::uint64_t(salt) * 0x85ebca6b) & 0xffffff);
}

}  // namespace

KvGroupOptions small_group(std::int64_t pages, std::int64_t window_left, std::int32_t window_slack,
                           int layers) {
  AttentionShape shape{.q_heads = 1, .kv_heads = 1, .head_dim_qk = 1, .head_dim_v = 1};
  shape.q_type = DType::f32;
  shape.kv_type = DType::f32;
  shape.window_left = window_left;
  return {
      .group = {.shape = shape, .layers = layers}, .pages = pages, .window_slack = window_slack};
}

std::vector<std::uint64_t> prefix_hashes(std::span<const std::int32_t> tokens,
                                         const PrefixKey& key) {
  std::vector<std::uint64_t> hashes;
  std::uint64_t hash = 1;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    hash = mix(hash, static_cast<std::uint32_t>(tokens[i]));
    std::uint64_t extras = 0;  // a sum: their order does not matter
    for (const PrefixExtra& extra : key)
      if (reaches(extra, static_cast<std::int64_t>(i))) extras += hash_of(extra);
    if (extras != 0) hash = mix(hash, extras);
    hashes.push_back(hash);
  }
  return hashes;
}

PageContent::PageContent(KvCache& cache) : page_size_(cache.options().page_size) {
  for (int group = 0; group < cache.groups(); ++group) {
    groups_.emplace_back();
    const int layers = cache.options().groups[static_cast<std::size_t>(group)].group.layers;
    for (int layer = 0; layer < layers; ++layer) {
      const MutableKvView view = cache.mutable_layer(group, layer);
      groups_.back().push_back({static_cast<float*>(view.k.data), static_cast<float*>(view.v.data),
                                1 + 10 * group + layer});
    }
  }
}

void PageContent::write(int group, std::int32_t page, std::int32_t slot, std::int32_t token,
                        std::uint64_t hash) const {
  const std::int64_t at = std::int64_t{page} * page_size_ + slot;
  for (const Layer& layer : groups_[static_cast<std::size_t>(group)]) {
    layer.k[at] = k_of(layer.salt, token);
    layer.v[at] = v_of(layer.salt, hash);
  }
}

bool PageContent::holds(int group, std::int32_t page, std::int32_t slot, std::int32_t token,
                        std::uint64_t hash) const {
  const std::int64_t at = std::int64_t{page} * page_size_ + slot;
  bool same = true;
  for (const Layer& layer : groups_[static_cast<std::size_t>(group)])
    same &= layer.k[at] == k_of(layer.salt, token) && layer.v[at] == v_of(layer.salt, hash);
  return same;
}

void PageContent::write_all(int group, std::span<const std::int32_t> table,
                            std::span<const std::int32_t> tokens,
                            std::span<const std::uint64_t> hashes, std::size_t first) const {
  const auto size = static_cast<std::size_t>(page_size_);
  for (std::size_t i = first; i < tokens.size(); ++i)
    write(group, table[i / size], static_cast<std::int32_t>(i % size), tokens[i], hashes[i]);
}

std::int64_t PageContent::first_wrong(int group, std::span<const std::int32_t> table,
                                      std::span<const std::int32_t> tokens,
                                      std::span<const std::uint64_t> hashes) const {
  const auto size = static_cast<std::size_t>(page_size_);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (table[i / size] == -1) continue;
    if (!holds(group, table[i / size], static_cast<std::int32_t>(i % size), tokens[i], hashes[i]))
      return static_cast<std::int64_t>(i);
  }
  return -1;
}

}  // namespace headwise

#pragma once

namespace headwise {

// Largest counts that a model file may claim: beyond any model there is, and such that products of
// two fit in 31 bits but for a width squared. Nothing of a claimed size is made before the claim is
// known to be within them.
constexpr int kMostLayers = 1 << 14;
constexpr int kMostHeads = 1 << 12;
constexpr int kLargestHeadDim = 1 << 12;
constexpr int kLargestWidth = 1 << 20;
constexpr int kLargestFfnWidth = 1 << 22;
constexpr int kLargestCount = 0x7fffffff;  ///< tokens of a vocabulary, a context or a window

}  // namespace headwise

#pragma once

namespace headwise {

// Largest counts that a described model may have: beyond any there is, and such that its exact
// integers (parameters, bytes of a whole context, pairs) fit in 63 bits.
constexpr int kMostDescribedLayers = 1 << 10;
constexpr int kMostDescribedHeads = 1 << 10;
constexpr int kLargestDescribedHeadDim = 1 << 11;
constexpr int kLargestRank = 1 << 14;  ///< of MLA's latents
constexpr int kLargestHidden = 1 << 17;
constexpr int kLargestDescribedVocab = 1 << 24;
constexpr int kLargestContext = 1 << 27;  ///< tokens; windows and chunks too
constexpr int kMostExperts = 1 << 14;
constexpr int kMostSharedExperts = 1 << 6;
constexpr int kLargestFeedForward = 1 << 20;
constexpr int kLargestConvKernel = 1 << 8;

}  // namespace headwise

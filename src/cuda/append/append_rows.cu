#include <type_traits>

#include "cuda/append/append_launch.h"
#include "cuda/append/numbers.cuh"
#include "cuda/runtime/check.h"

namespace headwise::cuda {
namespace {

using namespace append;

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffU;

/// How a row of numbers is spread over lanes.
template <class To, bool chunks>
struct Lanes {
  static constexpr int kNumbers = chunks ? 16 / To::kBytes : 1;   ///< of a lane at a time
  static constexpr int kCount = chunks ? 8 * To::kBytes : kWarp;  ///< they take 128 at a time
  static constexpr int kRows = kThreads / kCount;                 ///< of a block at a time
};

/// One new token's row of one KV head: where it comes from and where it goes.
struct RowPlace {
  std::int64_t row;
  std::int64_t page;
  std::int64_t token;  ///< in the page; packed: in the cache
  std::int32_t head;
};

/// A request's numbers, the device's where it has them.
struct NewTokens {
  std::int64_t first_row;
  std::int64_t first_slot;  ///< may be negative where the device's lengths are at odds
  std::int64_t count;
};

__device__ NewTokens new_tokens_of(const AppendLaunch& launch, const AppendRequest& request) {
  const std::int32_t r = request.request;
  const std::int32_t q_len =
      launch.q_lens != nullptr ? min(launch.q_lens[r], request.q_len) : request.q_len;
  const std::int32_t kv_len =
      launch.kv_lens != nullptr ? min(launch.kv_lens[r], request.kv_len) : request.kv_len;
  const std::int64_t first_row =
      launch.first_rows != nullptr ? launch.first_rows[r] : request.first_row;
  return {first_row, std::int64_t{kv_len} - q_len, q_len};
}

/// Whether token `i` of the request has a row to come from and a slot to go to; then, which.
__device__ bool find(const AppendLaunch& launch, const AppendRequest& request,
                     const NewTokens& tokens, std::int64_t i, std::int32_t head, RowPlace& place) {
  const std::int64_t slot = tokens.first_slot + i;
  place.row = tokens.first_row + i;
  place.head = head;
  if (i >= tokens.count || slot < 0 || place.row < 0 || place.row >= launch.tokens) return false;
  if (launch.pages == nullptr) {
    place.page = 0;
    place.token = request.kv_start + slot;
    return true;
  }
  const auto within = static_cast<std::uint32_t>(slot);
  const std::uint32_t entry = within / launch.page_size;
  place.page =
      launch.pages[request.request * launch.table_request + head * launch.table_head + entry];
  place.token = within - entry * launch.page_size;
  return place.page >= 0 && place.page < launch.pool_pages;
}

/// Numbers `first` ... of a row, as F32.
template <class From, int count>
__device__ void load(const typename From::Stored* row, int first, float (&x)[count]) {
  if constexpr (count == 1) {
    x[0] = From::widened(row[first]);
  } else {
    const auto words = *reinterpret_cast<const Words<count * From::kBytes>*>(row + first);
    for (int i = 0; i < count; i += From::kOfWord)
      From::widen(words.word[i / From::kOfWord], x + i);
  }
}

template <class To, int count>
__device__ void store(const float (&x)[count], typename To::Stored* row, int first) {
  if constexpr (count == 1) {
    const float alone[4] = {x[0]};
    row[first] = static_cast<typename To::Stored>(To::narrowed(alone));
  } else {
    Words<count * To::kBytes> words;
    for (int i = 0; i < count; i += To::kOfWord) words.word[i / To::kOfWord] = To::narrowed(x + i);
    *reinterpret_cast<Words<count * To::kBytes>*>(row + first) = words;
  }
}

/// Rows of equal types.
template <class Number, class Spread>
__device__ void copy_row(const typename Number::Stored* from, typename Number::Stored* to, int dim,
                         int lane) {
  using Piece = std::conditional_t<Spread::kNumbers == 1, typename Number::Stored, Words<16>>;
  for (int d = lane * Spread::kNumbers; d < dim; d += Spread::kCount * Spread::kNumbers)
    *reinterpret_cast<Piece*>(to + d) = *reinterpret_cast<const Piece*>(from + d);
}

/// Returns how many numbers saturated.
template <class From, class To, class Spread>
__device__ unsigned convert_row(const typename From::Stored* from, typename To::Stored* to, int dim,
                                int lane, float scale) {
  unsigned saturated = 0;
  for (int d = lane * Spread::kNumbers; d < dim; d += Spread::kCount * Spread::kNumbers) {
    float x[Spread::kNumbers];
    load<From>(from, d, x);
    if constexpr (std::is_same_v<To, E4m3>)
      for (float& number : x) {
        number = __fdiv_rn(number, scale);
        saturated += fabsf(number) > 448.0F ? 1U : 0U;
      }
    store<To>(x, to, d);
  }
  return saturated;
}

/// The row's scale; magnitudes are compared as integers: above infinity there are NaNs.
template <class From, class Spread>
__device__ std::uint32_t largest_magnitude(const typename From::Stored* from, int dim, int lane) {
  std::uint32_t largest = 0;
  for (int d = lane * Spread::kNumbers; d < dim; d += Spread::kCount * Spread::kNumbers) {
    float x[Spread::kNumbers];
    load<From>(from, d, x);
    for (const float number : x) largest = max(largest, __float_as_uint(number) & 0x7fffffffU);
  }
  const unsigned first = threadIdx.x % kWarp / Spread::kCount * Spread::kCount;
  const unsigned lanes = (kAllLanes >> (kWarp - Spread::kCount)) << first;
  for (int apart = Spread::kCount / 2; apart > 0; apart /= 2)
    largest = max(largest, __shfl_xor_sync(lanes, largest, apart));
  return largest;
}

template <class From, class Spread>
__device__ void quantise_row(const typename From::Stored* from, std::int8_t* to, int dim, int lane,
                             float* token_scale) {
  const std::uint32_t largest = largest_magnitude<From, Spread>(from, dim, lane);
  const float scale =
      largest > kInfinity ? __uint_as_float(kNaN) : __fdiv_rn(__uint_as_float(largest), 127.0F);
  if (lane == 0) *token_scale = scale;
  const bool usable = largest < kInfinity && scale > 0.0F;
  for (int d = lane * Spread::kNumbers; d < dim; d += Spread::kCount * Spread::kNumbers) {
    float x[Spread::kNumbers];
    load<From>(from, d, x);
    for (float& number : x) number = usable ? __fdiv_rn(number, scale) : 0.0F;
    store<I8>(x, to, d);
  }
}

template <class From, class To, class Spread>
__device__ unsigned append_row(const AppendLaunch& launch, const AppendTensor& tensor,
                               const RowPlace& place, int lane) {
  const auto* from = static_cast<const typename From::Stored*>(tensor.rows) +
                     place.row * tensor.row_token + place.head * tensor.row_head;
  auto* to = static_cast<typename To::Stored*>(tensor.cache) + place.page * tensor.page +
             place.head * tensor.head + place.token * tensor.token;
  if constexpr (std::is_same_v<From, To>) {
    copy_row<From, Spread>(from, to, tensor.dim, lane);
    return 0;
  } else if constexpr (std::is_same_v<To, I8>) {
    quantise_row<From, Spread>(from, to, tensor.dim, lane,
                               tensor.token_scales + place.page * tensor.scale_page +
                                   place.head * tensor.scale_head +
                                   place.token * tensor.scale_token);
    return 0;
  } else {
    const float scale = tensor.fp8_scales == nullptr
                            ? 1.0F
                            : tensor.fp8_scales[launch.scale_per_head ? place.head : 0];
    return convert_row<From, To, Spread>(from, to, tensor.dim, lane, scale);
  }
}

/// The request that a block works for: first_block ascends.
__device__ int request_of(const AppendLaunch& launch, int block) {
  int first = 0;
  for (int end = launch.requests; end - first > 1;) {
    const int middle = (first + end) / 2;
    if (launch.request[middle].first_block <= block)
      first = middle;
    else
      end = middle;
  }
  return first;
}

/// grid.y: K, V. A few lanes take a row of one KV head; a block takes some tokens' rows at a time.
template <class From, class To, bool chunks>
__global__ void __launch_bounds__(kThreads)
    append_rows(const __grid_constant__ AppendLaunch launch) {
  using Spread = Lanes<To, chunks>;
  const auto block = static_cast<int>(blockIdx.x);
  const int r = request_of(launch, block);
  const AppendRequest& request = launch.request[r];
  const int end = r + 1 < launch.requests ? launch.request[r + 1].first_block : launch.blocks;
  const AppendTensor& tensor = blockIdx.y == 0 ? launch.k : launch.v;
  const NewTokens tokens = new_tokens_of(launch, request);
  const int lane = static_cast<int>(threadIdx.x) % Spread::kCount;
  const int rows = launch.block_tokens * launch.kv_heads;
  const std::int64_t step = std::int64_t{end - request.first_block} * launch.block_tokens;
  unsigned saturated = 0;
  for (std::int64_t i = std::int64_t{block - request.first_block} * launch.block_tokens;
       i < tokens.count; i += step) {
    for (int row = static_cast<int>(threadIdx.x) / Spread::kCount; row < rows;
         row += Spread::kRows) {
      RowPlace place;
      if (find(launch, request, tokens, i + row / launch.kv_heads, row % launch.kv_heads, place))
        saturated += append_row<From, To, Spread>(launch, tensor, place, lane);
    }
  }
  if constexpr (std::is_same_v<To, E4m3>) {
    __syncwarp();
    const unsigned of_warp = __reduce_add_sync(kAllLanes, saturated);
    if (launch.saturated != nullptr && of_warp > 0 && threadIdx.x % kWarp == 0)
      atomicAdd(launch.saturated, static_cast<unsigned long long>(of_warp));
  }
}

}  // namespace

int append_rows_of_block(DType cache, bool chunks) {
  return kThreads / (chunks ? 8 * static_cast<int>(size_of(cache)) : kWarp);
}

void launch_append(const AppendLaunch& launch, DType rows, DType cache, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(launch.blocks), launch.has_v ? 2 : 1);
  with_new_type(rows, [&]<class From>(NumberType<From>) {
    with_cache_type(cache, [&]<class To>(NumberType<To>) {
      if (launch.chunks)
        append_rows<From, To, true><<<grid, kThreads, 0, stream>>>(launch);
      else
        append_rows<From, To, false><<<grid, kThreads, 0, stream>>>(launch);
    });
  });
  check_launch("append");
}

}  // namespace headwise::cuda

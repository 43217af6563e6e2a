#include "bench/claim_works.h"

#include <algorithm>

#include "bench/job.h"
#include "core/check.h"

namespace headwise::bench {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr std::int64_t k(std::int64_t thousands) { return thousands * 1024; }

/// What claims are checked with.
struct Scale {
  ShapeSpec shape;
  Sizes scores, memory, append;  ///< contexts
  std::int64_t decode, prefill, split, mixed;
  std::int64_t new_tokens = 64;
  std::int64_t batch = 1;      ///< of decodes
  std::int64_t decodes = 128;  ///< of a mixed step, beside so many prompts
  std::int64_t prompts = 2;
};

Scale scale_for(DeviceType device) {
  const Sizes all{k(2), k(4), k(8), k(16), k(32), k(64), k(128)};
  const Sizes from_1k{k(1), k(4), k(16), k(32), k(64), k(128)};
  if (device == DeviceType::cuda)
    return {.shape = parse_shape_spec("q32:kv8:d128"),
            .scores = {k(2), k(4), k(8)},
            .memory = all,
            .append = from_1k,
            .decode = k(16),
            .prefill = k(8),
            .split = k(128),
            .mixed = k(2),
            .batch = 16};
  return {.shape = parse_shape_spec("q16:kv4:d128"),
          .scores = {k(1), k(2), k(4)},
          .memory = all,
          .append = from_1k,
          .decode = k(16),
          .prefill = k(1),
          .split = k(64),
          .mixed = k(4),
          .decodes = 16,
          .prompts = 1};
}

Scale scale_for(const BenchOptions& options) {
  const ClaimOptions& asked = options.claims;
  Scale scale = scale_for(options.device.type);
  if (asked.shape) scale.shape = *asked.shape;
  if (!asked.contexts.empty()) {
    scale.scores = scale.memory = scale.append = asked.contexts;
    const auto [least, most] = std::minmax_element(asked.contexts.begin(), asked.contexts.end());
    scale.prefill = *least;
    scale.decode = scale.split = scale.mixed = *most;
  }
  scale.new_tokens = asked.new_tokens.value_or(scale.new_tokens);
  scale.batch = asked.batch.value_or(scale.batch);
  scale.decodes = asked.batch.value_or(scale.decodes);
  return scale;
}

/// Makes the works of the claims, each of `scale`.
class Works {
 public:
  Works(const BenchOptions& options, Scale scale) : options_(options), scale_(std::move(scale)) {}

  std::vector<Work> all(const Machine& machine);

 private:
  void scores();
  void generations();
  void memory();
  void groups(Suite suite);
  void split();
  void pages(Suite suite);
  void mixed();
  void append();

  Workload step(Suite suite, std::int64_t context, std::int64_t batch = 1) const {
    const WorkloadOptions workload{.contexts = {context},
                                   .new_tokens = {scale_.new_tokens},
                                   .batch = batch,
                                   .prompts = scale_.prompts,
                                   .lens = {},
                                   .outliers = options_.workload.outliers,
                                   .seed = options_.workload.seed};
    return make_workloads(suite, workload).front();
  }
  Workload decode_or_prefill(Suite suite) const {
    return suite == Suite::decode ? step(suite, scale_.decode, scale_.batch)
                                  : step(suite, scale_.prefill);
  }
  void add(Topic topic, std::vector<Variant> variants, bool planned = false) {
    const Variant& first = variants.front();
    works_.push_back({.workload = first.workload,
                      .shape = first.shape,
                      .topic = topic,
                      .variants = variants,
                      .planned = planned});
  }

  const BenchOptions& options_;
  Scale scale_;
  std::vector<Work> works_;
};

bool is_hopper(const Device& device, const Machine& machine) {
  const auto index = static_cast<std::size_t>(device.index);
  return device.type == DeviceType::cuda && index < machine.gpus.size() &&
         machine.gpus[index].compute_capability == 90;
}

std::vector<Work> Works::all(const Machine& machine) {
  scores();
  if (is_hopper(options_.device, machine)) generations();
  memory();
  groups(Suite::decode);
  groups(Suite::prefill);
  split();
  pages(Suite::decode);
  pages(Suite::prefill);
  mixed();
  append();
  return std::move(works_);
}

void Works::scores() {
  for (const std::int64_t context : scale_.scores) {
    const Workload work = step(Suite::prefill, context);
    add(Topic::scores,
        {{.role = role::kFused, .shape = scale_.shape, .workload = work},
         {.role = role::kWritten, .shape = scale_.shape, .workload = work, .standard = true}});
  }
}

void Works::generations() {
  for (const std::int64_t context : scale_.scores) {
    const Workload work = step(Suite::prefill, context);
    const auto by = [&](const char* role, std::string_view backend) {
      return Variant{.role = role, .shape = scale_.shape, .workload = work, .backend = backend};
    };
    add(Topic::generations, {by(role::kHopper, "cuda-sm90"), by(role::kAmpere, "cuda-sm80")});
  }
}

void Works::memory() {
  for (const std::int64_t context : scale_.memory) {
    const Workload work = step(Suite::prefill, context);
    add(Topic::memory,
        {{.role = role::kFused, .shape = scale_.shape, .workload = work},
         {.role = role::kWritten, .shape = scale_.shape, .workload = work, .standard = true}},
        true);
  }
}

/// The same query heads over fewer and fewer KV heads.
void Works::groups(Suite suite) {
  std::vector<Variant> variants;
  for (const int group : {1, 2, 4, 8, 16}) {
    ShapeSpec shape = scale_.shape;
    if (shape.shape.q_heads % group != 0) continue;
    shape.shape.kv_heads = shape.shape.q_heads / group;
    variants.push_back({.role = "", .shape = shape, .workload = decode_or_prefill(suite)});
  }
  add(Topic::groups, std::move(variants));
}

/// A CPU has so few threads that one KV head is needed for it to have less work items than threads;
/// and it can be told to use one thread, as it would have to if it did not split.
void Works::split() {
  constexpr std::int64_t kMany = 16;
  const bool cpu = options_.device.type == DeviceType::cpu;
  ShapeSpec shape = scale_.shape;
  if (cpu) {
    shape.shape.q_heads = shape.shape.group_size();
    shape.shape.kv_heads = 1;
  }
  const Workload one = step(Suite::decode, scale_.split);
  const Workload many = step(Suite::decode, std::max<std::int64_t>(1, scale_.split / kMany), kMany);
  std::vector<Variant> variants{{.role = role::kOne, .shape = shape, .workload = one},
                                {.role = role::kMany, .shape = shape, .workload = many}};
  if (cpu && options_.threads != 1)
    variants.push_back({.role = role::kOneThread, .shape = shape, .workload = one, .threads = 1});
  add(Topic::split, std::move(variants));
}

void Works::pages(Suite suite) {
  const Workload work = decode_or_prefill(suite);
  std::vector<Variant> variants;
  for (const int page : {work.longest_kv(), 1, 4, 16, 64, 256})
    variants.push_back({.role = "", .shape = {scale_.shape.shape, page}, .workload = work});
  add(Topic::pages, std::move(variants));
}

void Works::mixed() {
  const Workload whole = step(Suite::mixed, scale_.mixed, scale_.decodes);
  const std::size_t decodes = whole.q_lens.size() - whole.prompts;
  add(Topic::mixed, {{.role = role::kWhole, .shape = scale_.shape, .workload = whole},
                     {.role = role::kParts,
                      .shape = scale_.shape,
                      .workload = whole,
                      .parts = {requests_of(whole, 0, whole.prompts),
                                requests_of(whole, whole.prompts, decodes)}}});
}

void Works::append() {
  for (const std::int64_t prefix : scale_.append)
    add(Topic::append,
        {{.role = "", .shape = scale_.shape, .workload = step(Suite::append, prefix)}});
}

}  // namespace

std::vector<Work> claim_works(const BenchOptions& options, const Machine& machine) {
  return Works(options, scale_for(options)).all(machine);
}

}  // namespace headwise::bench

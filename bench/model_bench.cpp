#include "bench/model_bench.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "advisor/device/system_name.h"
#include "advisor/time/assumed_times.h"
#include "bench/calibration_maker.h"
#include "bench/stored_matrices.h"
#include "core/check.h"
#include "core/thread_scope.h"
#include "engine/kv_scales.h"
#include "engine/runner.h"
#include "engine/text_cache.h"
#include "engine/transformer.h"
#include "headwise/machine.h"

namespace headwise::bench {
namespace {

constexpr std::int64_t kLongestByDefault = 32768;
constexpr double kLeast = 1e-6;  // seconds
constexpr int kDecodes = 8;      // at each context
// Greedy decoding changes its way through the output matrix behind the 64th token.
constexpr int kFirstTokens = 64;
constexpr int kLaterTokens = 32;
constexpr const char* kText = "The history of the city begins with a small settlement by the river";

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// What a step's parts took, in seconds.
struct StepTimes {
  ProductSeconds products;
  std::vector<double> attention;  ///< by group
  double total = 0.0;

  double rest() const {
    double known = products.qkv + products.attention_output + products.gate_up + products.down +
                   products.output;
    for (const double seconds : attention) known += seconds;
    return total - known;
  }
};

class ModelBench {
 public:
  ModelBench(const std::filesystem::path& model, const ModelBenchOptions& options)
      : options_(options),
        stored_(*stored_matrices(ModelFile(model))),
        runner_(model),
        config_(runner_.config()),
        longest_(std::min<std::int64_t>(config_.context,
                                        options.longest > 0 ? options.longest : kLongestByDefault)),
        chunk_(std::min(options.chunk, longest_)),
        groups_(layer_groups(config_, q_type_of(runner_.weights().maths),
                             options.kv_type.value_or(q_type_of(runner_.weights().maths)))),
        attention_{.backend = {},
                   .threads = options.threads,
                   .max_tokens = static_cast<std::int32_t>(chunk_),
                   .max_context = static_cast<std::int32_t>(longest_)},
        cache_(text_cache_options(groups_, attention_)),
        transformer_(runner_.weights(), cache_, attention_) {
    check(longest_ >= 4 * kFirstTokens, "a context of ", longest_, " tokens is too short");
    touch_first_pages(cache_, chunk_);  // as a Session does
  }

  std::vector<CalibrationTable> run() {
    if (options_.kv_type == DType::f8e4m3)
      find_kv_scales(runner_.weights(), cache_, attention_, text());
    run_first_prefill();
    decode_a_text();
    step_behind_contexts();
    return maker_.tables();
  }

 private:
  void go_on(const std::string& what) const {
    options_.progress(what);
    if (options_.stop()) throw Error(ErrorCode::not_possible, "stopped before all was measured");
  }

  template <class Work>
  StepTimes timed(const Work& work) {
    StepTimes times{.products = transformer_.product_seconds(), .attention = attention_seconds()};
    const double start = seconds_now();
    work();
    times.total = seconds_now() - start;
    const ProductSeconds& after = transformer_.product_seconds();
    ProductSeconds& products = times.products;
    products = {.qkv = after.qkv - products.qkv,
                .attention_output = after.attention_output - products.attention_output,
                .gate_up = after.gate_up - products.gate_up,
                .down = after.down - products.down,
                .output = after.output - products.output};
    const std::vector<double> attention = attention_seconds();
    for (std::size_t group = 0; group < attention.size(); ++group)
      times.attention[group] = attention[group] - times.attention[group];
    return times;
  }

  std::vector<double> attention_seconds() const {
    std::vector<double> seconds;
    for (const StepAttention& group : transformer_.attention()) seconds.push_back(group.seconds());
    return seconds;
  }

  std::vector<TokenId> text() {
    return runner_.encode(GenerateOptions{.prompt = kText, .raw = true});
  }

  /// Before anything else, as a process's first prompt is.
  void run_first_prefill() {
    go_on("first prefill");
    const SequenceId sequence = cache_.create();
    const std::vector<TokenId> text = some_tokens(chunk_);
    first_prefill_ = timed([&] { transformer_.extend(text, sequence); }).total;
    cache_.free(sequence);
  }

  /// A text of the model's own, so that what is likely is as likely as in any answer.
  void decode_a_text() {
    const SequenceId sequence = cache_.create();
    const std::vector<TokenId> prompt = text();
    const std::int64_t among =
        std::min<std::int64_t>(runner_.tokenizer().vocab_size(), config_.vocab);
    TokenId next = 0;
    for (int i = 0; i < kFirstTokens + kLaterTokens; ++i) {
      go_on(concat("decode of a short text, token ", i + 1));
      const bool is_prompt = i == 0;
      const StepTimes times = timed([&] {
        next = transformer_.forward_to_likeliest(is_prompt ? prompt : std::vector{next}, sequence,
                                                 {}, among);
      });
      constexpr int kCopies = 2;  // tokens beside which the copy in four bits is made
      if (is_prompt) continue;
      const bool is_early = i < kFirstTokens;
      if (is_early)
        add_product(stored_.output.name, config_.vocab, config_.width, 1, times.products.output);
      else if (i >= kFirstTokens + kCopies && runner_.weights().output_matrix().finds_largest_row())
        add_product(stored_.output.name + kLargestRow, config_.vocab, config_.width, 1,
                    times.products.output);
    }
    cache_.free(sequence);
  }

  void step_behind_contexts() {
    const SequenceId sequence = cache_.create();
    for (const std::int64_t context : contexts()) {
      fill(sequence, context);
      // Short ones are seldom, but what is left of a prompt is one.
      for (const std::int64_t tokens : {chunk_, chunk_ / 4, chunk_ / 16})
        if (tokens >= chunk_ / 4 || (context == 0 && tokens > 0))
          prefill_steps(sequence, context, tokens);
      if (context > 0) decode_steps(sequence, context);
    }
    fill(sequence, longest_ - 1);
    decode_steps(sequence, longest_ - 1);
    cache_.free(sequence);
  }

  /// 0, then 3 times powers of two, and the longest that a step fits behind.
  std::vector<std::int64_t> contexts() const {
    constexpr std::int64_t kShortest = 192;
    std::vector<std::int64_t> contexts{0};
    const std::int64_t last = longest_ - chunk_;
    for (std::int64_t context = kShortest; context < last; context *= 2)
      contexts.push_back(context);
    if (last > contexts.back()) contexts.push_back(last);
    return contexts;
  }

  std::vector<TokenId> some_tokens(std::int64_t count) {
    std::uniform_int_distribution<TokenId> any(0, config_.vocab - 1);
    std::vector<TokenId> tokens(static_cast<std::size_t>(count));
    for (TokenId& token : tokens) token = any(random_);
    return tokens;
  }

  void prefill_steps(SequenceId sequence, std::int64_t context, std::int64_t tokens) {
    const std::vector<TokenId> text = some_tokens(tokens);
    Samples totals;
    for (int i = 0; i <= options_.repeats; ++i) {
      go_on(concat("prefill of ", tokens, " behind ", context));
      const StepTimes times = timed([&] { transformer_.extend(text, sequence); });
      cache_.truncate(sequence, static_cast<std::int32_t>(context));
      if (i == 0) continue;  // makes what later ones find
      totals.push_back(times.total);
      add_layers(times, tokens);
      add_attention(times, [&](std::size_t group, double seconds) {
        maker_.add("attention_prefill", values_of(group),
                   {1.0, static_cast<double>(context), static_cast<double>(tokens)}, {seconds});
      });
    }
    if (context == 0 && tokens == chunk_)
      maker_.add("first_prefill", {{"hidden", static_cast<double>(config_.width)}},
                 {static_cast<double>(tokens)},
                 {std::max(first_prefill_ - median(totals), kLeast)});
  }

  void decode_steps(SequenceId sequence, std::int64_t context) {
    const std::vector<TokenId> text = some_tokens(1);
    for (int i = 0; i <= kDecodes; ++i) {
      go_on(concat("decode behind ", context));
      // With the output matrix, which takes its room in caches. Of random keys its time says
      // little.
      const StepTimes times =
          timed([&] { transformer_.forward_to_likeliest(text, sequence, {}, config_.vocab); });
      cache_.truncate(sequence, static_cast<std::int32_t>(context));
      if (i == 0) continue;
      add_layers(times, 1);
      add_attention(times, [&](std::size_t group, double seconds) {
        maker_.add("attention_decode", values_of(group), {1.0, static_cast<double>(context + 1)},
                   {seconds});
      });
    }
  }

  AxisValues values_of(std::size_t group) const { return attention_values(groups_[group].shape); }

  template <class Add>
  void add_attention(const StepTimes& times, const Add& add) const {
    for (std::size_t group = 0; group < groups_.size(); ++group)
      add(group, times.attention[group] / groups_[group].layers);
  }

  void add_product(const std::string& weights, std::int64_t n, std::int64_t k, std::int64_t m,
                   double seconds) {
    maker_.add("gemm", {{"weights", weights}},
               {static_cast<double>(n), static_cast<double>(k), static_cast<double>(m)}, {seconds});
  }

  void add_layers(const StepTimes& times, std::int64_t tokens) {
    const double layers = config_.layers;
    const std::int64_t q_width = std::int64_t{config_.q_heads} * config_.head_dim;
    const std::int64_t qkv = q_width + 2 * std::int64_t{config_.kv_heads} * config_.head_dim;
    const std::int64_t width = config_.width, ffn = config_.ffn_width;
    const ProductSeconds& products = times.products;
    add_product(stored_.qkv.name, qkv, width, tokens, products.qkv / layers);
    add_product(stored_.attention_output.name, width, q_width, tokens,
                products.attention_output / layers);
    add_product(stored_.gate_up.name, 2 * ffn, width, tokens, products.gate_up / layers);
    add_product(stored_.down.name, width, ffn, tokens, products.down / layers);
    maker_.add("layer_overhead",
               {{"hidden", static_cast<double>(width)},
                {"projected", static_cast<double>(qkv + width)},
                {"feed_forward", static_cast<double>(ffn)}},
               {static_cast<double>(tokens)}, {times.rest() / layers});
  }

  /// Random K and V up to a length.
  void fill(SequenceId sequence, std::int64_t length) {
    std::normal_distribution<float> normal;
    while (cache_.length(sequence) < length) {
      go_on(concat("random keys up to ", length));
      const std::int64_t count = std::min<std::int64_t>(length - cache_.length(sequence), chunk_);
      const std::int64_t row = std::int64_t{config_.kv_heads} * config_.head_dim;
      if (numbers_.empty()) {
        numbers_.resize(static_cast<std::size_t>(2 * chunk_ * row));
        for (float& number : numbers_) number = normal(random_);
      }
      const KvRequest request{.sequence = sequence, .new_tokens = static_cast<std::int32_t>(count)};
      KvStep step = cache_.begin({&request, 1});
      for (std::size_t group = 0; group < groups_.size(); ++group)
        for (int layer = 0; layer < groups_[group].layers; ++layer)
          step.append_kv(
              transformer_.attention()[group].backend(), static_cast<int>(group), layer,
              dense(numbers_.data(), DType::f32, {count, config_.kv_heads, config_.head_dim}),
              dense(numbers_.data() + chunk_ * row, DType::f32,
                    {count, config_.kv_heads, config_.head_dim}));
      step.commit();
    }
  }

  const ModelBenchOptions& options_;
  StoredMatrices stored_;
  Runner runner_;
  const ModelConfig& config_;
  std::int64_t longest_, chunk_;
  std::vector<LayerGroup> groups_;
  AttentionOptions attention_;
  KvCache cache_;
  Transformer transformer_;
  std::mt19937 random_{1};
  std::vector<float> numbers_;  // [2, chunk, kv_heads, head_dim]
  double first_prefill_ = 0.0;  // seconds
  CalibrationMaker maker_;
};

}  // namespace

Calibration bench_model(const std::filesystem::path& model, const ModelBenchOptions& options) {
  check(ModelFile(model).has_weights(), model.string(), " has no weights to run");
  const int threads = threads_or_all(options.threads);
  const ThreadScope scope(threads);
  std::vector<CalibrationTable> tables = ModelBench(model, options).run();
  return own_calibration(system_name(this_machine().cpu, threads), std::string(options.command),
                         std::move(tables));
}

}  // namespace headwise::bench

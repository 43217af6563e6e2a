#include "cli/codesign_question.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>

#include "advisor/advice/plan_candidates.h"
#include "advisor/advice/plan_name.h"
#include "advisor/device/system_name.h"
#include "advisor/time/usual_plan.h"
#include "bench/local_hardware.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/usage.h"
#include "core/check.h"
#include "headwise/machine.h"

namespace headwise::cli {
namespace {

constexpr const char* kUsualHardware = "h200";
constexpr std::array kRoutings{"balanced", "power_law_1.01", "power_law_1.2"};
constexpr std::int64_t kShortestDefault = 4096, kLongestDefault = 131072;

class Inputs {
 public:
  void given(std::string name, std::string value) {
    add({std::move(name), std::move(value), "given", ""});
  }
  void by_default(std::string name, std::string value, std::string why) {
    add({std::move(name), std::move(value), "default", std::move(why)});
  }
  void add(CodesignInput input) { list_.push_back(std::move(input)); }
  std::vector<CodesignInput> take() { return std::move(list_); }

  /// The flag's text, or the default's.
  std::string choose(const char* name, const std::string& flag, const std::string& otherwise,
                     const std::string& why) {
    if (!flag.empty())
      given(name, flag);
    else
      by_default(name, otherwise, why);
    return flag.empty() ? otherwise : flag;
  }

 private:
  std::vector<CodesignInput> list_;
};

DType type_option(const std::string& name, const std::string& text) {
  try {
    return kv_type_option(text);
  } catch (const Error& error) {
    throw CLI::ValidationError(name, error.what());
  }
}

std::int64_t size_option(const std::string& name, const std::string& text) {
  const std::vector<std::int64_t> sizes = sizes_option(name, text);
  if (sizes.size() > 1) throw CLI::ValidationError(name, "one number of tokens");
  return sizes.front();
}

std::vector<std::int64_t> contexts_of(const CodesignFlags& flags, const ModelDescription& model,
                                      Inputs& inputs) {
  if (!flags.contexts.empty()) {
    inputs.given("contexts", flags.contexts);
    const std::vector<std::int64_t> contexts = sizes_option("--contexts", flags.contexts);
    if (std::ranges::min(contexts) < 2)
      throw CLI::ValidationError("--contexts", "a context has at least 2 tokens");
    return contexts;
  }
  std::vector<std::int64_t> contexts;
  for (std::int64_t context = kShortestDefault; context <= kLongestDefault; context *= 2)
    if (context <= model.context) contexts.push_back(context);
  if (contexts.empty()) contexts.push_back(model.context);
  std::string text;
  for (const std::int64_t context : contexts)
    text += (text.empty() ? "" : ",") + short_size(context);
  inputs.by_default("contexts", text, "up to 128k, and what the model is made for");
  return contexts;
}

void read_weights(const CodesignFlags& flags, const StoredWeights& stored, Deployment& deployment,
                  Inputs& inputs) {
  if (deployment.stored) {
    const StoredMatrices& all = *deployment.stored;
    inputs.add(
        {"weights",
         fmt::format("qkv {}, output {}, gate and up {}, down {}, vocabulary {}", all.qkv.name,
                     all.attention_output.name, all.gate_up.name, all.down.name, all.output.name),
         "config", "as the file stores them"});
    return;
  }
  if (!flags.weights.empty()) {
    deployment.feed_forward = parse_weight_format(flags.weights);
    inputs.given("weights", flags.weights);
  } else {
    deployment.feed_forward = stored.format.value_or(WeightFormat::bf16);
    inputs.add({"weights", std::string(name_of(deployment.feed_forward)),
                stored.format ? "config" : "default", stored.why});
  }
  deployment.projections = deployment.feed_forward;
  if (!flags.projections.empty()) deployment.projections = parse_weight_format(flags.projections);
  inputs.choose("projections", flags.projections, std::string(name_of(deployment.projections)),
                "attention's: as the other weights");
}

void read_types(const CodesignFlags& flags, const StoredWeights& stored, Deployment& deployment,
                Inputs& inputs) {
  read_weights(flags, stored, deployment, inputs);
  deployment.kv_type = type_option(
      "--kv-type", inputs.choose("kv_type", flags.kv_type, "bf16", "as most engines keep K and V"));
  deployment.q_type = type_option(
      "--q-type", inputs.choose("q_type", flags.q_type, "bf16", "attention's products"));
  deployment.routing = inputs.choose("routing", flags.routing, "balanced", "of experts");
  if (std::ranges::find(kRoutings, deployment.routing) == kRoutings.end())
    throw CLI::ValidationError("--routing", "balanced, power_law_1.01 or power_law_1.2");
  const std::string chunk =
      deployment.stored
          ? inputs.choose("chunk", flags.chunk, "512", "as `headwise run` takes prompts")
          : inputs.choose("chunk", flags.chunk, "8192", "tokens that linear layers take at once");
  deployment.chunk = size_option("--chunk", chunk);
}

void read_memory(const CodesignFlags& flags, MemoryPlan& memory, Inputs& inputs) {
  if (flags.page > 0) memory.page = flags.page;
  inputs.choose("page", flags.page > 0 ? fmt::format("{}", flags.page) : "",
                fmt::format("{}", memory.page), "tokens");
  if (flags.reserve >= 0.0) memory.reserve = flags.reserve;
  inputs.choose("reserve", flags.reserve >= 0.0 ? fmt::format("{:g}", flags.reserve) : "",
                fmt::format("{:g}", memory.reserve),
                "share of memory that is neither weights nor KV");
}

Deployment asked_plan(const CodesignFlags& flags, const Deployment& types) {
  try {
    return parse_plan(flags.plan, types);
  } catch (const Error& error) {
    throw CLI::ValidationError("--plan", error.what());
  }
}

/// `--plan`, or the usual one for `gpus`.
void read_plan(const CodesignFlags& flags, std::int64_t gpus, CodesignQuestion& question,
               Inputs& inputs) {
  Deployment& plan = question.deployment;
  if (flags.plan.empty()) {
    plan = possible_plan(question.model, plan, gpus);
    inputs.by_default("plan", plan_name(plan),
                      plan.adp > 1 ? "groups of devices attend to requests of their own"
                                   : "heads and widths are split");
    return;
  }
  plan = asked_plan(flags, plan);
  inputs.given("plan", plan_name(plan));
  if (plan.devices() != gpus)
    throw CLI::ValidationError("--plan", fmt::format("{} is of {} GPUs, not of {}", plan_name(plan),
                                                     plan.devices(), gpus));
  const std::string why = why_not_plan(question.model, plan);
  check(why.empty(), "plan ", plan_name(plan), " is impossible: ", why);
}

/// What only some plans and models have.
void read_balance(const CodesignFlags& flags, CodesignQuestion& question, Inputs& inputs) {
  Deployment& plan = question.deployment;
  if (flags.balance > 0.0) plan.balance = flags.balance;
  if (plan.adp > 1 || flags.balance > 0.0)
    inputs.choose("balance", flags.balance > 0.0 ? fmt::format("{:g}", flags.balance) : "", "1",
                  "requests of the mean attention group beside the fullest's: even");
  const bool is_usual = flags.framework.empty() || flags.framework == "trtllm";
  const std::string shared =
      flags.shared_experts.empty() ? (is_usual ? "beside" : "after") : flags.shared_experts;
  if (shared != "beside" && shared != "after")
    throw CLI::ValidationError("--shared-experts", "beside or after");
  plan.shared_beside_routed = shared == "beside";
  for (const EqualLayers& group : question.model.groups) {
    const auto* moe = std::get_if<MixtureOfExperts>(&group.layer.feed_forward);
    if (moe == nullptr || moe->shared_experts == 0) continue;
    inputs.choose("shared experts", flags.shared_experts, shared,
                  is_usual ? "the routed ones in decode, the longer counts: so does TensorRT-LLM"
                           : "the routed ones, in turn");
    return;
  }
}

void read_devices(const CodesignFlags& flags, const Hardware& hardware, CodesignQuestion& question,
                  Inputs& inputs) {
  std::int64_t gpus = flags.gpus;
  question.asks_plans = gpus > 0;
  if (gpus > 0) {
    inputs.given("gpus", fmt::format("{}", gpus));
  } else if (!flags.plan.empty()) {
    gpus = asked_plan(flags, question.deployment).devices();
    inputs.by_default("gpus", fmt::format("{}", gpus), "the plan's");
  } else {
    const DeviceCount fewest = fewest_devices(question.model, question.deployment, hardware,
                                              std::ranges::max(question.contexts), question.memory);
    gpus = fewest.devices;
    inputs.by_default("gpus", fmt::format("{}", gpus), fewest.why);
  }
  read_plan(flags, gpus, question, inputs);
  read_balance(flags, question, inputs);
  if (gpus == 1) return;
  const std::string known = hardware.link_bytes_per_s
                                ? fmt::format("{:g}", hardware.link_bytes_per_s->value / 1e9)
                                : "unknown";
  inputs.choose("link", flags.link > 0.0 ? fmt::format("{:g}", flags.link) : "", known,
                "GB/s, one direction, the hardware's");
}

void read_requests(const CodesignFlags& flags, CodesignQuestion& question, Inputs& inputs) {
  const std::int64_t usual = question.deployment.adp;
  question.batch = flags.batch > 0 ? flags.batch : usual;
  inputs.choose("batch", flags.batch > 0 ? fmt::format("{}", flags.batch) : "",
                fmt::format("{}", usual), "requests of a decode step, one an attention group");
  question.plan_batch = flags.batch > 0 ? flags.batch : 1;
  if (flags.workload.tpot_ms > 0.0) question.longest_tpot_s = flags.workload.tpot_ms / 1e3;
  if (flags.prefix.empty()) return;
  question.prefix = size_option("--prefix", flags.prefix);
  if (question.prefix >= std::ranges::max(question.contexts))
    throw CLI::ValidationError("--prefix", "no context is longer than what is cached");
  inputs.given("prefix", flags.prefix);
}

void read_sweeps(const CodesignFlags& flags, CodesignQuestion& question, Inputs& inputs) {
  for (const std::string& text : flags.sweeps) {
    try {
      question.sweeps.push_back(parse_sweep(text));
    } catch (const Error& error) {
      throw CLI::ValidationError("--sweep", error.what());
    }
    inputs.given("sweep", text);
  }
  if (flags.sweep_context.empty()) return;
  if (flags.sweeps.empty()) throw CLI::ValidationError("--sweep-context", "needs a --sweep");
  question.sweep_context = size_option("--sweep-context", flags.sweep_context);
  if (question.sweep_context < 2)
    throw CLI::ValidationError("--sweep-context", "a context has at least 2 tokens");
  inputs.given("sweep_context", flags.sweep_context);
}

Hardware measured_hardware(const Machine& machine, CodesignInput& input) {
  const auto progress = [](std::string_view line) {
    if (interrupted())
      throw Error(ErrorCode::not_possible, "stopped before the hardware was measured");
    show_progress(line);
  };
  Hardware hardware = unless_interrupted([&] {
    return bench::local_hardware(machine,
                                 {.cpu_only = input.value == kLocalCpu, .progress = progress});
  });
  clear_progress();
  const auto tera = [](const std::optional<Figure>& figure) {
    return figure ? fmt::format("{:.3g} TFLOP/s", figure->value / 1e12) : "unknown";
  };
  input.why = fmt::format("measured now: {}, reads {:.3g} GB/s, products in BF16 {}, in F32 {}",
                          hardware.title, hardware.memory_bytes_per_s->value / 1e9,
                          tera(hardware.bf16_flops), tera(hardware.f32_flops));
  return hardware;
}

}  // namespace

std::vector<Calibration> own_calibrations(const std::vector<std::string>& files,
                                          const Hardware& hardware, CodesignInput& input) {
  std::vector<Calibration> own;
  for (const std::string& file : files) {
    own.push_back(Calibration::read(file));
    const std::string& system = own.back().origin().system;
    check(system == hardware.system, file, ": is of ", system, ", the hardware is ",
          hardware.system);
  }
  for (const std::filesystem::path& file : list_own_calibrations()) {
    Calibration calibration = Calibration::read(file);
    if (calibration.origin().system == hardware.system) own.push_back(std::move(calibration));
  }
  input = {.name = "calibration",
           .value = own.empty() ? "none" : "",
           .source = files.empty() ? "default" : "given",
           .why = "own measurements of " + hardware.system};
  for (const Calibration& calibration : own)
    input.value += concat(input.value.empty() ? "" : ", ", calibration.origin().file.string());
  return own;
}

Hardware asked_hardware(const std::string& name, CodesignInput& input) {
  input = {.name = "hardware", .value = name, .source = "given", .why = ""};
  const Machine& machine = this_machine();
  if (name == kLocal || name == kLocalCpu) return measured_hardware(machine, input);
  if (!name.empty()) return read_hardware(name);
  input.source = "default";
  if (!machine.gpus.empty()) {
    input.value = hardware_file_of(machine.gpus.front());
    input.why = concat("the GPU at hand, ", machine.gpus.front().name);
    if (!input.value.empty()) return read_hardware(input.value);
  }
  input.value = kUsualHardware;
  input.why =
      concat("ASSUMED, since ",
             machine.gpus.empty() ? std::string("no GPU is at hand")
                                  : concat("nothing is known of ", machine.gpus.front().name),
             "; --hardware names another");
  return read_hardware(kUsualHardware);
}

CodesignQuestion read_question(const CodesignFlags& flags, const DescribedModel& model,
                               const Hardware& hardware) {
  // A range lets NaN through.
  if (std::isnan(flags.link)) throw CLI::ValidationError("--link", "a number");
  if (std::isnan(flags.reserve)) throw CLI::ValidationError("--reserve", "a number");
  if (std::isnan(flags.balance)) throw CLI::ValidationError("--balance", "a number");
  Inputs inputs;
  CodesignQuestion question{.path = model.path,
                            .name = model.name,
                            .model = model.description,
                            .deployment = {},
                            .memory = {},
                            .contexts = contexts_of(flags, model.description, inputs),
                            .inputs = {}};
  const bool has_own_weights = flags.weights.empty() && flags.projections.empty();
  if (hardware.kind == Hardware::Kind::cpu && has_own_weights)
    question.deployment.stored = model.stored;
  read_types(flags, model.weights, question.deployment, inputs);
  read_memory(flags, question.memory, inputs);
  read_devices(flags, hardware, question, inputs);
  read_requests(flags, question, inputs);
  read_sweeps(flags, question, inputs);
  question.workload = asked_workload(flags.workload);
  question.inputs = inputs.take();
  return question;
}

}  // namespace headwise::cli

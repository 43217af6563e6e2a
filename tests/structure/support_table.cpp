// The table of what each backend can do, as README.md shows it: `support_table README.md
// [BACKEND...]` compares, all but those backends; `support_table` prints. Backends are asked on a
// machine that has every instruction set and GPU they know, so that the table does not depend on
// where it is made. Columns of backends that this build leaves out are not compared.

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "headwise/registry.h"

namespace {

using namespace headwise;

constexpr std::string_view kBegin = "<!-- support table -->\n";
constexpr std::string_view kEnd = "<!-- end of support table -->\n";

struct Feature {
  std::string name;
  void (*ask)(Problem&);  // makes the problem need it
};

const std::vector<Feature> kFeatures = {
    {"Q and KV in bf16", [](Problem&) {}},
    {"Q and KV in f16", [](Problem& p) { p.shape.q_type = p.shape.kv_type = DType::f16; }},
    {"Q and KV in f32", [](Problem& p) { p.shape.q_type = p.shape.kv_type = DType::f32; }},
    {"KV in FP8 (e4m3)", [](Problem& p) { p.shape.kv_type = DType::f8e4m3; }},
    {"KV in INT8", [](Problem& p) { p.shape.kv_type = DType::i8; }},
    {"FP8 products", [](Problem& p) { p.shape.q_type = p.shape.kv_type = DType::f8e4m3; }},
    {"Pages of 1 token", [](Problem& p) { p.page_size = 1; }},
    {"Packed K and V", [](Problem& p) { p.layout = KvLayout::packed; }},
    {"Group size 7", [](Problem& p) { p.shape.q_heads = 7 * p.shape.kv_heads; }},
    {"Head dimension 40", [](Problem& p) { p.shape.head_dim_qk = p.shape.head_dim_v = 40; }},
    {"Head dimension 256", [](Problem& p) { p.shape.head_dim_qk = p.shape.head_dim_v = 256; }},
    {"Head dimensions 192 and 128", [](Problem& p) { p.shape.head_dim_qk = 192; }},
    {"Absorbed MLA (576, V is its first 512)",
     [](Problem& p) {
       p.shape.kv_heads = 1;
       p.shape.head_dim_qk = 576;
       p.shape.head_dim_v = 512;
       p.shape.v_is_k_prefix = true;
     }},
    {"Sliding window", [](Problem& p) { p.shape.window_left = 1023; }},
    {"Not causal", [](Problem& p) { p.shape.window_right = -1; }},
    {"Softcap", [](Problem& p) { p.shape.softcap = 50; }},
    {"Sinks", [](Problem& p) { p.shape.sinks = true; }},
    {"Picked pages", [](Problem& p) { p.picked_pages = true; }},
    {"A table a KV head", [](Problem& p) { p.tables_per_kv_head = true; }},
    {"Partial results in f32", [](Problem& p) { p.partial_out = true; }},
    {"Batch invariance", [](Problem& p) { p.options.batch_invariant = true; }},
};

Machine machine_with_everything() {
  Machine machine;
  machine.cpu.name = "any";
  machine.cpu.threads = 64;
  machine.cpu.memory_bytes = std::int64_t{1} << 40;
  machine.cpu.last_cache_bytes = std::int64_t{64} << 20;
  machine.cpu.avx2 = machine.cpu.avx512 = machine.cpu.avx512_bf16 = machine.cpu.amx_bf16 = true;
  for (const int capability : {80, 90}) {
    GpuInfo gpu;
    gpu.compute_capability = capability;
    gpu.shared_memory_per_block = (capability == 80 ? 163 : 227) << 10;
    gpu.multiprocessors = 132;
    gpu.memory_bytes = std::int64_t{80} << 30;
    machine.gpus.push_back(gpu);
  }
  return machine;
}

Problem basic_problem() {
  Problem problem;
  problem.shape = {.q_heads = 32, .kv_heads = 8, .head_dim_qk = 128, .head_dim_v = 128};
  problem.extent = {.requests = 1, .tokens = 64, .q_len = 64, .kv_len = 4096};
  return problem;
}

bool can(const Backend& backend, Problem problem, const Machine& machine, Phase phase) {
  problem.phase = phase;
  if (phase == Phase::decode)
    problem.extent = {.requests = 1, .tokens = 1, .q_len = 1, .kv_len = 4096};
  return static_cast<bool>(backend.explain(problem, machine));
}

/// "yes": in every phase, on the device that suits the backend best; "decode": in that one alone.
std::string answer(const Backend& backend, const Feature& feature, const Machine& machine) {
  Problem problem = basic_problem();
  feature.ask(problem);
  const int devices =
      backend.device_type() == DeviceType::cpu ? 1 : static_cast<int>(machine.gpus.size());
  bool decodes = false;
  for (int index = 0; index < devices; ++index) {
    problem.device = {backend.device_type(), index};
    const auto in = [&](Phase phase) { return can(backend, problem, machine, phase); };
    if (in(Phase::prefill) && in(Phase::append) && in(Phase::decode) && in(Phase::mixed))
      return "yes";
    decodes = decodes || in(Phase::decode);
  }
  return decodes ? "decode" : "no";
}

/// Whether the build lacks a backend, or `left_out` names it.
bool is_absent(const Backend& backend, const std::vector<std::string>& left_out) {
  return std::ranges::count(left_out, backend.name()) > 0 ||
         backend.explain(basic_problem(), machine_with_everything())
             .why_not.starts_with("this build has no ");
}

std::string support_table(const std::vector<std::string>& left_out) {
  const Machine machine = machine_with_everything();
  std::vector<const Backend*> backends;
  for (const Backend* backend : Registry::builtin().backends())
    if (!is_absent(*backend, left_out)) backends.push_back(backend);
  std::string head = "| |", rule = "|---|";
  for (const Backend* backend : backends) {
    head += " `" + std::string(backend->name()) + "` |";
    rule += ":-:|";
  }
  std::string table = head + "\n" + rule + "\n";
  for (const Feature& feature : kFeatures) {
    table += "| " + feature.name + " |";
    for (const Backend* backend : backends) {
      table += ' ';
      table += answer(*backend, feature, machine);
      table += " |";
    }
    table += "\n";
  }
  return table;
}

/// What stands between the markers; empty where they are missing.
std::string table_in(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return text.substr(begin + kBegin.size(), end - begin - kBegin.size());
}

/// A table without the columns of absent backends.
std::string without_absent(const std::string& table, const std::vector<std::string>& left_out) {
  std::vector<bool> kept;
  std::string result;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::size_t column = 0;
    for (std::string cell; std::getline(cells, cell, '|'); ++column) {
      if (result.find('\n') == std::string::npos) {  // the line of names
        const auto backends = Registry::builtin().backends();
        kept.push_back(std::ranges::none_of(backends, [&](const Backend* backend) {
          return is_absent(*backend, left_out) &&
                 cell == " `" + std::string(backend->name()) + "` ";
        }));
      }
      if (column > 0 && column < kept.size() && kept[column]) result += "|" + cell;
    }
    result += "|\n";
  }
  return result;
}

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> left_out(arguments + std::min(count, 2), arguments + count);
  const std::string expected = support_table(left_out);
  if (count < 2) {
    std::cout << expected;
    return 0;
  }
  if (without_absent(table_in(arguments[1]), left_out) == expected) return 0;
  std::cout << arguments[1] << ": the support table should be\n" << kBegin << expected << kEnd;
  return 1;
}

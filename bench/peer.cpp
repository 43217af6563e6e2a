#include "bench/peer.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "bench/free_memory.h"
#include "core/check.h"

namespace headwise::bench {
namespace {

using Json = nlohmann::json;

constexpr const char* kSetUp = "bench/peers/setup.sh makes it";
constexpr double kLoosestBound = 0.1;  // beyond it a wrong peer would go unseen

std::string text_of(const Json& answer, const char* key) {
  return answer.contains(key) && answer[key].is_string() ? answer[key].get<std::string>() : "";
}

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorCode::not_possible, why); }

}  // namespace

std::filesystem::path peers_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const std::filesystem::path base =
      cache != nullptr && *cache != '\0'
          ? std::filesystem::path(cache)
          : std::filesystem::path(home != nullptr ? home : "") / ".cache";
  return base / "headwise" / "peers";
}

std::vector<PeerCommand> find_peers(const std::filesystem::path& folder) {
  const std::filesystem::path manifest = folder / "peers.json";
  std::ifstream file(manifest);
  if (!file) fail(concat("no peers are set up: there is no ", manifest.string(), "; ", kSetUp));
  std::vector<PeerCommand> peers;
  try {
    const Json document = Json::parse(file);
    for (const Json& peer : document.at("peers"))
      peers.push_back({peer.at("name"), peer.at("command")});
  } catch (const Json::exception&) {
    fail(concat(manifest.string(), " is no list of peers; ", kSetUp));
  }
  for (const PeerCommand& peer : peers)
    if (peer.command.empty()) fail(concat(manifest.string(), " is no list of peers; ", kSetUp));
  if (peers.empty()) fail(concat(manifest.string(), " names no peer; ", kSetUp));
  return peers;
}

Peer::Peer(PeerCommand command, PeerOptions options)
    : command_(std::move(command)), options_(std::move(options)) {}

Peer::~Peer() {
  if (process_ && !options_.stop()) process_->quit();
}

Json Peer::ask(const Json& request, double extra_s) {
  if (!process_) process_ = std::make_unique<PeerProcess>(command_.command, options_.threads);
  Json answer;
  try {
    answer = process_->ask(request, options_.timeout_s + extra_s, options_.stop);
  } catch (const Error&) {
    hung_ = process_->timed_out();
    process_ = nullptr;
    throw;
  }
  if (answer.contains("refused")) fail(text_of(answer, "refused"));
  if (answer.contains("error")) fail(concat("failed: ", text_of(answer, "error")));
  return answer;
}

PeerSetting Peer::prepare(const SharedTensors& tensors, const PeerRun& run) {
  if (hung_) fail("it gave no answer before");
  Json request = tensors.request();
  request["do"] = "prepare";
  request["threads"] = options_.threads;
  request["device"] = to_string(options_.device);
  request["copies"] = run.copies;
  request["protocol"] = name_of(run.protocol);
  request["memory_bytes"] = free_memory();
  const Json answer = ask(request);
  PeerSetting setting{
      text_of(answer, "version"), text_of(answer, "setting"), text_of(answer, "note"), {}, {}};
  if (answer.contains("page") && answer["page"].is_number_integer())
    setting.page = answer["page"].get<std::int64_t>();
  if (answer.contains("bound") && answer["bound"].is_number()) {
    setting.bound = answer["bound"].get<double>();
    if (!(*setting.bound <= kLoosestBound))
      fail(concat("it asks for a bound of ", *setting.bound, ", which finds nothing"));
  }
  return setting;
}

void Peer::check() { ask({{"do", "check"}}); }

Samples Peer::measure(const Turn& turn) {
  const Json answer = ask({{"do", "measure"},
                           {"untimed", turn.untimed},
                           {"warm_up_s", turn.warm_up_s},
                           {"seconds", turn.seconds}},
                          turn.warm_up_s + turn.seconds);
  Samples samples;
  if (answer.contains("seconds") && answer["seconds"].is_array())
    for (const Json& seconds : answer["seconds"])
      if (seconds.is_number() && seconds.get<double>() > 0.0) samples.push_back(seconds);
  if (samples.empty() || samples.size() != answer["seconds"].size()) fail("it answered no times");
  return samples;
}

void Peer::drop() noexcept {
  if (!process_) return;
  try {
    ask({{"do", "drop"}});
  } catch (const std::exception&) {
    process_ = nullptr;
  }
}

}  // namespace headwise::bench

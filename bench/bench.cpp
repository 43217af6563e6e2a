#include "bench/bench.h"

#include <algorithm>

#include "bench/cache_bench.h"
#include "bench/contest.h"
#include "bench/entry.h"
#include "bench/gpu_timing.h"
#include "bench/job.h"
#include "bench/line_up.h"
#include "core/check.h"

namespace headwise::bench {
namespace {

constexpr int kPairs = 9;           // rounds that a ratio within a job is a median of
constexpr double kPeerRest = 0.02;  // seconds

std::vector<Peer> make_peers(const BenchOptions& options, int threads) {
  std::vector<Peer> peers;
  for (const PeerCommand& command : options.peers)
    peers.emplace_back(command, PeerOptions{.threads = threads,
                                            .timeout_s = options.peer_timeout_s,
                                            .device = options.device,
                                            .stop = options.stop});
  return peers;
}

/// A run of a backend: its parts, one after another.
std::function<void()> run_of(const Entry& entry) {
  return [&parts = entry.parts] {
    for (const std::unique_ptr<Candidate>& part : parts) part->run_next();
  };
}

/// On a GPU the clock is noted behind each turn.
TurnCall gpu_turns(Entry& entry, const BenchContext& context) {
  Gpu& gpu = *context.gpu;
  if (entry.peer != nullptr)
    return [&entry, &gpu](const Turn& turn) {
      Samples samples = entry.peer->measure(turn);
      entry.mhz.push_back(gpu.clock_mhz());
      return samples;
    };
  const auto turns = std::make_shared<GpuTurns>(gpu, context.protocol,
                                                entry.parts.front()->copies(), run_of(entry));
  return [&entry, turns](const Turn& turn) {
    Samples samples = turns->take(turn);
    entry.mhz.push_back(turns->mhz());
    return samples;
  };
}

TurnCall turns_of(Entry& entry, const BenchContext& context) {
  if (context.gpu != nullptr) return gpu_turns(entry, context);
  if (entry.peer == nullptr) return in_turns(run_of(entry), context.options.stop);
  return [&entry](const Turn& turn) { return entry.peer->measure(turn); };
}

/// The same, of what may fail: it then keeps no times.
TurnCall call_of(Entry& entry, BenchContext& context) {
  return [&entry, &context, turns = turns_of(entry, context)](const Turn& turn) -> Samples {
    try {
      return turns(turn);
    } catch (const Error& error) {
      if (context.options.stop()) return {};
      add_note(entry.row, error.what());
      entry.failed = true;
      context.wrong = context.wrong || entry.peer == nullptr;
      if (context.gpu != nullptr) context.gpu->forget_failure();
      return {};
    }
  };
}

/// Times all that were right, in alternating rounds.
void time(std::vector<Entry*> entries, TimingOptions timing, BenchContext& context) {
  std::erase_if(entries,
                [](const Entry* entry) { return entry->parts.empty() && entry->peer == nullptr; });
  std::vector<TurnCall> calls;
  for (Entry* entry : entries) {
    calls.push_back(call_of(*entry, context));
    // A GPU's rounds have a warm-up instead, and no threads that spin.
    if (entry->peer != nullptr && context.gpu == nullptr) timing.rest_s = kPeerRest;
  }
  std::vector<Timing> timings = time_calls(calls, timing, context.options.stop);
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (!entries[i]->failed) entries[i]->timing = std::move(timings[i]);
}

/// Single launches of small calls would be timed with what timing them takes.
Protocol protocol_for(const Job& job, const BenchContext& context) {
  if (context.options.protocol) return *context.options.protocol;
  if (context.gpu == nullptr) return Protocol::sustained;
  const AttentionShape& shape = job.shape.shape;
  const TimeBound bound =
      time_bound(work_of(shape, job.workload), context.limits.products(shape.q_type).measured,
                 context.limits.read_bytes_per_s);
  return bound.seconds() < kSmallCall ? Protocol::graph : Protocol::sustained;
}

TimingOptions timing_for(Pairing pairing, const BenchContext& context) {
  TimingOptions timing = context.options.timing;
  timing.protocol = context.protocol;
  if (pairing != Pairing::none) timing.least_rounds = kPairs;
  if (context.gpu != nullptr && context.protocol == Protocol::burst)
    timing.least_calls = std::max(timing.least_calls, kGpuBursts);
  return timing;
}

std::vector<Entry*> pointers_to(std::vector<Entry>& ours, std::vector<Entry>& theirs) {
  std::vector<Entry*> all;
  for (Entry& entry : ours) all.push_back(&entry);
  for (Entry& entry : theirs) all.push_back(&entry);
  return all;
}

/// Everything of one job. What the entries return with holds no tensors any more.
Entries run_job(const Job& job, std::vector<Peer>& peers, BenchContext& context) {
  const BenchOptions& options = context.options;
  context.protocol = protocol_for(job, context);
  Contest contest(job, context);
  LineUp ours = line_up(job, contest, context);
  std::vector<Entry> theirs;
  if (!job.topic) theirs = contest.enter(peers);
  if (!options.stop()) {
    options.progress(concat(to_string(job.workload), ": timing"));
    time(pointers_to(ours.entries, theirs), timing_for(ours.pairing, context), context);
    compare(ours);
  }
  for (Peer& peer : peers) peer.drop();
  // Of contiguous keys and pages, it is the last one's pages that a goal is about.
  const std::size_t judged = ours.pairing == Pairing::contiguous ? ours.entries.size() - 1 : 0;
  Entries result{.list = std::move(ours.entries), .goal = job.goal, .judged = judged};
  std::move(theirs.begin(), theirs.end(), std::back_inserter(result.list));
  for (Entry& entry : result.list) entry.parts.clear();
  return result;
}

DeviceInfo device_info(const BenchContext& context) {
  const CpuInfo& cpu = context.machine.cpu;
  DeviceInfo info{.name = cpu.name,
                  .instruction_sets = instruction_sets(cpu),
                  .threads = context.threads,
                  .memory_bytes = cpu.memory_bytes,
                  .gpu = {},
                  .driver = {}};
  if (context.gpu == nullptr) return info;
  info.ordinal = context.options.device.index;
  info.gpu = context.machine.gpus[static_cast<std::size_t>(info.ordinal)];
  info.driver = context.gpu->driver();
  return info;
}

void probe_device(BenchContext& context, BenchReport& report) {
  const BenchOptions& options = context.options;
  report.device = device_info(context);
  if (context.gpu != nullptr)
    report.gpu_limits =
        measure_gpu_limits(*context.gpu, *report.device.gpu, options.gpu_probes, options.progress);
  else
    report.limits =
        measure_limits(context.machine, context.threads, options.probes, options.progress);
  context.limits = report.probed();
}

void check_device(const BenchOptions& options, const Machine& machine) {
  if (options.device.type == DeviceType::cpu) {
    if (options.protocol == Protocol::graph)
      throw Error(ErrorCode::not_possible,
                  "protocol graph replays CUDA graphs; on the CPU there are sustained and burst");
    return;
  }
  const auto gpus = static_cast<int>(machine.gpus.size());
  if (options.device.index >= 0 && options.device.index < gpus) return;
  const std::string there = machine.no_gpu.empty() ? concat(gpus, " here") : machine.no_gpu;
  throw Error(ErrorCode::not_possible,
              concat("there is no GPU ", to_string(options.device), " (", there, ")"));
}

}  // namespace

BenchReport run_bench(const BenchOptions& options, const Registry& registry,
                      const Machine& machine) {
  check_device(options, machine);
  BenchContext context{.options = options,
                       .registry = registry,
                       .machine = machine,
                       .reference = registry.find("reference"),
                       .threads = options.threads > 0 ? options.threads : machine.cpu.threads,
                       .limits = {}};
  const std::vector<Job> jobs = make_jobs(options, registry, machine, context.threads);
  std::unique_ptr<Gpu> opened;
  if (options.device.type == DeviceType::cuda && options.gpu == nullptr)
    opened = open_gpu(options.device.index);
  context.gpu = opened ? opened.get() : options.gpu;
  std::vector<Peer> peers = make_peers(options, context.threads);
  BenchReport report;
  probe_device(context, report);
  std::vector<Entries> done;
  for (std::size_t i = 0; i < jobs.size() && !options.stop(); ++i) {
    options.progress(concat(i + 1, "/", jobs.size(), " ", to_string(jobs[i].workload)));
    done.push_back(run_job(jobs[i], peers, context));
  }
  if (wants_cache(options) && !options.stop())
    report.cache = bench_cache({.only = options.only,
                                .measure_s = options.timing.measure_s / 2,
                                .progress = options.progress,
                                .stop = options.stop});
  fill_rows(done, report);
  report.claims = judge_claims(report.rows, report.probed());
  report.wrong = context.wrong;
  report.interrupted = options.stop();
  return report;
}

}  // namespace headwise::bench

#include "bench/bench.h"

#include <algorithm>

#include "bench/contest.h"
#include "bench/entry.h"
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
    peers.emplace_back(
        command,
        PeerOptions{.threads = threads, .timeout_s = options.peer_timeout_s, .stop = options.stop});
  return peers;
}

/// Turns of what an entry holds. A peer that fails keeps no times.
TurnCall call_of(Entry& entry, const std::function<bool()>& stop) {
  if (entry.peer == nullptr)
    return in_turns(
        [&parts = entry.parts] {
          for (const std::unique_ptr<Candidate>& part : parts) part->run_next();
        },
        stop);
  return [&entry, &stop](const Turn& turn) -> Samples {
    try {
      return entry.peer->measure(turn);
    } catch (const Error& error) {
      if (stop()) return {};
      add_note(entry.row, error.what());
      entry.peer = nullptr;
      return {};
    }
  };
}

/// Times all that were right, in alternating rounds.
void time(std::vector<Entry*> entries, TimingOptions timing, const std::function<bool()>& stop) {
  std::erase_if(entries,
                [](const Entry* entry) { return entry->parts.empty() && entry->peer == nullptr; });
  std::vector<TurnCall> calls;
  for (Entry* entry : entries) {
    calls.push_back(call_of(*entry, stop));
    if (entry->peer != nullptr) timing.rest_s = kPeerRest;
  }
  std::vector<Timing> timings = time_calls(calls, timing, stop);
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (!entries[i]->row.peer || entries[i]->peer != nullptr)
      entries[i]->timing = std::move(timings[i]);
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
  Contest contest(job, context);
  LineUp ours = line_up(job, contest, context);
  std::vector<Entry> theirs = contest.enter(peers);
  if (!options.stop()) {
    options.progress(concat(to_string(job.workload), ": timing"));
    TimingOptions timing = options.timing;
    if (ours.pairing != Pairing::none) timing.least_rounds = kPairs;
    time(pointers_to(ours.entries, theirs), timing, options.stop);
    compare(ours);
  }
  for (Peer& peer : peers) peer.drop();
  Entries result{.list = std::move(ours.entries), .goal = job.goal};
  std::move(theirs.begin(), theirs.end(), std::back_inserter(result.list));
  for (Entry& entry : result.list) entry.parts.clear();
  return result;
}

}  // namespace

BenchReport run_bench(const BenchOptions& options, const Registry& registry,
                      const Machine& machine) {
  if (options.timing.protocol == Protocol::graph) time_calls({}, options.timing, options.stop);
  BenchContext context{.options = options,
                       .registry = registry,
                       .machine = machine,
                       .reference = registry.find("reference"),
                       .threads = options.threads > 0 ? options.threads : machine.cpu.threads};
  const std::vector<Job> jobs = make_jobs(options, registry, machine, context.threads);
  std::vector<Peer> peers = make_peers(options, context.threads);
  BenchReport report;
  report.device = {.name = machine.cpu.name,
                   .instruction_sets = instruction_sets(machine.cpu),
                   .threads = context.threads,
                   .memory_bytes = machine.cpu.memory_bytes};
  report.limits = measure_limits(machine, context.threads, options.probes, options.progress);
  std::vector<Entries> done;
  for (std::size_t i = 0; i < jobs.size() && !options.stop(); ++i) {
    options.progress(concat(i + 1, "/", jobs.size(), " ", to_string(jobs[i].workload)));
    done.push_back(run_job(jobs[i], peers, context));
  }
  fill_rows(done, report);
  report.wrong = context.wrong;
  report.interrupted = options.stop();
  return report;
}

}  // namespace headwise::bench

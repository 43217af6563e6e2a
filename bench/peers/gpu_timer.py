"""Times what a peer launches on a GPU as bench times its own: see bench/gpu_timing.cpp."""

import math
import statistics

import torch

GRAPH = 3e-3  # seconds of calls in a graph, about
MOST_ROUNDS = 64  # of the copies, in a graph
MOST_RUNS = 20_000  # in a turn
SHORTEST = 1e-6  # seconds of a run, against division by zero
SURE_AT_ONCE = 1e-2  # seconds of a run whose time one run tells well enough


def seconds_of(run, runs):
    """Of each of so many runs."""
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(runs):
        run()
    end.record()
    end.synchronize()
    return max(SHORTEST, start.elapsed_time(end) * 1e-3 / runs)


def captured(run):
    """A graph of what `run` launches; it has run before, since libraries set themselves up then."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph


def try_out(run, step):
    """Seconds of a run, about: of a few over the copies, by the step's protocol."""
    run(0)
    once = seconds_of(lambda: run(0), 1)
    if once > SURE_AT_ONCE:
        return once
    runs = max(8, min(64, step.copies))

    def some():
        for i in range(runs):
            run(i % step.copies)

    some_again = captured(some).replay if step.protocol == "graph" else some
    some_again()
    return min(seconds_of(some_again, 1) for _ in range(3)) / runs


def fastest(settings, make_run, step):
    """The setting whose runs are shortest, and its run. What the library cannot is left out, unless that is all."""
    best, complaint = None, None
    for setting in settings:
        try:
            run = make_run(setting)
            took = try_out(run, step)
        except Exception as error:  # whatever a library throws
            complaint = complaint or error
            torch.cuda.synchronize()
            continue
        if best is None or took < best[0]:
            best = took, setting, run
    if best is None:
        raise complaint
    return best[1:]


def runs_in(seconds, each):
    """None where that is less than a tenth of one."""
    return min(MOST_RUNS, math.floor(seconds / each + 0.9))


class Timer:
    def __init__(self, attention, step):
        self.attention, self.copies, self.protocol = attention, step.copies, step.protocol
        self.copy, self.expected, self.graph, self.calls_a_run = 0, None, None, 1

    def call(self):
        self.attention.run(self.copy)
        self.copy = (self.copy + 1) % self.copies

    @staticmethod
    def forget():
        """What torch keeps for later, others need now."""
        torch.cuda.empty_cache()

    def run(self):
        if self.graph:
            self.graph.replay()
        else:
            self.call()

    def prepare(self):
        self.call()
        self.expected = seconds_of(self.run, 1)
        if self.expected < SURE_AT_ONCE:
            self.expected = seconds_of(self.run, 2)
        if self.protocol != "graph":
            return
        rounds = math.ceil(GRAPH / (self.expected * self.copies))
        self.calls_a_run = self.copies * max(1, min(MOST_ROUNDS, rounds))
        self.graph = captured(self.call_in_turns)
        self.run()
        self.expected = seconds_of(self.run, 1)

    def call_in_turns(self):
        for _ in range(self.calls_a_run):
            self.call()

    def measure(self, request):
        if self.expected is None:
            self.prepare()
        untimed = request["untimed"] + runs_in(request["warm_up_s"], self.expected)
        timed = max(1, runs_in(request["seconds"], self.expected))
        events = [torch.cuda.Event(enable_timing=True) for _ in range(timed + 1)]
        for _ in range(untimed):
            self.run()
        events[0].record()
        for event in events[1:]:
            self.run()
            event.record()
        torch.cuda.synchronize()
        runs = [max(SHORTEST, a.elapsed_time(b) * 1e-3) for a, b in zip(events, events[1:])]
        self.expected = statistics.median(runs)
        return [run / self.calls_a_run for run in runs]

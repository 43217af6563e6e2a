"""Runs beside predictions by the calibrations around them, and which of them count."""

import statistics
from dataclasses import dataclass

MOST_TAKEN = 0.05  # by others, of the processors' time
MOST_CHANGE = 0.10  # of a prediction, from the calibration before a run to the one behind it


@dataclass(frozen=True)
class Trial:
    """A run between two calibrations. Times are in milliseconds: to the first token, and of a token."""

    tokens: int
    measured: tuple  # of both times
    predicted: tuple  # by the calibration before it and by the one behind it, each of both times
    taken: tuple  # the parts of the processors' time that others took: before, during, behind

    def disturbance(self):
        """How far the worst of it goes, as a share of what is allowed; what was measured has no part in it."""
        changes = [max(pair) / min(pair) - 1 for pair in zip(*self.predicted)]
        return max(max(self.taken) / MOST_TAKEN, max(changes) / MOST_CHANGE)


def that_count(trials, repeats):
    """The least disturbed ones."""
    return sorted(trials, key=Trial.disturbance)[:repeats]


def medians(trials):
    """(measured, predicted) of each time; the prediction of a trial is the mean of its two."""
    return [
        (
            statistics.median(trial.measured[index] for trial in trials),
            statistics.median(statistics.mean(each[index] for each in trial.predicted) for trial in trials),
        )
        for index in range(2)
    ]

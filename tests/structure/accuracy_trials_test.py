#!/usr/bin/env python3
"""Gives advisor_accuracy's parts machines with and without other work, and expects that they tell."""

import os
import unittest

import host_noise
from accuracy_trials import Trial, medians, that_count

TICK = os.sysconf("SC_CLK_TCK")


def reading(user, nice, system, idle, steal, own):
    counts = " ".join(str(int(each * TICK)) for each in (user, nice, system, idle, 0, 0, 0, steal, 0, 0))
    return host_noise.reading(f"cpu  {counts}\ncpu0 1 2 3\n", own)


def trial(measured=100.0, before=100.0, behind=100.0, taken=(0.0, 0.0, 0.0)):
    return Trial(10, (measured, 1.0), ((before, 1.0), (behind, 1.0)), taken)


class HostNoise(unittest.TestCase):
    def test_own_work_is_no_noise(self):
        self.assertEqual(host_noise.taken_by_others(reading(5, 1, 1, 100, 0, 2), reading(9, 1, 2, 105, 0, 7)), 0.0)

    def test_others_and_the_host_are(self):
        before, after = reading(0, 0, 0, 0, 0, 0), reading(6, 1, 1, 1, 1, 6)
        self.assertAlmostEqual(host_noise.taken_by_others(before, after), (2 + 1) / 10)

    def test_ticks_that_are_not_counted_yet_are_none(self):
        self.assertEqual(host_noise.taken_by_others(reading(0, 0, 0, 0, 0, 0), reading(1, 0, 0, 1, 0, 1.02)), 0.0)
        self.assertEqual(host_noise.taken_by_others(reading(1, 0, 0, 1, 0, 1), reading(1, 0, 0, 1, 0, 1)), 0.0)

    def test_reads_this_machine(self):
        before = host_noise.reading()
        while host_noise.reading().own - before.own < 0.2:
            pass
        self.assertLess(host_noise.taken_by_others(before, host_noise.reading()), 1.0)


class Trials(unittest.TestCase):
    def test_the_worst_of_a_trial_decides(self):
        self.assertEqual(trial().disturbance(), 0.0)
        self.assertAlmostEqual(trial(taken=(0.0, 0.1, 0.02)).disturbance(), 2.0)
        self.assertAlmostEqual(trial(before=130.0, taken=(0.0, 0.1, 0.02)).disturbance(), 3.0)
        self.assertAlmostEqual(trial(behind=80.0).disturbance(), 2.5)

    def test_what_was_measured_does_not(self):
        self.assertEqual(trial(measured=1e6).disturbance(), trial().disturbance())

    def test_the_least_disturbed_count(self):
        trials = [trial(behind=100.0 + 5 * each) for each in (3, 1, 2, 0)]
        self.assertEqual(that_count(trials, 2), [trials[3], trials[1]])
        self.assertEqual(that_count(trials[:1], 2), trials[:1])

    def test_medians_are_of_means(self):
        trials = [trial(1.0, 10.0, 20.0), trial(3.0, 100.0, 100.0), trial(2.0, 30.0, 10.0)]
        self.assertEqual(medians(trials), [(2.0, 20.0), (1.0, 1.0)])


if __name__ == "__main__":
    unittest.main()

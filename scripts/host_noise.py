"""How much of a machine's processors went to others while a child process ran, by /proc/stat."""

import os
import pathlib
import resource
from dataclasses import dataclass

BUSY = ("user", "nice", "system", "irq", "softirq")  # guests are counted as user
NAMES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")


@dataclass(frozen=True)
class Reading:
    """Seconds of all processors together, since some time ago."""

    busy: float
    stolen: float  # by the host of a virtual machine
    idle: float
    own: float  # busy with this process and the children that it has waited for


def reading(text=None, own=None):
    """Of now, or of what /proc/stat said."""
    text = text or pathlib.Path("/proc/stat").read_text()
    tick = os.sysconf("SC_CLK_TCK")
    seconds = dict(zip(NAMES, (int(each) / tick for each in text.split("\n")[0].split()[1:])))
    if own is None:
        usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        own = sum(usage.ru_utime + usage.ru_stime for usage in usages)
    return Reading(sum(seconds[each] for each in BUSY), seconds["steal"], seconds["idle"] + seconds["iowait"], own)


def taken_by_others(before, after):
    """The part of all processors' time between two readings that other processes and the host took, 0 to 1."""
    others = max((after.busy - before.busy) - (after.own - before.own), 0.0)
    stolen = after.stolen - before.stolen
    total = (after.busy - before.busy) + stolen + (after.idle - before.idle)
    return (others + stolen) / total if total > 0 else 0.0

"""Compiler launcher of kernel files: runs `[ccache] nvcc ...`, then reads ptxas's report.

Fails where a kernel spills more than 64 bytes, or where ptxas says that it gave up pipelining of
wgmma (C7508, C7510-C7514); ptxas_exceptions.txt beside this file lists those that may. The report
goes to OBJECT.ptxas instead of the terminal. `ptxas_check.py --report FILE` checks a saved report.
"""

import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

SPILL_LIMIT = 64
CODES = {"C7508", "C7510", "C7511", "C7512", "C7513", "C7514"}
EXCEPTIONS = Path(__file__).with_name("ptxas_exceptions.txt")
ROW_SECONDS, ROW_GIGABYTES = 60, 4


def exceptions(path=EXCEPTIONS):
    """[(pattern, limit)]: the limit is a number of bytes or a code."""
    rules = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != 3 or not re.fullmatch(r"\d+|C\d{4}", fields[1]) or not fields[2]:
            raise SystemExit(f"{path}:{number}: not PATTERN, LIMIT, REASON separated by tabs")
        rules.append((re.compile(fields[0]), fields[1]))
    return rules


def demangle(name):
    if not shutil.which("c++filt"):
        return name
    return subprocess.run(["c++filt", name], capture_output=True, text=True, check=True).stdout.strip()


def allowed(kernel, rules):
    """The spilled bytes and the codes that the kernel may have."""
    limits = [limit for pattern, limit in rules if pattern.search(kernel)]
    sizes = [int(limit) for limit in limits if limit.isdigit()]
    return max([SPILL_LIMIT, *sizes]), {limit for limit in limits if not limit.isdigit()}


def faults(report, rules):
    """What is wrong with a report, one line each."""
    found = []
    kernel, architecture = "", ""
    for line in report.splitlines():
        if match := re.search(r"Compiling entry function '(\S+)' for '(\w+)'", line):
            kernel, architecture = demangle(match[1]), match[2]
        elif match := re.search(r"Function properties for (\S+)", line):
            kernel = demangle(match[1])
        if match := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            limit, _ = allowed(kernel, rules)
            if max(int(match[1]), int(match[2])) > limit:
                found.append(f"{kernel} ({architecture}) spills: {match[0]}; the limit is {limit}")
        for code in re.findall(r"\bC\d{4}\b", line):
            # The message names its function itself, before or after the function's own lines.
            named = re.search(r"function '?([\w$]+)'?", line)
            who = demangle(named[1]) if named else kernel
            if code in CODES and code not in allowed(who, rules)[1]:
                found.append(f"{who} ({architecture}): {line.strip()}")
    return found


def is_report(line):
    """Whether ptxas wrote the line only because of -v, or as remarks that faults() judges."""
    return bool(re.match(r"ptxas (info|\S+, line \d+; info)|\s+\d+ bytes stack frame|\s*$", line))


def output_of(command):
    return Path(command[command.index("-o") + 1]) if "-o" in command else None


def compile_and_check(command):
    done = subprocess.run(command, capture_output=True, text=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime  # of processors: others may be busy beside it
    gigabytes = used.ru_maxrss / 1e6
    sys.stdout.write(done.stdout)
    lines = done.stderr.splitlines(keepends=True)
    if done.returncode != 0:
        sys.stderr.writelines(lines)
        return done.returncode
    sys.stderr.writelines(line for line in lines if not is_report(line))

    output = output_of(command)
    if output is None or output.suffix != ".o":
        return 0
    Path(f"{output}.ptxas").write_text(f"{seconds:.1f} s, {gigabytes:.2f} GB\n" + done.stderr)
    if seconds > ROW_SECONDS or gigabytes > ROW_GIGABYTES:
        print(f"note: {output.name} took {seconds:.0f} s and {gigabytes:.1f} GB; a kernel row should "
              f"take under {ROW_SECONDS} s and {ROW_GIGABYTES} GB", file=sys.stderr)
    found = faults(done.stderr, exceptions())
    for fault in found:
        print(f"error: ptxas: {fault}", file=sys.stderr)
    if found:
        output.unlink(missing_ok=True)  # so that the next build tries again
    return 1 if found else 0


def main(arguments):
    if arguments[0] == "--report":
        found = faults(Path(arguments[1]).read_text(), exceptions())
        print("\n".join(found))
        return 1 if found else 0
    return compile_and_check(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

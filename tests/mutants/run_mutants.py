#!/usr/bin/env python3
"""Plants one fault at a time in a copy of the sources and checks that the tests notice.

    run_mutants.py [--source DIR] [--work DIR] [--cases N] [NAME ...]

Prints killed or SURVIVED for each mutant (all, or those whose name contains a NAME); exit 1 on a survivor,
2 where a fault cannot be planted or the tests fail without one.
"""
import argparse, os, pathlib, shutil, subprocess, sys, tempfile, time
from cache_mutants import CACHE
from mutants import ALL

ATTENTION_TARGETS = ["headwise_cases", "behaviour_test", "conformance_test", "append_test"]
CACHE_TARGETS = ["kv_test", "kv_cache_test", "kv_failure_test", "kv_property_test", "kv_attention_test"]


def fail(text):
    print(text, file=sys.stderr)
    sys.exit(2)


def run(command, env=None, seconds=900):
    """Exit status and output; a hang counts as a failure."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              env={**os.environ, **(env or {})}, timeout=seconds)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return 124, f"{command[0]} took more than {seconds} s"


class Tree:
    """A copy of the sources, built apart."""

    def __init__(self, source, work, cases):
        self.root, self.build, self.cases = work / "source", work / "build", cases
        if not self.root.exists():
            skip = shutil.ignore_patterns(".git", "build", ".venv", ".cache")
            shutil.copytree(source, self.root, ignore=skip)
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        status, text = run(["cmake", "-S", self.root, "-B", self.build, "-G", "Ninja", "-DHEADWISE_PROGRAM=OFF",
                            "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG", *launcher])
        if status:
            fail(text)

    def compile(self, targets):
        status, text = run(["ninja", "-C", self.build, "-j2", *targets])
        if status:
            fail(text[-4000:])

    def killer(self, targets):
        """The first test that fails, or nothing."""
        tests = self.build / "tests" / "conformance"
        commands = [[tests / "headwise-cases", self.root / "tests" / "golden"],
                    *([tests / name] for name in ATTENTION_TARGETS[1:])]
        if targets is CACHE_TARGETS:
            commands = [[self.build / "tests" / "kv" / name] for name in targets]
        env = {"OMP_WAIT_POLICY": "passive", "HEADWISE_CASES": str(self.cases)}
        for command in commands:
            status, text = run(command, env)
            if status:
                return command[0].name, text
        return None

    def plant(self, edits):
        """Returns the files as they were."""
        before = {}
        for name, old, new, count in edits:
            path = self.root / name
            text = path.read_text()
            before.setdefault(path, text)
            if text.count(old) != count:
                fail(f"{name}: {text.count(old)} times, not {count}: {old}")
            path.write_text(text.replace(old, new))
        return before


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--work", type=pathlib.Path, help="kept, to go on faster next time")
    parser.add_argument("--cases", type=int, default=1200)
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def main():
    options = parse()
    work = options.work or pathlib.Path(tempfile.mkdtemp(prefix="mutants-"))
    tree = Tree(options.source, work, options.cases)
    every = ALL | CACHE
    chosen = {n: e for n, e in every.items() if not options.names or any(part in n for part in options.names)}
    for edits in chosen.values():  # all patterns first: a stale one must not wait for its turn
        for path, text in tree.plant(edits).items():
            path.write_text(text)
    for targets in (ATTENTION_TARGETS, CACHE_TARGETS):
        if not any((name in CACHE) == (targets is CACHE_TARGETS) for name in chosen):
            continue
        tree.compile(targets)
        if found := tree.killer(targets):
            fail(f"{found[0]} fails without a fault:\n{found[1][-3000:]}")
    survivors = []
    for name, edits in chosen.items():
        start = time.time()
        before = tree.plant(edits)
        targets = CACHE_TARGETS if name in CACHE else ATTENTION_TARGETS
        try:
            tree.compile(targets)
            found = tree.killer(targets)
        finally:  # a copy that is kept must be whole, whatever happened
            for path, text in before.items():
                path.write_text(text)
        print(f"{'killed by ' + found[0] if found else 'SURVIVED':28} {name} ({time.time() - start:.0f} s)", flush=True)
        if not found:
            survivors.append(name)
    print(f"{len(chosen) - len(survivors)} of {len(chosen)} mutants killed")
    if not options.work:
        shutil.rmtree(work)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Feeds ptxas_check reports of ptxas, good and bad, and expects its faults; runs it around a compiler."""

import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest

import ptxas_check

REPORT = """ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z6attendILi7EEvPf' for 'sm_80'
ptxas info    : Function properties for _Z6attendILi7EEvPf
    560 bytes stack frame, {stores} bytes spill stores, {loads} bytes spill loads
ptxas info    : Used 32 registers, used 0 barriers
"""
SERIALISED = (
    "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
    "non wgmma instructions defining accumulator registers in function '_Z6attendILi7EEvPf'\n"
)


def rules(*entries):
    return [(re.compile(pattern), limit) for pattern, limit in entries]


class Faults(unittest.TestCase):
    def test_small_spills_are_none(self):
        self.assertEqual(ptxas_check.faults(REPORT.format(stores=64, loads=64), []), [])

    def test_larger_ones_are_named_with_kernel_and_architecture(self):
        for stores, loads in ((68, 0), (0, 68)):
            (fault,) = ptxas_check.faults(REPORT.format(stores=stores, loads=loads), [])
            for part in ("attend<7>", "sm_80", f"{stores} bytes spill stores", "64"):
                self.assertIn(part, fault)

    def test_exceptions_have_limits(self):
        report = REPORT.format(stores=100, loads=112)
        self.assertEqual(ptxas_check.faults(report, rules((r"attend<(7|8)>", "112"))), [])
        self.assertEqual(len(ptxas_check.faults(report, rules((r"attend<7>", "108")))), 1)
        self.assertEqual(len(ptxas_check.faults(report, rules((r"attend<8>", "112")))), 1)

    def test_serialised_products_are_faults(self):
        (fault,) = ptxas_check.faults(SERIALISED, [])
        self.assertIn("attend<7>", fault)
        self.assertIn("C7510", fault)
        self.assertEqual(ptxas_check.faults(SERIALISED, rules(("attend", "C7510"))), [])
        self.assertEqual(len(ptxas_check.faults(SERIALISED, rules(("attend", "C7511")))), 1)

    def test_the_list_of_exceptions_reads(self):
        ptxas_check.exceptions()
        with tempfile.TemporaryDirectory() as folder:
            bad = pathlib.Path(folder, "list")
            for text in ("attend 112 because\n", "attend\t112\t\n", "attend\tmuch\tbecause\n"):
                bad.write_text(text, encoding="utf-8")
                with self.assertRaises(SystemExit):
                    ptxas_check.exceptions(bad)


class Launcher(unittest.TestCase):
    def compile(self, folder, stderr, status=0):
        compiler = pathlib.Path(folder, "nvcc")
        compiler.write_text(
            f"#!/bin/sh\nprintf object > {folder}/row.o\ncat >&2 << 'END'\n{stderr}\nEND\nexit {status}\n",
            encoding="utf-8",
        )
        compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
        command = [sys.executable, ptxas_check.__file__, str(compiler), "-c", "row.cu", "-o", f"{folder}/row.o"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_keeps_quiet_and_keeps_the_report(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.compile(folder, REPORT.format(stores=0, loads=0))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("Used 32 registers", pathlib.Path(folder, "row.o.ptxas").read_text(encoding="utf-8"))

    def test_a_fault_fails_and_leaves_no_object(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.compile(folder, REPORT.format(stores=100, loads=0))
            self.assertEqual(done.returncode, 1)
            self.assertIn("error: ptxas: ", done.stderr)
            self.assertFalse(pathlib.Path(folder, "row.o").exists())

    def test_the_compilers_own_messages_come_through(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.compile(folder, "row.cu(3): error: no", status=2)
            self.assertEqual((done.returncode, done.stderr), (2, "row.cu(3): error: no\n"))
            done = self.compile(folder, "row.cu(3): warning: hm")
            self.assertEqual((done.returncode, done.stderr), (0, "row.cu(3): warning: hm\n"))


if __name__ == "__main__":
    unittest.main()

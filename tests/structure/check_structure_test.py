#!/usr/bin/env python3
"""Plants one violation at a time in a small tree and expects check_structure to report it, and nothing else."""

import pathlib
import tempfile
import unittest

import check_structure

CLEAN = {
    "include/headwise/dtype.h": "#include <cstdint>\n",
    "include/headwise/plan.h": '#include "headwise/dtype.h"\n',
    "include/headwise/registry.h": '#include "headwise/plan.h"\n',
    "include/headwise/headwise.h": "#include <stdint.h>\n",
    "src/core/check.h": '#include "headwise/dtype.h"\n',
    "src/attention/mask.h": '#include "core/check.h"\n#include "headwise/plan.h"\n',
    "src/cpu/standard.h": '#include <dnnl.hpp>\n#include "attention/mask.h"\n',
    "src/cuda/ptx/mma.cuh": "#include <cuda_bf16.h>\n",
    "src/cuda/tile/products.cuh": '#include "cuda/ptx/mma.cuh"\n#include "cuda/checks.h"\n',
    "src/cuda/sm80/tile_config.h": '#include "cuda/checks.h"\n',
    "src/cuda/sm80/wide.cu": '#include "cuda/tile/products.cuh"\n',
    "src/cuda/standard/matrices.h": '#include "attention/mask.h"\n',
    "src/cuda/checks.h": "#include <string>\n",
    "src/cuda/backends.cpp": '#include "cuda/standard/matrices.h"\n',
    "src/backends/registry.cpp": '#include "cpu/standard.h"\n#include "headwise/registry.h"\n',
    "src/model/config.h": "#include <string>\n",
    "src/model/gguf.h": '#include "config.h"\n#include "../core/check.h"\n',
    "src/advisor/roofline.h": '#include "headwise/plan.h"\n#include "model/config.h"\n',
    "src/engine/runner.h": '#include "model/gguf.h"\n#include <nlohmann/json.hpp>\n',
    "bench/bench.h": '#include "advisor/roofline.h"\n#include <fmt/format.h>\n',
    "cli/main.cpp": '#include "bench/bench.h"\n#include <CLI/CLI.hpp>\n',
    "tests/cpu/standard_test.cpp": '#include "cpu/standard.h"\n#include <gtest/gtest.h>\n',
    "src/a.h": "namespace headwise {\nstruct Runner {\n};\n}\n",
    "src/core/names.cpp": "namespace headwise {\nnamespace {\nstruct Runner {\n};\n}  // namespace\nstruct Runner;\n}\n",
    "run": "#!/bin/bash\n",
    "tests/golden/long.json": "[]\n" * 500,
}

PLANTED = [
    (
        "src/advisor/bad.h",
        "namespace headwise {\nclass Runner final : public Base {\n};\n}",
        "headwise::Runner is also a type of src/a.h",
    ),
    ("src/core/bad.h", '#include "attention/mask.h"', "core may not include src/attention/mask.h"),
    ("src/core/bad.h", '#include "headwise/plan.h"', "core may not include include/headwise/plan.h"),
    ("src/attention/bad.h", '#include "cpu/standard.h"', "attention may not include src/cpu"),
    ("src/attention/bad.h", "  #  include <headwise/registry.h>", "attention may not include include"),
    ("src/attention/bad.h", '#include "../cpu/standard.h"', "attention may not include src/cpu"),
    ("src/cpu/bad.cpp", '#include "model/gguf.h"', "cpu may not include src/model"),
    ("src/cuda/bad.cpp", '#include "cpu/standard.h"', "cuda may not include src/cpu"),
    ("src/cuda/ptx/bad.cuh", '#include "cuda/tile/products.cuh"', "cuda may not include src/cuda/tile"),
    ("src/cuda/tile/bad.cuh", '#include "cuda/sm80/wide.cu"', "cuda may not include src/cuda/sm80"),
    ("src/cuda/standard/bad.cu", '#include "cuda/sm80/tile_config.h"', "cuda may not include src/cuda/sm80"),
    ("src/cuda/new/bad.cu", '#include "cuda/ptx/mma.cuh"', "cuda may not include src/cuda/ptx"),
    ("src/kv/bad.h", '#include "backends/registry.cpp"', "kv may not include src/backends"),
    ("src/ops/bad.h", '#include "attention/mask.h"', "ops may not include src/attention"),
    ("src/model/bad.h", '#include "attention/mask.h"', "model may not include src/attention"),
    ("src/advisor/bad.h", '#include "model/gguf.h"', "advisor may not include src/model/gguf.h"),
    ("src/advisor/bad.h", '#include "attention/mask.h"', "advisor may not include src/attention"),
    ("src/advisor/bad.h", '#include "engine/runner.h"', "advisor may not include src/engine"),
    ("src/engine/bad.h", '#include "cpu/standard.h"', "engine may not include src/cpu"),
    ("src/engine/bad.h", '#include "bench/bench.h"', "engine may not include bench/bench.h"),
    ("bench/bad.h", '#include "cli/main.cpp"', "bench may not include cli/main.cpp"),
    ("cli/bad.h", '#include "cpu/standard.h"', "cli may not include src/cpu"),
    ("src/engine/bad.h", '#include "tests/cpu/standard_test.cpp"', "engine may not include tests"),
    ("src/engine/bad.h", '#include "engine/nothing.h"', "is no file here"),
    ("include/headwise/plan.h", '#include "attention/mask.h"', "may not include src/attention"),
    ("include/headwise/dtype.h", '#include "headwise/plan.h"', "core may not include include"),
    ("include/headwise/plan.h", "#include <nlohmann/json.hpp>", "not of the standard library"),
    ("include/headwise/plan.h", "#include <cuda_runtime.h>", "not of the standard library"),
    ("include/headwise/new.h", "#include <string>", "a public header without a layer"),
    ("src/core/bad.cpp", "#include <fmt/core.h>", "core may not use a library of the program"),
    ("src/attention/bad.cpp", "#include <spdlog/spdlog.h>", "attention may not use a library"),
    ("src/cpu/bad.cpp", "#include <nlohmann/json.hpp>", "cpu may not use a library"),
    ("src/cpu/bad.cpp", "#include <CLI/CLI.hpp>", "cpu may not use a library"),
    ("src/attention/bad.cpp", "#include <dnnl.hpp>", "attention may not use oneDNN"),
    ("src/engine/bad.cpp", "#include <oneapi/dnnl/dnnl.hpp>", "engine may not use oneDNN"),
    ("src/advisor/bad.cpp", "#include <cuda_runtime.h>", "advisor may not use CUDA"),
    ("src/engine/bad.cpp", "#include <gtest/gtest.h>", "engine may not use a test library"),
    ("src/core/long.cpp", "\n" * 401, "401 lines"),
    ("src/cuda/sm80/long.cu", "\n" * 401, "401 lines"),
    ("src/cuda/sm80/long.cuh", "\n" * 401, "401 lines"),
    ("scripts/long.py", "\n" * 401, "401 lines"),
    ("tests/cpu/CMakeLists.txt", "\n" * 401, "401 lines"),
    ("run", "\n" * 401, "401 lines"),
]


def tree(folder, *more):
    root = pathlib.Path(folder)
    for path, text in [*CLEAN.items(), *more]:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


class CheckStructure(unittest.TestCase):
    def test_accepts_a_clean_tree(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(list(check_structure.violations(tree(folder))), [])

    def test_reports_each_planted_violation(self):
        for path, text, expected in PLANTED:
            with self.subTest(path=path, text=text[:60]), tempfile.TemporaryDirectory() as folder:
                found = list(check_structure.violations(tree(folder, (path, text))))
                self.assertEqual(len(found), 1, found)
                self.assertIn(expected, found[0])
                self.assertIn(path, found[0])


if __name__ == "__main__":
    unittest.main()

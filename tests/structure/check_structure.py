#!/usr/bin/env python3
"""Checks the tree's includes against the layers' arrows, and the length of files.

`check_structure.py ROOT` prints one line a violation and fails if there are any."""

import os
import pathlib
import re
import sys

MAX_LINES = 400

# folder -> what its files may include, besides their own folder
ARROWS = {
    "core": set(),
    "attention": {"core"},
    "cpu": {"core", "attention"},
    "cuda": {"core", "attention"},
    "backends": {"core", "attention", "cpu", "cuda"},
    "kv": {"core", "attention"},
    "ops": {"core"},
    "model": {"core"},
    "advisor": {
        "core",
        "public attention",
        "model/byte_reader",
        "model/config",
        "model/json/json_fields",
        "model/json/json_text",
    },
    "engine": {"core", "attention", "backends", "kv", "ops", "model"},
    "bench": {"core", "attention", "cuda", "backends", "advisor", "engine", "kv", "model"},
    "cli": {"core", "attention", "backends", "advisor", "engine", "kv", "model", "bench"},
}

# Folders with rooms: room -> what its files may include of the others. Files beside the rooms are everybody's.
CUDA_ARROWS = {
    "append": {"ptx", "runtime"},
    "ptx": set(),
    "runtime": set(),
    "schedule": {"runtime"},
    "tile": {"ptx"},
    "paging": {"ptx", "tile"},
    "step": {"paging", "ptx", "runtime", "schedule", "tile"},
    "sm80": {"append", "paging", "ptx", "runtime", "schedule", "step", "tile"},
    "sm90": {"append", "paging", "ptx", "runtime", "schedule", "step", "tile"},
    "standard": {"append", "runtime"},
}

ADVISOR_ARROWS = {
    "model": set(),
    "device": set(),
    "time": {"device", "model"},
    "advice": {"device", "model", "time"},
    "report": {"advice", "device", "model", "time"},
    "engine_log": {"model"},
}
ROOMS = {"cuda": CUDA_ARROWS, "advisor": ADVISOR_ARROWS}

# public header -> its layer
PUBLIC_HEADERS = {
    "append_kv.h": "attention",
    "attention_shape.h": "attention",
    "backend.h": "attention",
    "device.h": "core",
    "device_memory.h": "core",
    "dtype.h": "core",
    "error.h": "core",
    "headwise.h": "backends",
    "kv_binding.h": "attention",
    "kv_cache.h": "kv",
    "kv_calibration.h": "kv",
    "kv_memory.h": "kv",
    "kv_step.h": "kv",
    "kv_usage.h": "kv",
    "machine.h": "core",
    "merge.h": "attention",
    "picked_pages.h": "kv",
    "plan.h": "attention",
    "prefix_key.h": "kv",
    "registry.h": "backends",
    "step_batch.h": "attention",
    "tensor_view.h": "core",
    "version.h": "core",
}

# What -> headers that belong to it, and the only places that may include them.
EXTERNAL = {
    "oneDNN": (r"dnnl|oneapi/dnnl", {"cpu", "ops", "bench"}),
    "a library of the program": (
        r"fmt/|spdlog/|CLI/|nlohmann/",
        {"backends", "kv", "ops", "model", "advisor", "engine", "bench", "cli"},
    ),
    "pcre2": (r"pcre2", {"model"}),
    "CUDA": (r"cuda|cublas|cub/|nccl|nvtx|mma\.h|cooperative_groups", {"cuda", "ops", "engine", "bench"}),
    "a test library": (r"gtest/|gmock/|rapidcheck", set()),
}

SOURCES = {".h", ".hpp", ".c", ".cpp", ".cu", ".cuh"}
SCRIPTS = {".py", ".sh", ".cmake", ".js", ".css", ".html"}
NAMED_SCRIPTS = {"run", "test", "CMakeLists.txt"}
SKIPPED_FOLDERS = {"build", ".git", ".venv", ".cache", "__pycache__"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def files_of(root):
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if name not in SKIPPED_FOLDERS)
        for file in sorted(files):
            yield pathlib.Path(folder, file).relative_to(root)


def layer_of(path):
    """The layer that a file belongs to; None: no arrows apply (tests, scripts)."""
    if path.parts[:2] == ("include", "headwise"):
        return PUBLIC_HEADERS.get("/".join(path.parts[2:]), "unknown")
    folder = path.parts[1] if path.parts[0] == "src" else path.parts[0]
    return folder if folder in ARROWS else None


def find_include(root, includer, name):
    """The file that `#include "name"` means, relative to root; None: no file of this tree."""
    for base in (includer.parent, pathlib.Path("include"), pathlib.Path("src"), pathlib.Path()):
        candidate = pathlib.Path(os.path.normpath(base / name))
        if (root / candidate).is_file():
            return candidate
    return None


def is_allowed_between_rooms(includer, target, arrows):
    if len(includer.parts) < 4 or len(target.parts) < 4 or includer.parts[2] == target.parts[2]:
        return True
    allowed = arrows.get(includer.parts[2], set())
    name = "/".join(target.parts[2:])
    return target.parts[2] in allowed or any(name.startswith(f"{entry}.") for entry in allowed)


def is_allowed(includer, target):
    layer, other = layer_of(includer), layer_of(target)
    if other is None or (includer.parts[0] == "include" and target.parts[0] != "include"):
        return False
    if other == layer:
        return layer not in ROOMS or is_allowed_between_rooms(includer, target, ROOMS[layer])
    allowed = ARROWS[layer]
    return (
        other in allowed
        or (target.parts[0] == "include" and f"public {other}" in allowed)
        or any(target.as_posix().startswith(f"src/{entry}.") for entry in allowed)
    )


def check_external(includer, name):
    layer = layer_of(includer)
    if includer.parts[0] == "include" and re.search(r"[/.]", name) and name not in ("stddef.h", "stdint.h"):
        yield f"a public header includes <{name}>, which is not of the standard library"
        return
    for what, (pattern, places) in EXTERNAL.items():
        if re.match(pattern, name) and layer not in places:
            yield f"includes <{name}>: {layer} may not use {what}"


def check_includes(root, path):
    layer = layer_of(path)
    if layer is None:
        return
    if layer == "unknown":
        yield f"{path}: a public header without a layer; name it in {os.path.basename(__file__)}"
        return
    text = (root / path).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        match = INCLUDE.match(line)
        if not match:
            continue
        bracket, name = match.groups()
        target = find_include(root, path, name)
        if target is None:
            found = check_external(path, name) if bracket == "<" else [f'includes "{name}", which is no file here']
            yield from (f"{path}:{number}: {what}" for what in found)
        elif not is_allowed(path, target):
            yield f"{path}:{number}: {layer} may not include {target}"


def check_length(root, path):
    is_code = path.suffix in SOURCES | SCRIPTS or path.name in NAMED_SCRIPTS
    if not is_code:
        return
    lines = len((root / path).read_text(encoding="utf-8").splitlines())
    if lines > MAX_LINES:
        yield f"{path}: {lines} lines; a file has at most {MAX_LINES}"


UNNAMED = re.compile(r"^namespace \{.*?^\}  // namespace$", re.DOTALL | re.MULTILINE)
NAMESPACE = re.compile(r"^namespace (headwise[\w:]*) \{", re.MULTILINE)
TYPE = re.compile(r"^(?:class|struct|enum class) (\w+)(?: final)?(?: ?:[^:;{][^;{]*)? \{", re.MULTILINE)


def types_of(text):
    """Types that a library's file defines for the whole program, with their namespace."""
    text = UNNAMED.sub("", text)
    namespace = NAMESPACE.search(text)
    return [(namespace.group(1), name) for name in TYPE.findall(text)] if namespace else []


def check_names(root, path, seen):
    """A name has one type: of two, the linker would take either's functions for both."""
    if path.parts[0] not in ("include", "src") or path.suffix not in SOURCES:
        return
    for name in types_of((root / path).read_text(encoding="utf-8")):
        if seen.setdefault(name, path) != path:
            yield f"{path}: {'::'.join(name)} is also a type of {seen[name]}"


def violations(root):
    seen = {}
    for path in sorted(files_of(root)):
        if path.suffix in SOURCES:
            yield from check_includes(root, path)
        yield from check_names(root, path, seen)
        yield from check_length(root, path)


def main():
    found = list(violations(pathlib.Path(sys.argv[1])))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

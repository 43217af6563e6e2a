#!/usr/bin/env python3
"""Turns measured tables of the package aiconfigurator-core into a calibration file (docs/calibration.md).

import_aiconfigurator.py --system h200_sxm --framework trtllm --out data/calibration/h200-trtllm.json \\
    [--only attention,mla,gemm,moe,comm]

The first run makes an environment with the package in ~/.cache/headwise/aiconfigurator (XDG_CACHE_HOME is
heeded), 250 MB, from the network. Only a part of the rows is taken: see aiconfigurator_rows.py."""

import argparse
import json
import pathlib
import re
import sys

import aiconfigurator_rows as rows
import own_environment

PACKAGE = "aiconfigurator-core==0.12.0"
RELEASED = "2026-09"  # the package's; its tables bear no dates
READER = "pyarrow==26.0.1"
LICENCE = "Apache-2.0"
NOTICE = "Copyright (c) 2025-2026 NVIDIA CORPORATION & AFFILIATES. All rights reserved. A selection, rounded; see NOTICE."


def say(text):
    print(f"import_aiconfigurator: {text}", file=sys.stderr)


def tables_folder():
    import sysconfig

    return pathlib.Path(sysconfig.get_path("purelib"), "aiconfigurator_core", "systems", "data")


def version_key(name):
    return [int(part) if part.isdigit() else part for part in re.findall(r"\d+|[a-z]+", name)]


def newest_table(folder, query):
    """The points of `query` in the newest version that has any of those wanted, and their file."""
    import pyarrow.parquet

    for version in sorted((path.name for path in folder.iterdir()), key=version_key, reverse=True):
        file = folder / version / f"{query.table}.parquet"
        if not file.exists():
            continue
        points = rows.select(query, pyarrow.parquet.read_table(file).to_pylist())
        if points:
            return version, file, points
    sys.exit(f"import_aiconfigurator: {folder} has no wanted row of {query.table}")


def collect(options):
    versions, files, queries = set(), [], []
    for query in rows.QUERIES:
        if query.group not in options.only:
            continue
        folder = tables_folder() / options.system / query.group / options.framework
        if not folder.is_dir():
            sys.exit(f"import_aiconfigurator: there is no {folder}")
        version, file, points = newest_table(folder, query)
        versions.add(version)
        files.append(file.relative_to(tables_folder()).as_posix())
        queries.append(rows.to_json(query, points))
    if len(versions) != 1:
        sys.exit(f"import_aiconfigurator: the tables are of versions {sorted(versions)}: use --only")
    return versions.pop(), files, queries


def write(options, version, files, queries):
    head = {
        "name": options.out.stem,
        "source": "third-party",
        "system": options.system.removesuffix("_sxm"),
        "framework": options.framework,
        "version": version,
        "date": RELEASED,
        "origin": f"{PACKAGE}: {', '.join(files)}",
        "licence": LICENCE,
        "notice": NOTICE,
    }
    compact = {"separators": (",", ":")}
    with open(options.out, "w", encoding="ascii") as out:
        out.write("{\n")
        for name, value in head.items():
            out.write(f"{json.dumps(name)}: {json.dumps(value)},\n")
        out.write('"queries": [\n')
        for i, query in enumerate(queries):
            out.write(f'{{"query": {json.dumps(query["query"])}, "axes": {json.dumps(query["axes"])}, "tables": [\n')
            out.write(",\n".join(json.dumps(table, **compact) for table in query["tables"]))
            out.write("\n]}" + (",\n" if i + 1 < len(queries) else "\n"))
        out.write("]}\n")


def parse_arguments():
    groups = sorted({query.group for query in rows.QUERIES})
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", required=True, help="as the package names it: h200_sxm, b200_sxm, gb200, ...")
    parser.add_argument("--framework", required=True, help="trtllm, vllm or sglang")
    parser.add_argument("--out", required=True, type=pathlib.Path, help="the calibration file to write")
    parser.add_argument("--only", default=",".join(groups), help="of " + ", ".join(groups))
    options = parser.parse_args()
    options.only = options.only.split(",")
    for group in options.only:
        if group not in groups:
            parser.error(f"--only {group}: there are {', '.join(groups)}")
    return options


def main():
    options = parse_arguments()
    own_environment.enter("aiconfigurator", (PACKAGE, READER), ("--no-deps",))
    version, files, queries = collect(options)
    write(options, version, files, queries)
    points = sum(len(table["points"]) for query in queries for table in query["tables"])
    say(f"{options.out}: {points} points of {options.framework} {version}")


if __name__ == "__main__":
    main()

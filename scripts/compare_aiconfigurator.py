#!/usr/bin/env python3
"""Lays the answers of `headwise codesign` beside those of aiconfigurator, for the same questions (docs/accuracy.md).

compare_aiconfigurator.py [--headwise build/release/headwise] [--out docs/accuracy.json] [--only MODEL] [--no-search]

The first run makes an environment with the package in ~/.cache/headwise/aiconfigurator-cli (XDG_CACHE_HOME is heeded),
850 MB, from the network; nothing else needs it. Without --headwise only aiconfigurator answers."""

import argparse
import json
import logging
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

import aiconfigurator_answers as answers
import aiconfigurator_points as points
import aiconfigurator_side_by_side as side_by_side
import headwise_choices
import own_environment

PACKAGE = "aiconfigurator==0.12.0"
ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGS = ROOT / "tests" / "data" / "configs"


def say(text):
    print(f"compare_aiconfigurator: {text}", file=sys.stderr)


def quiet():
    """aiconfigurator tells of its tables, and that its successor has another name, on every call."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)


def model_folder(scratch, model, weights):
    folder = pathlib.Path(scratch, f"{model}-{weights}")
    if not folder.exists():
        folder.mkdir()
        config = json.loads((CONFIGS / f"{model}.json").read_text(encoding="utf-8"))
        (folder / "config.json").write_text(json.dumps(points.config_with(config, weights)), encoding="utf-8")
    return folder


def ask_headwise(program, folder, deployment, asked):
    """{(context, batch): answer}, from one run for each batch."""
    found = {}
    for batch in sorted({point.batch for point in asked}):
        contexts = [point.context for point in asked if point.batch == batch]
        command = points.codesign_command(program, folder / "config.json", deployment, contexts, batch)
        document = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        for context in contexts:
            found[context, batch] = side_by_side.headwise_row(
                document, context, points.with_answer(context), deployment.plan.adp
            )
    return found


def compare(deployment, folder, program):
    say(f"{deployment.model} {deployment.weights} {deployment.plan.name}")
    theirs = answers.estimates(folder, deployment)
    asked = [points.Point(deployment, row["context"], row["batch"]) for row in theirs]
    ours = ask_headwise(program, folder, deployment, asked) if program else {}
    return [row | {"headwise": ours.get((row["context"], row["batch"]))} for row in theirs]


def headwise_choices_for(program, folder, weights, search):
    """Headwise's choice for aiconfigurator's targets, among the plans that the framework can run and among all."""
    asked = []
    for gpus in headwise_choices.GPUS:
        for batch in headwise_choices.BATCHES:
            command = headwise_choices.command(
                program, folder / "config.json", weights, gpus, batch, points.with_answer(search["context"]),
                points.ROUTING,
            )  # fmt: skip
            found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)["plans"]
            asked.append((batch, [plan for plan in found if plan["fits"]]))
    targets = search["output_tokens"], search["ttft_target_ms"], search["tpot_target_ms"]
    return {
        "headwise": headwise_choices.choice(asked, *targets, engine=points.FRAMEWORK),
        "headwise, any engine": headwise_choices.choice(asked, *targets),
    }


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headwise", type=pathlib.Path, help="the program")
    parser.add_argument("--out", type=pathlib.Path, help="the JSON file to write")
    parser.add_argument("--only", help="one model of tests/data/configs")
    parser.add_argument("--no-search", action="store_true", help="do not let aiconfigurator look for plans")
    return parser.parse_args()


def main():
    options = parse_arguments()
    own_environment.enter("aiconfigurator-cli", (PACKAGE,))
    quiet()
    with tempfile.TemporaryDirectory() as scratch:
        deployments = [item for item in points.DEPLOYMENTS if options.only in (None, item.model)]
        rows = []
        for deployment in deployments:
            rows += compare(deployment, model_folder(scratch, deployment.model, deployment.weights), options.headwise)
        plans = []
        for model, weights in points.SEARCHES:
            if not options.no_search and options.only in (None, model):
                say(f"{model} {weights}: a plan for {points.GPUS} GPUs")
                folder = model_folder(scratch, model, weights)
                for search in answers.searches(folder, model, weights):
                    if options.headwise:
                        search["headwise"] = headwise_choices_for(options.headwise, folder, weights, search)
                    plans.append(search)
    print("\n".join(side_by_side.tables(rows, plans)))
    if options.out:
        head = {"package": PACKAGE, "system": points.SYSTEM, "framework": points.FRAMEWORK, "version": points.VERSION}
        text = side_by_side.lines_of(side_by_side.rounded(head | {"points": rows, "plans": plans}))
        options.out.write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()

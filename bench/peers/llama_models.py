"""Whole models in llama.cpp, built by setup.sh --models: times, and how near it comes to the reference.

Usage: llama_models.py time MODEL.gguf... --text LONG.txt [--contexts 1024,8128] [--settings on:f16:512:repacked,...]
       llama_models.py perplexity MODEL.gguf GOLDEN.json --text BIBLE.txt [--window 4096] [--windows 64]
       llama_models.py compare MODEL.gguf GOLDEN.json [--kv f32]
       llama_models.py dequantise MODEL.gguf F32.gguf

time        one JSON line a point, each in a process of its own: time to first token (prefill of as many tokens as the
            context says, weights in memory), median time of a later token, peak memory. Settings are tried in turn:
            flash attention : KV type : ubatch : weights repacked or plain.
perplexity  of the golden file's windows, counted as it counts: every token of a window but its first
compare     the golden file's continuations, and KL(reference || llama.cpp) over its distributions, from the whole rows
            in ~/.cache/headwise/reference where they are there

Golden files: tests/data/quality.
"""

import argparse
import hashlib
import json
import math
import pathlib
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

import llama_library

DECODED = 32


def emit(**fields):
    print(json.dumps({k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in fields.items()}), flush=True)


def time_point(options, path, context, setting):
    flash, kv, ubatch, weights = setting.split(":")
    llama_cpp = llama_library.load(options.library)
    model = llama_library.Model(llama_cpp, path, context + DECODED + 8, options.threads, kv, flash == "on", int(ubatch), weights == "repacked")
    tokens = model.tokenize(options.text.read_bytes()[: 12 * context], bos=True)[:context]
    assert len(tokens) == context, "the text is too short"
    model.clear()
    model.run(tokens[:16])
    model.clear()
    start = time.perf_counter()
    model.run(tokens)
    first = time.perf_counter() - start
    each = []
    for token in tokens[1 : 1 + DECODED]:
        start = time.perf_counter()
        model.run([token])
        each.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    emit(
        peer="llama.cpp", model=path.name, context=context, flash=flash, kv=kv, ubatch=int(ubatch), weights=weights, threads=options.threads,
        ttft_ms=first * 1e3, tok_s=context / first, ms_token=statistics.median(each) * 1e3, peak_mb=peak,
        system=llama_cpp.llama_print_system_info().decode(),
    )  # fmt: skip


def time_models(options):
    for path in options.models:
        for context in options.contexts.split(","):
            for setting in options.settings.split(","):
                if options.point:
                    time_point(options, path, int(context), setting)
                    continue
                same = ["--text", options.text, "--threads", str(options.threads), "--library", options.library]
                point = ["time", path, "--contexts", context, "--settings", setting, "--point", *same]
                subprocess.run([sys.executable, __file__, *point], check=True)


def negative_log_likelihood(model, window):
    total, at = 0.0, 0
    for rows in model.rows(window):
        for row in rows:
            if at + 1 < len(window):
                largest = row.max()
                total += math.log(np.exp(row - largest).sum(dtype=np.float64)) + float(largest - row[window[at + 1]])
            at += 1
    return total


def fnv1a(tokens):
    value = 0xCBF29CE484222325
    for byte in np.asarray(tokens, dtype="<i4").tobytes():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def perplexity(options):
    golden = json.loads(options.golden.read_text())
    text = options.text.read_bytes()
    assert hashlib.sha256(text).hexdigest() == golden["text"]["sha256"], "another text"
    expected = golden.get(f"perplexity_{options.window}", {"nll": [], "tokens_fnv1a": []})
    bos, counted, found = golden["bos"], options.window - 1, []
    model = llama_library.Model(llama_library.load(options.library), options.models[0], options.window, options.threads, options.kv)
    tokens = model.tokenize(text, bos=False)
    assert len(tokens) == golden["text"]["tokens"], "the text's tokens are others"
    body = options.window - len(bos)
    for i in range(options.windows):
        window = tokens[i * body : (i + 1) * body]
        assert fnv1a(window) == (expected["tokens_fnv1a"] + [fnv1a(window)] * options.windows)[i], f"window {i} has other tokens"
        model.clear()
        found.append(negative_log_likelihood(model, bos + window))
        reference = math.exp(sum(expected["nll"][: i + 1]) / (i + 1) / counted) if len(expected["nll"]) > i else None
        emit(
            peer="llama.cpp", model=options.models[0].name, kv=options.kv, window=options.window, windows=i + 1,
            perplexity=math.exp(sum(found) / (i + 1) / counted), reference=reference,
        )  # fmt: skip


def compare_continuation(model, continuation):
    model.clear()
    logits = model.run(continuation["prompt"])
    for step, token in enumerate(continuation["greedy"]):
        best = int(logits.argmax())
        if best != token:
            first, second = continuation["top_logits"][step]
            return {"equal_tokens": step, "reference_lead_there": first - second}
        logits = model.run([token])
    return {"equal_tokens": len(continuation["greedy"])}


def compare_distributions(model, prompt, reference_file):
    reference = np.memmap(reference_file, dtype="<f4", mode="r").reshape(len(prompt), model.vocab)
    kl, at = [], 0
    model.clear()
    for rows in model.rows(prompt):
        for row in rows.astype(np.float64):
            shifted = row - row.max()
            log_q = shifted - math.log(np.exp(shifted).sum())
            log_p = reference[at].astype(np.float64)
            kl.append(float((np.exp(log_p) * (log_p - log_q)).sum()))
            at += 1
    return {"kl_mean": statistics.fmean(kl), "kl_largest": max(kl), "positions": len(kl)}


def compare(options):
    golden = json.loads(options.golden.read_text())
    found = golden["continuations"]["found"]
    longest = max(len(c["prompt"]) + len(c["greedy"]) for c in found)
    model = llama_library.Model(llama_library.load(options.library), options.models[0], longest, options.threads, options.kv)
    for continuation in found:
        if len(continuation["prompt"]) <= options.longest:
            emit(model=options.models[0].name, kv=options.kv, prompt=len(continuation["prompt"]), **compare_continuation(model, continuation))
    rows = llama_library.BUILT.parents[1] / "reference" / f"{options.golden.stem}.logprobs.f32"
    if rows.exists():
        (prompt,) = (c["prompt"] for c in found if len(c["prompt"]) == golden["distributions"]["prompt_tokens"])
        emit(model=options.models[0].name, kv=options.kv, **compare_distributions(model, prompt, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("time", "perplexity", "compare", "dequantise"))
    parser.add_argument("models", nargs="+", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--contexts", default="1024,8128")
    parser.add_argument("--settings", default="on:f16:512:repacked")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kv", default="f16", choices=("f32", "f16", "q8_0"))
    parser.add_argument("--window", type=int, default=4096)
    parser.add_argument("--windows", type=int, default=64)
    parser.add_argument("--longest", type=int, default=8128, help="prompt to compare, in tokens")
    parser.add_argument("--library", type=pathlib.Path, default=llama_library.BUILT, help="the folder of its build and source")
    parser.add_argument("--point", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.command == "time":
        return time_models(options)
    options.golden = options.models[-1]
    if options.command == "dequantise":
        return llama_library.dequantise(llama_library.load(options.library), *options.models)
    return {"perplexity": perplexity, "compare": compare}[options.command](options)


if __name__ == "__main__":
    main()

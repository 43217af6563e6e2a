"""What transformers in F32 on the dequantised GGUF files makes of a text: greedy continuations, distributions, perplexity.

Usage: quality.py {smollm2,gemma3} [--parts continuations,perplexity] [--device cpu|cuda] [--threads N] [--text FILE]

The text is the King James Bible of Debian's packages bible-kjv and bible-kjv-text, as `bible -f gen1:1-rev22:21` prints it.
Writes, under tests/data/quality (the meaning of each field: README.md there):
  MODEL.json        prompts, continuations, and sums of negative log likelihoods, with what made them
  MODEL.top.bin     after each token of the prompt of 1,024, the likeliest tokens and their probabilities
and, under ~/.cache/headwise/reference:
  MODEL.logprobs.f32  the same whole, [1024, vocabulary], natural logarithms
  MODEL.progress.json finished windows, from which an interrupted run goes on
"""

import argparse
import datetime
import hashlib
import importlib.metadata
import json
import os
import pathlib
import subprocess

import numpy
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import oracle

CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "headwise"
REFERENCE = CACHE / "reference"
OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/data/quality"
TEXT_COMMAND = ["bible", "-f", "gen1:1-rev22:21"]
TEXT_SHA256 = "cd45f0c9cedab8e4439bd6486c8952c77cc8b0ecc5d1f6ae3513f2039f47229d"
CHUNK = 1024  # tokens of a forward pass; their keys are kept, so that it changes nothing but memory
NEW_TOKENS = 64
TOP = 32
LOGPROB_UNIT = 1 / 4096  # of the 16 bits that a logarithm is kept in
PROMPTS = {16: 50_000, 1024: 100_000, 8128: 200_000}  # tokens with BOS: where in the text's tokens they may begin
LEAST_LEAD = 0.01  # of a greedy token before its runner-up, in logits; a smaller one is for rounding to decide
LEAST_DISTINCT = 16  # greedy tokens; fewer are a loop, which tells little
NEXT_TRY = 1000  # tokens further on, where a continuation falls short of these

MODELS = {
    "smollm2": {
        "file": "SmolLM2-135M-Instruct.Q4_1.gguf",
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "bos": [],
        "text_tokens": 1_207_908,
        "windows": {4096: 64},
    },
    "gemma3": {
        "file": "gemma-3-270m-q4_k_m.gguf",
        "sha256": "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "bos": [2],
        "text_tokens": 1_182_930,
        "windows": {4096: 64, 32768: 4},
    },
}


def read_text(path):
    text = path.read_bytes() if path else subprocess.run(TEXT_COMMAND, capture_output=True, check=True).stdout
    assert hashlib.sha256(text).hexdigest() == TEXT_SHA256, "the text is not the one that the files here are of"
    return text.decode()


def text_tokens(name, text_path):
    """All of the text's tokens, no BOS; kept, since tokenizing takes longer than a prompt."""
    kept = REFERENCE / f"{name}.tokens.i32"
    if not kept.exists():
        path = CACHE / MODELS[name]["file"]
        gemma = lambda: AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
        tokenizer = oracle.load_tokenizer(path) if name == "smollm2" else gemma()
        tokens = tokenizer.encode(read_text(text_path), add_special_tokens=False)
        numpy.array(tokens, dtype=numpy.int32).tofile(kept)
    tokens = numpy.fromfile(kept, dtype=numpy.int32)
    expected = MODELS[name]["text_tokens"]  # as llama.cpp's tokenizer counts them
    assert len(tokens) == expected, f"{len(tokens)} tokens, not {expected}"
    return tokens


def load_model(name, device):
    path = CACHE / MODELS[name]["file"]
    assert hashlib.sha256(path.read_bytes()).hexdigest() == MODELS[name]["sha256"], f"{path} is another file"
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32, attn_implementation="sdpa")
    config = model.config
    assert all(p.dtype == torch.float32 for p in model.parameters()) and torch.get_float32_matmul_precision() == "highest"
    if name == "gemma3":  # the file says none of this but the window and the global base
        bases = [config.rope_parameters[kind]["rope_theta"] for kind in ("sliding_attention", "full_attention")]
        assert bases == [1e4, 1e6] and config.sliding_window == 512 and config.query_pre_attn_scalar == 256
        assert [i for i, kind in enumerate(config.layer_types) if kind == "full_attention"] == [5, 11, 17]
    # Exact on a GPU too: PyTorch's own kernels for F32 attention there may use shorter numbers.
    assert not torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.enable_mem_efficient_sdp(False)
    torch.backends.cuda.enable_flash_sdp(False)
    return model.eval().to(device)


def hidden_chunks(model, tokens):
    """The last layer's normed output for each token, [1, <= CHUNK, width] a time, and the keys so far."""
    cache = None
    for begin in range(0, len(tokens), CHUNK):
        ids = torch.tensor(tokens[begin : begin + CHUNK], device=model.device)[None]
        step = model.model(ids, cache=cache, use_cache=True)
        cache = step.cache
        yield step.last_hidden_state, cache


def continue_greedily(model, prompt):
    for hidden, cache in hidden_chunks(model, prompt):
        logits = model.lm_head(hidden[:, -1])
    greedy, runner_up, top = [], [], []
    while len(greedy) < NEW_TOKENS:
        values, ids = logits[0].topk(2)
        greedy.append(int(ids[0]))
        runner_up.append(int(ids[1]))
        top.append([float(v) for v in values])
        step = model.model(ids[None, :1], cache=cache, use_cache=True)
        cache = step.cache
        logits = model.lm_head(step.last_hidden_state[:, -1])
    return {"greedy": greedy, "runner_up": runner_up, "top_logits": top}


def log_probabilities(model, prompt, rows=128):
    """After each token of the prompt, f32 [rows, vocabulary] a time."""
    for hidden, _ in hidden_chunks(model, prompt):
        for part in hidden[0].split(rows):
            yield model.lm_head(part).double().log_softmax(-1).float()


def write_distributions(name, model, prompt):
    """The whole rows into the cache; of each the TOP likeliest tokens, as f32 the other tokens' probability, u32 ids, best
    first, and u16 -log p / LOGPROB_UNIT."""
    covered = []
    with open(REFERENCE / f"{name}.logprobs.f32", "wb") as whole, open(OUT / f"{name}.top.bin", "wb") as top:
        for rows in log_probabilities(model, prompt):
            whole.write(rows.numpy().tobytes())
            values, ids = rows.double().topk(TOP)
            rest = 1 - values.exp().sum(-1)
            units = (-values / LOGPROB_UNIT).round().clamp(0, 0xFFFF)
            covered.append(1 - rest)
            for row in zip(rest.numpy().astype("<f4"), ids.numpy().astype("<u4"), units.numpy().astype("<u2")):
                top.write(b"".join(field.tobytes() for field in row))
    covered = torch.cat(covered)
    return {
        "file": f"{name}.top.bin",
        "prompt_tokens": len(prompt),
        "top": TOP,
        "logprob_unit": LOGPROB_UNIT,
        "probability_covered": {"mean": float(covered.mean()), "least": float(covered.min())},
    }


def negative_log_likelihood(model, window, rows=512):
    """Of every token but the window's first, in nats, summed."""
    total, at = 0.0, 0
    targets = torch.tensor(window[1:], device=model.device)
    for hidden, _ in hidden_chunks(model, window):
        for part in hidden[0].split(rows):
            wanted = targets[at : at + len(part)]
            logits = model.lm_head(part)[: len(wanted)]
            chosen = logits.gather(-1, wanted[:, None]).double()
            total += float((logits.logsumexp(-1, keepdim=True).double() - chosen).sum())
            at += len(part)
    return total


def fnv1a(tokens):
    """64 bits over the tokens as little-endian i32, in hexadecimal."""
    value = 0xCBF29CE484222325
    for byte in numpy.asarray(tokens, dtype="<i4").tobytes():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def made_by(options):
    packages = ("torch", "transformers", "tokenizers", "gguf", "numpy")
    versions = {package: importlib.metadata.version(package) for package in packages}
    cpu = next(line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name"))
    command = f"scripts/model_oracle/quality.py {options.model} --parts {options.parts} --device {options.device}"
    date = datetime.date.today().isoformat()
    device = torch.cuda.get_device_name() if options.device == "cuda" else cpu
    return {"command": command, "date": date, "device": device, "precision": "float32, sdpa", **versions}


def put(name, field, value):
    """Into MODEL.json, which another part may be adding to meanwhile."""
    path, model = OUT / f"{name}.json", MODELS[name]
    text = {"command": " ".join(TEXT_COMMAND), "packages": "bible-kjv bible-kjv-text", "sha256": TEXT_SHA256, "tokens": model["text_tokens"]}
    document = json.loads(path.read_text()) if path.exists() else {}
    document |= {"model": {"file": model["file"], "sha256": model["sha256"]}, "text": text, "bos": model["bos"], field: value}
    fields = (f"{json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in document.items())
    path.write_text("{\n" + ",\n".join(fields) + "\n}\n")


def find_continuation(name, model, tokens, length, offset):
    bos = MODELS[name]["bos"]
    while True:
        prompt = bos + tokens[offset : offset + length - len(bos)].tolist()
        continuation = continue_greedily(model, prompt)
        least = min(first - second for first, second in continuation["top_logits"])
        distinct = len(set(continuation["greedy"]))
        print(f"{name}: {length} tokens from {offset} on, least lead {least:.4f}, {distinct} distinct tokens", flush=True)
        if least >= LEAST_LEAD and distinct >= LEAST_DISTINCT:
            return {"text_offset": offset, "least_lead": least, "prompt": prompt, **continuation}
        offset += NEXT_TRY


def find_continuations(name, model, tokens, made):
    found = []
    for length, offset in PROMPTS.items():
        found.append(find_continuation(name, model, tokens, length, offset))
        if length == 1024:
            distributions = write_distributions(name, model, found[-1]["prompt"])
            print(distributions, flush=True)
            put(name, "distributions", {**distributions, "made": made})
        put(name, "continuations", {"made": made, "found": found})


def find_perplexity(name, model, tokens, made):
    bos = MODELS[name]["bos"]
    progress_path = REFERENCE / f"{name}.progress.json"
    progress = json.loads(progress_path.read_text()) if progress_path.exists() else {}
    for length, windows in MODELS[name]["windows"].items():
        body = length - len(bos)  # of the text: window i begins at token i * body
        done = progress.setdefault(str(length), [])
        for i in range(len(done), windows):
            done.append(negative_log_likelihood(model, bos + tokens[i * body : (i + 1) * body].tolist()))
            progress_path.write_text(json.dumps(progress))
            print(f"{name} {length}: window {i + 1} of {windows}, perplexity so far {numpy.exp(sum(done) / len(done) / (length - 1)):.5f}", flush=True)
        hashes = [fnv1a(tokens[i * body : (i + 1) * body]) for i in range(windows)]
        perplexity = float(numpy.exp(sum(done) / windows / (length - 1)))
        result = {"made": made, "window": length, "counted": length - 1, "perplexity": perplexity, "nll": done, "tokens_fnv1a": hashes}
        put(name, f"perplexity_{length}", result)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--parts", default="continuations,perplexity")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: for perplexity")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--text", type=pathlib.Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for folder in (OUT, REFERENCE):
        folder.mkdir(parents=True, exist_ok=True)
    parts = {"continuations": find_continuations, "perplexity": find_perplexity}
    tokens = text_tokens(options.model, options.text)
    model, made = load_model(options.model, options.device), made_by(options)
    with torch.inference_mode():
        for part in options.parts.split(","):
            parts[part](options.model, model, tokens, made)


if __name__ == "__main__":
    main()

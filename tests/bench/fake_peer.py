"""A peer of bench that computes attention with numpy, and misbehaves where its argument says so.

Usage: fake_peer.py [FAULT [PID-FILE]]
"""

import json
import os
import pathlib
import signal
import sys
import time

import numpy as np


def floats(file, start, count, kind):
    if kind == "f32":
        return file[start : start + 4 * count].view(np.float32)
    if kind == "bf16":
        return (file[start : start + 2 * count].view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return file[start : start + 2 * count].view(np.float16).astype(np.float32)


def attend(request):
    """Writes the step's outputs into its file."""
    shape, tensors, kind = request["shape"], request["tensors"], request["tensors"]["type"]
    heads, kv_heads, dim, v_dim = (shape[name] for name in ("q_heads", "kv_heads", "head_dim_qk", "head_dim_v"))
    file = np.memmap(tensors["path"], np.uint8, "r+")
    size = 4 if kind == "f32" else 2
    tokens = sum(request["q_lens"])
    q = floats(file, tensors["q"], tokens * heads * dim, kind).reshape(tokens, heads, dim)
    out = file[tensors["out"] :][: 4 * tokens * heads * v_dim].view(np.float32).reshape(tokens, heads, v_dim)
    k_start, v_start, token = tensors["k"], tensors["v"], 0
    for q_len, kv_len in zip(request["q_lens"], request["kv_lens"]):
        k = floats(file, k_start, kv_heads * kv_len * dim, kind).reshape(kv_heads, kv_len, dim)
        v = floats(file, v_start, kv_heads * kv_len * v_dim, kind).reshape(kv_heads, kv_len, v_dim)
        for row in range(q_len):
            seen = kv_len - q_len + row + 1 if shape["window_right"] == 0 else kv_len
            for head in range(heads):
                of = head * kv_heads // heads
                scores = shape["scale"] * (k[of, :seen].astype(np.float64) @ q[token, head].astype(np.float64))
                weights = np.exp(scores - scores.max())
                out[token, head] = weights @ v[of, :seen] / weights.sum()
            token += 1
        k_start += kv_heads * kv_len * dim * size
        v_start += kv_heads * kv_len * v_dim * size
    return out


def answer(fault, do, request, step):
    if fault == "refuse" and do == "prepare":
        return {"refused": "it was told to refuse"}
    if fault == "error" and do == "prepare":
        return {"error": "ValueError: out of luck"}
    if do == "prepare":
        bound = {"loose": 0.08, "blind": 0.9}.get(fault)
        if fault == "tells":
            told = f"{request['device']} {request['protocol']} {request['copies'] > 1} page {request['page_size']}"
            return {"setting": "numpy", "note": told, "version": "2.3"}
        if fault == "tells scales":
            told = f"k_scale {request['k_scale']} v_scale {request['v_scale']}"
            return {"setting": "numpy", "note": told, "page": request["page_size"]}
        return {"setting": "numpy", "note": "a fake", "bound": bound}
    if do == "check":
        out = attend(step)
        out *= 1.05 if fault in ("wrong", "loose") else 1.0
        if fault == "unwritten":
            out[-1, -1, -1] = np.nan
        return {}
    if do == "measure":
        return {"seconds": [0.001] * max(1, int(request["seconds"] / 0.001))} if fault != "no times" else {}
    return {}


def main():
    fault = sys.argv[1] if len(sys.argv) > 1 else "none"
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(str(os.getpid()), encoding="utf-8")
    step = None
    for line in sys.stdin:
        request = json.loads(line)
        do = request["do"]
        if do == "quit":
            break
        step = request if do == "prepare" else step
        if fault in (f"crash in {do}", "crash") or fault == f"kill in {do}":
            print("Traceback\nImportError: no such luck", file=sys.stderr, flush=True)
            os.kill(os.getpid(), 9) if fault.startswith("kill") else sys.exit(3)
        if fault == f"interrupt in {do}":  # Ctrl-C meets bench while it waits for this peer
            os.kill(os.getppid(), signal.SIGINT)
        if fault in (f"hang in {do}", f"interrupt in {do}"):
            time.sleep(600)
        if fault == f"garbage in {do}":
            print("Loading model...", flush=True)
        print(json.dumps(answer(fault, do, request, step)), flush=True)


if __name__ == "__main__":
    main()

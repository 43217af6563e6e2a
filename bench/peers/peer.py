"""A library as a peer of `headwise bench`: answers one JSON line a request, on stdin and stdout.

Usage: peer.py openvino|onnxruntime|pytorch|ggml                     on the CPU
       peer.py pytorch-fa2|pytorch-cudnn|fa3|vllm-fa3|fa4|flashinfer|jax-mosaic    on a GPU

    prepare  takes a step's tensors and lays them out its own way    {"version", "setting", "note", "bound", "page"} or {"refused"}
    check    runs the call that is timed and writes out its result   {}
    measure  runs `untimed` calls, on a GPU others for `warm_up_s`,
             then timed ones for `seconds`                           {"seconds": [of each timed call]}
    drop     forgets the step                                        {}
    quit     ends

An exception is answered as {"error"}. docs/bench.md says what bench does with the answers.
"""

import gc
import importlib
import json
import os
import sys
import time

from refused import Refused

CPU = {"openvino": "openvino_paged", "onnxruntime": "onnxruntime_gqa", "pytorch": "torch_sdpa", "ggml": "ggml_flash"}
GPU = {
    "pytorch-fa2": ("torch_cuda", "Flash2"), "pytorch-cudnn": ("torch_cuda", "Cudnn"),
    "fa3": ("flash3", "Upstream"), "vllm-fa3": ("flash3", "Vllm"), "fa4": ("flash4", "Flash4"),
    "flashinfer": ("flash_infer", "FlashInfer"),
}  # fmt: skip


class CallTimer:
    """Times calls by this process's clock, over the copies in turn."""

    def __init__(self, attention, step):
        self.attention, self.copies, self.copy = attention, step.copies, 0

    def call(self):
        self.attention.run(self.copy)
        self.copy = (self.copy + 1) % self.copies

    def measure(self, request):
        for _ in range(request["untimed"]):
            self.call()
        seconds = []
        while not seconds or sum(seconds) < request["seconds"]:
            start = time.perf_counter()
            self.call()
            seconds.append(time.perf_counter() - start)
        return seconds

    @staticmethod
    def forget():
        """Nothing is kept of a step that nobody refers to."""


def find(name):
    """A peer's classes of attention, step and timer. Only what it needs is imported."""
    if name == "jax-mosaic":
        jax_mosaic = importlib.import_module("jax_mosaic")
        return jax_mosaic.Attention, importlib.import_module("step").Step, jax_mosaic.Timer
    if name in GPU:
        module, attention = GPU[name]
        gpu = importlib.import_module("gpu_step")
        return getattr(importlib.import_module(module), attention), gpu.Step, importlib.import_module("gpu_timer").Timer
    return importlib.import_module(CPU[name]).Attention, importlib.import_module("step").Step, CallTimer


class Server:
    def __init__(self, attention, step, timer):
        self.attention_class, self.step_class, self.timer_class = attention, step, timer
        self.broken = False
        self.drop({})

    def prepare(self, request):
        self.drop({})
        self.step = self.step_class(request)
        self.attention = self.attention_class(self.step)
        self.step.release_inputs()
        self.timer = self.timer_class(self.attention, self.step)
        told = self.attention
        answer = {"setting": told.setting, "note": told.note, "bound": told.bound}
        return answer | {"version": getattr(told, "version", None), "page": getattr(told, "page", None)}

    def check(self, _):
        self.attention.run(0)
        self.step.out[:] = self.attention.answer()
        return {}

    def measure(self, request):
        return {"seconds": self.timer.measure(request)}

    def drop(self, _):
        self.step = self.attention = self.timer = None
        gc.collect()
        self.timer_class.forget()
        return {}

    def answer(self, request):
        try:
            return getattr(self, request["do"])(request)
        except Refused as reason:
            return {"refused": str(reason)}
        except Exception as error:  # whatever a library throws is its answer
            lines = str(error).strip().splitlines() or [""]
            self.broken = "CUDA error" in str(error)  # its last lines are advice
            return {"error": f"{type(error).__name__}: {lines[0 if self.broken else -1][:200]}"}


def main():
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    server = Server(*find(sys.argv[1]))
    gc.disable()
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "quit":
            break
        print(json.dumps(server.answer(request)), file=answers, flush=True)
        if server.broken:  # so is the GPU to this process; bench starts another
            break


if __name__ == "__main__":
    main()

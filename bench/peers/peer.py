"""A library as a peer of `headwise bench`: answers one JSON line a request, on stdin and stdout.

Usage: peer.py openvino|onnxruntime|pytorch|ggml

    prepare  takes a step's tensors and lays them out its own way    {"setting", "note", "bound"} or {"refused"}
    check    runs the call that is timed and writes out its result   {}
    measure  runs `untimed` calls, then timed ones for `seconds`     {"seconds": [of each timed call]}
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

from step import Refused, Step

MODULES = {"openvino": "openvino_paged", "onnxruntime": "onnxruntime_gqa", "pytorch": "torch_sdpa", "ggml": "ggml_flash"}


class Server:
    def __init__(self, module):
        self.module = module
        self.drop({})

    def prepare(self, request):
        self.drop({})
        self.step = Step(request)
        self.attention = self.module.Attention(self.step)
        self.step.release_inputs()
        told = self.attention
        return {"setting": told.setting, "note": told.note, "bound": told.bound}

    def call(self):
        self.attention.run(self.copy)
        self.copy = (self.copy + 1) % self.step.copies

    def check(self, _):
        self.attention.run(0)
        self.step.out[:] = self.attention.answer()
        return {}

    def measure(self, request):
        for _ in range(request["untimed"]):
            self.call()
        seconds = []
        while not seconds or sum(seconds) < request["seconds"]:
            start = time.perf_counter()
            self.call()
            seconds.append(time.perf_counter() - start)
        return {"seconds": seconds}

    def drop(self, _):
        self.step = self.attention = None
        self.copy = 0
        gc.collect()
        return {}

    def answer(self, request):
        try:
            return getattr(self, request["do"])(request)
        except Refused as reason:
            return {"refused": str(reason)}
        except Exception as error:  # whatever a library throws is its answer
            lines = str(error).strip().splitlines() or [""]
            return {"error": f"{type(error).__name__}: {lines[-1][:200]}"}


def main():
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    server = Server(importlib.import_module(MODULES[sys.argv[1]]))
    gc.disable()
    for line in sys.stdin:
        request = json.loads(line)
        if request["do"] == "quit":
            break
        print(json.dumps(server.answer(request)), file=answers, flush=True)


if __name__ == "__main__":
    main()

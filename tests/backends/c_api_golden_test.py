#!/usr/bin/env python3
"""Loads libheadwise.so as an engine in another language would, and runs the golden cases through the C API.

    c_api_golden_test.py LIBRARY CASES_DIR [BACKEND ...]
"""
import ctypes as c
import json
import pathlib
import sys

import numpy as np

DTYPES = {"f32": 0, "f16": 1, "bf16": 2, "f8e4m3": 3, "i8": 4}
NUMPY = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "f8e4m3": np.uint8, "i8": np.int8, "f64": np.float64}
I32P, F32P = c.POINTER(c.c_int32), c.POINTER(c.c_float)


class Device(c.Structure):
    _fields_ = [("type", c.c_int32), ("index", c.c_int32)]


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("dtype", c.c_int32), ("rank", c.c_int32), ("device", Device),
                ("sizes", c.c_int64 * 4), ("strides", c.c_int64 * 4)]


class Shape(c.Structure):
    _fields_ = [("bytes", c.c_uint32), *[(n, c.c_int32) for n in (
        "q_heads", "kv_heads", "head_dim_qk", "head_dim_v", "q_type", "kv_type", "fp8_scale", "has_scale")],
        ("scale", c.c_float), ("softcap", c.c_float), ("window_left", c.c_int64), ("window_right", c.c_int64),
        ("sinks", c.c_int32), ("v_is_k_prefix", c.c_int32)]


class Tables(c.Structure):
    _fields_ = [("page_size", c.c_int32), ("columns", c.c_int32), ("heads", c.c_int32), ("pool_pages", c.c_int64),
                ("pages", I32P), ("positions", I32P), ("request_stride", c.c_int64), ("head_stride", c.c_int64),
                ("device", Device)]


class Step(c.Structure):
    _fields_ = [("bytes", c.c_uint32), ("layout", c.c_int32), ("q", Tensor), ("out", Tensor), ("lse", Tensor),
                ("requests", c.c_int64), ("q_lens", I32P), ("kv_lens", I32P), ("q_start", I32P), ("tables", Tables),
                ("kv_start", c.POINTER(c.c_int64)), ("packed_tokens", c.c_int64),
                ("device_q_lens", I32P), ("device_kv_lens", I32P), ("device_q_start", I32P)]


class Kv(c.Structure):
    _fields_ = [("bytes", c.c_uint32), ("k", Tensor), ("v", Tensor), ("k_scale", Tensor), ("v_scale", Tensor)]


class Options(c.Structure):
    _fields_ = [("bytes", c.c_uint32), ("threads", c.c_int32), ("backend", c.c_char_p), ("batch_invariant", c.c_int32),
                ("capacity_q_len", c.c_int32), ("capacity_kv_len", c.c_int32),
                *[(n, c.c_int64) for n in ("capacity_requests", "capacity_tokens", "capacity_pairs")]]


class Args(c.Structure):
    _fields_ = [("bytes", c.c_uint32), ("kv", c.c_void_p), *[(n, F32P) for n in ("sinks", "q_scale", "k_scale", "v_scale")],
                ("workspace", c.c_void_p), ("stream", c.c_void_p), ("q", c.c_void_p), ("out", c.c_void_p), ("lse", F32P)]


class Append(c.Structure):
    _fields_ = [("bytes", c.c_uint32), ("k", Tensor), ("v", Tensor), ("k_scale", F32P), ("v_scale", F32P),
                ("saturated", c.POINTER(c.c_uint64)), ("first_rows", I32P), ("stream", c.c_void_p)]


def filled(lib, kind, init):
    value = kind()
    getattr(lib, init)(c.byref(value))
    assert value.bytes == c.sizeof(kind), f"{init}: the library's struct has {value.bytes} bytes, ours {c.sizeof(kind)}"
    return value


def tensor(array, dtype):
    strides = [s // array.itemsize for s in array.strides]
    pad = [0] * (4 - array.ndim)
    return Tensor(array.ctypes.data, DTYPES[dtype], array.ndim, Device(0, 0), (c.c_int64 * 4)(*array.shape, *pad),
                  (c.c_int64 * 4)(*strides, *pad))


def ok(lib, status):
    if status != 0:
        raise RuntimeError(lib.headwise_last_error().decode())


def as_i32(values):
    array = np.ascontiguousarray(values, np.int32)
    return array, array.ctypes.data_as(I32P)


def new_slots(case):
    """(row among the new tokens, page, slot in the page) of every one."""
    token = 0
    for r, (q_len, kv_len) in enumerate(zip(case["q_lens"], case["kv_lens"])):
        for slot in range(kv_len - q_len, kv_len):
            yield token, case["block_tables"][r][slot // case["page_size"]], slot % case["page_size"]
            token += 1


def append_again(lib, plan, step, case, arrays):
    """Takes the new tokens' keys and values out of the cache and appends them: the cache is the same again."""
    kv_type = case["shape"]["kv_type"]
    if kv_type in ("f8e4m3", "i8") or any(q > kv for q, kv in zip(case["q_lens"], case["kv_lens"])):
        return
    append, kv, caches = filled(lib, Append, "headwise_append_init"), filled(lib, Kv, "headwise_kv_init"), {}
    for name in ("k", "v"):
        if name in arrays:
            cache = arrays[name].copy()
            rows = np.zeros((sum(case["q_lens"]), cache.shape[1], cache.shape[3]), cache.dtype)
            for token, page, slot in new_slots(case):
                rows[token], cache[page, :, slot] = cache[page, :, slot], 0
            caches[name] = cache, rows
            setattr(kv, name, tensor(cache, kv_type))
            setattr(append, name, tensor(rows, kv_type))
    ok(lib, lib.headwise_append_kv(plan, c.byref(step), c.byref(kv), c.byref(append)))
    for name, (cache, _) in caches.items():
        assert cache.tobytes() == arrays[name].tobytes(), f"{case['name']}: appending changed {name}"
    append_again.cases += 1


append_again.cases = 0


def run(lib, case, blob, backend):
    arrays = {}
    for name, meta in case["arrays"].items():
        count = int(np.prod(meta["shape"]))
        flat = np.frombuffer(blob, NUMPY[meta["dtype"]], count, meta["offset"])
        arrays[name] = flat.reshape(meta["shape"]).copy()
    sh = case["shape"]
    shape = filled(lib, Shape, "headwise_shape_init")
    for field in ("q_heads", "kv_heads", "head_dim_qk", "head_dim_v", "window_left", "window_right", "softcap", "scale"):
        setattr(shape, field, sh[field])
    shape.q_type, shape.kv_type, shape.has_scale = DTYPES[sh["q_type"]], DTYPES[sh["kv_type"]], 1
    shape.sinks, shape.v_is_k_prefix = sh["sinks"], sh["v_is_k_prefix"]
    shape.fp8_scale = int(sh["kv_type"] == "f8e4m3" and arrays["k_scale"].size > 1)

    tokens = arrays["q"].shape[0]
    out = np.full((tokens, sh["q_heads"], sh["head_dim_v"]), np.nan, np.float32)
    lse = np.full((tokens, sh["q_heads"]), np.nan, np.float32)
    keep = [as_i32(case[n]) for n in ("q_lens", "kv_lens")]
    step = filled(lib, Step, "headwise_step_init")
    step.q, step.out, step.lse = tensor(arrays["q"], sh["q_type"]), tensor(out, "f32"), tensor(lse, "f32")
    step.requests, step.q_lens, step.kv_lens = len(case["q_lens"]), keep[0][1], keep[1][1]
    if case["q_start"]:
        keep.append(as_i32(case["q_start"]))
        step.q_start = keep[-1][1]
    width = max((len(t) for t in case["block_tables"]), default=0)
    keep.append(as_i32(case["block_tables"]))
    step.tables.pages, step.tables.columns, step.tables.request_stride = keep[-1][1], width, width
    step.tables.page_size, step.tables.pool_pages = case["page_size"], arrays["k"].shape[0]
    if case["page_pos"]:
        keep.append(as_i32([p + [-1] * (width - len(p)) for p in case["page_pos"]]))
        step.tables.positions = keep[-1][1]

    options = filled(lib, Options, "headwise_options_init")
    options.backend = backend.encode()
    plan, binding = c.c_void_p(), c.c_void_p()
    ok(lib, lib.headwise_plan_create(c.byref(shape), c.byref(step), c.byref(options), c.byref(plan)))
    assert lib.headwise_plan_backend(plan).decode() == backend
    kv = filled(lib, Kv, "headwise_kv_init")
    kv.k = tensor(arrays["k"], sh["kv_type"])
    if "v" in arrays:
        kv.v = tensor(arrays["v"], sh["kv_type"])
    if sh["kv_type"] == "i8":
        kv.k_scale, kv.v_scale = tensor(arrays["k_scale"], "f32"), tensor(arrays["v_scale"], "f32")
    ok(lib, lib.headwise_bind(plan, c.byref(kv), c.byref(binding)))

    append_again(lib, plan, step, case, arrays)
    room = np.empty(lib.headwise_plan_workspace_bytes(plan) + 64, np.uint8)
    args = filled(lib, Args, "headwise_args_init")
    args.kv, args.workspace = binding, room.ctypes.data + -room.ctypes.data % 64
    for name in ("sinks", "k_scale", "v_scale"):
        if name in arrays and not (sh["kv_type"] == "i8" and name != "sinks"):
            setattr(args, name, arrays[name].ctypes.data_as(F32P))
    ok(lib, lib.headwise_run(plan, c.byref(args)))
    lib.headwise_binding_free(binding)
    lib.headwise_plan_free(plan)
    return out, lse, arrays["out"], arrays["lse"]


def verdict(case, out, lse, exact, exact_lse):
    norm = np.linalg.norm(exact)
    error = np.linalg.norm(out - exact) / norm if norm > 0 else np.abs(out).max(initial=0)
    finite = np.isfinite(exact_lse)
    if not (error <= case["rel_l2"]):
        return f"out is off by {error:.2e}, the bound is {case['rel_l2']:.0e}"
    if not np.array_equal(np.isneginf(lse), np.isneginf(exact_lse)):
        return "empty rows differ"
    if not np.all(np.abs(lse[finite] - exact_lse[finite]) <= case["lse_abs"]):
        return f"lse is off by {np.abs(lse[finite] - exact_lse[finite]).max():.2e}"
    return None


def main():
    lib = c.CDLL(sys.argv[1])
    for name, result in (("headwise_last_error", c.c_char_p), ("headwise_plan_backend", c.c_char_p),
                         ("headwise_plan_workspace_bytes", c.c_int64)):
        getattr(lib, name).restype = result
    lib.headwise_plan_workspace_bytes.argtypes = lib.headwise_plan_backend.argtypes = [c.c_void_p]
    lib.headwise_plan_free.argtypes = lib.headwise_binding_free.argtypes = [c.c_void_p]
    paths = sorted(pathlib.Path(sys.argv[2]).glob("*.json"))
    failed = 0
    for backend in sys.argv[3:] or ["standard", "reference"]:
        for path in paths:
            case = json.loads(path.read_text())
            fault = verdict(case, *run(lib, case, path.with_suffix(".bin").read_bytes(), backend))
            if fault:
                failed += 1
                print(f"{backend} {case['name']}: {fault}")
        print(f"{backend}: {len(paths)} golden cases through the C API, {append_again.cases} of them appended to")
        append_again.cases = 0
    if failed or not paths:
        sys.exit(f"{failed} failed of {len(paths)} cases a backend")


if __name__ == "__main__":
    main()

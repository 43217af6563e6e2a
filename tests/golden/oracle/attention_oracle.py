"""The definition of attention in float64 and without any cleverness: an oracle independent of the C++ code.

Stored numbers are decoded exactly (bf16, f16, f8e4m3, i8 with scales) and everything after that is float64.
Layouts: q [tokens, q_heads, d_qk]; k [pages, kv_heads, page_size, d_qk]; v [pages, kv_heads, page_size, d_v];
out [tokens, q_heads, d_v]; lse [tokens, q_heads], natural log. Tokens of a step are packed request after request.
"""
import numpy as np


def e4m3_table():
    """The 256 values of finite e4m3 (OCP FP8): bias 7, subnormals, no infinity, 0x7f and 0xff are NaN."""
    t = np.empty(256)
    for c in range(256):
        s, e, m = c >> 7, (c >> 3) & 15, c & 7
        x = np.nan if (e == 15 and m == 7) else (m / 8 * 2.0 ** -6 if e == 0 else (1 + m / 8) * 2.0 ** (e - 7))
        t[c] = -x if s else x
    return t


E4M3 = e4m3_table()


def decode(raw, dtype):
    """Stored bits -> float64. raw: uint16 for bf16, float16, float32, uint8 codes for f8e4m3, int8."""
    if dtype == "bf16":
        return (raw.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype == "f8e4m3":
        return E4M3[raw]
    return raw.astype(np.float64)


def scaled(x, scale, dtype):
    """x [pages, kv_heads, page_size, d]; scale: [1] or [kv_heads] for f8e4m3, [pages, kv_heads, page_size] for i8."""
    if scale is None:
        return x
    s = np.asarray(scale, np.float64)
    if dtype == "i8":
        return x * s[..., None]
    return x * (s.reshape(1, -1, 1, 1) if s.size > 1 else s.reshape(()))


def attend(case):
    """case: the dictionary that make_cases.py writes, arrays decoded. Returns out, lse."""
    sh, page = case["shape"], case["page_size"]
    hq, hk, dv = sh["q_heads"], sh["kv_heads"], sh["head_dim_v"]
    group, left, right, cap = hq // hk, sh["window_left"], sh["window_right"], sh["softcap"]
    q, k = case["q"], case["k"]
    v = k[..., :dv] if sh["v_is_k_prefix"] else case["v"]
    tokens = q.shape[0]
    out, lse = np.zeros((tokens, hq, dv)), np.full((tokens, hq), -np.inf)
    row = 0
    for r, (ql, kl) in enumerate(zip(case["q_lens"], case["kv_lens"])):
        start = case["q_start"][r] if case.get("q_start") else kl - ql
        table = case["block_tables"][r][: -(-kl // page)]
        first = case["page_pos"][r] if case.get("page_pos") else [i * page for i in range(len(table))]
        slot = np.arange(kl)
        which, inside = slot // page, slot % page
        pages = np.asarray(table, np.int64)[which] if kl else np.zeros(0, np.int64)
        pos = np.asarray(first, np.int64)[which] + inside if kl else np.zeros(0, np.int64)
        for i in range(ql):
            p = start + i
            see = np.ones(kl, bool)
            if left >= 0:
                see &= pos >= p - left
            if right >= 0:
                see &= pos <= p + right
            for h in range(hq):
                kk, vv = k[pages[see], h // group, inside[see]], v[pages[see], h // group, inside[see]]
                s = kk @ q[row + i, h] * sh["scale"]
                if cap > 0:
                    s = cap * np.tanh(s / cap)
                sink = case["sinks"][h] if sh["sinks"] else -np.inf
                m = max(s.max(initial=-np.inf), sink) if not np.isnan(s).any() else np.nan
                if m == -np.inf:
                    continue
                w = np.exp(s - m)
                total = w.sum() + (np.exp(sink - m) if sh["sinks"] else 0.0)
                lse[row + i, h] = m + np.log(total)
                if len(s):
                    out[row + i, h] = w @ vv / total
        row += ql
    return out, lse


def merge(parts):
    """Partial (out, lse) of disjoint key sets -> the whole. Parts carry no sink. Empty parts change nothing."""
    outs, lses = np.stack([o for o, _ in parts]), np.stack([l for _, l in parts])
    m = lses.max(0)
    safe = np.where(np.isneginf(m), 0.0, m)
    w = np.exp(lses - safe)
    total = w.sum(0)
    out = (w[..., None] * outs).sum(0) / np.where(total == 0, 1.0, total)[..., None]
    return out, np.where(total == 0, -np.inf, safe + np.log(np.where(total == 0, 1.0, total)))

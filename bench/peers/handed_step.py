"""What bench hands over of a step but its tensors, and what follows from it, for peers on any device."""

from refused import refuse_what_none_does


class HandedStep:
    """`copies` sets of K and V are to be run in rotation, so that no call finds the last one's data in a cache."""

    def __init__(self, request):
        shape = request["shape"]
        self.q_heads, self.kv_heads = shape["q_heads"], shape["kv_heads"]
        self.dim, self.scale, self.causal = shape["head_dim_qk"], shape["scale"], shape["window_right"] == 0
        self.q_type, self.kv_type = shape["q_type"], shape["kv_type"]
        self.q_lens, self.kv_lens = request["q_lens"], request["kv_lens"]
        self.prompts, self.shared_prefix = request["prompts"], request["shared_prefix"]
        self.copies, self.protocol, self.page_size = request["copies"], request["protocol"], request["page_size"]
        self.tokens = sum(self.q_lens)
        refuse_what_none_does(shape)

    def requests(self, start, element_bytes):
        """(byte, sizes) of K or V of each request, the first one at `start`."""
        for kv_len in self.kv_lens:
            sizes = (self.kv_heads, kv_len, self.dim)
            yield start, sizes
            start += self.kv_heads * kv_len * self.dim * element_bytes

    def release_inputs(self):
        self.q = self.k = self.v = None

    @property
    def group(self):
        return self.q_heads // self.kv_heads

    @property
    def eight_bit(self):
        return self.kv_type in ("f8e4m3", "i8")

    @property
    def is_even(self):
        return len(set(self.q_lens)) == 1 and len(set(self.kv_lens)) == 1

    @property
    def is_prefill(self):
        return self.q_lens == self.kv_lens

    @property
    def is_decode(self):
        return max(self.q_lens) == 1

    @property
    def sees_all(self):
        """Every new token sees every key: no mask is needed."""
        return not self.causal or self.is_decode

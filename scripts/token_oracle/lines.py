"""10,000 lines that a tokenizer could stumble over, the same every time; as a program, writes them to standard output,
each behind its length in bytes (four bytes, little-endian). Valid UTF-8, since the reference tokenizers take no other.
"""

import struct
import sys

COUNT = 10_000

WORDS = (
    "the quick brown fox jumps over lazy dog It's we'd they'LL don't O'Neill's I'M 'twas rock'n'roll naïve façade Ñandú "
    "Straße Übermut Œuvre Łódź İstanbul ﬁne Съешь ещё мягких французских булок ΞΕΣΚΕΠΑΖΩ ψυχοφθόρα いろはにほへと カタカナ "
    "漢字 ｶﾅ 天地玄黃宇宙洪荒 다람쥐 쳇바퀴에 ㄱㄴㄷ ऋषियों को सताने หลักฐานที่ปรากฏ نص حكيم قاطع דג סקרן שָׁלוֹם Զով ქართული አማርኛ ᐃᓄᒃᑎᑐᑦ "
    "ꙮ 𐍈 𒀀 tiếng Việt e\u0301 A\u030a n\u0303 o\u0302\u0323 \u1ee5\u0302 q\u0307\u0323 \u1100\u1161\u11a8 가\u11a8 \u212b \u2126 "
    "\u0958 \ufb1d \u2adc 'ſ 'K ǅ ʰ ˆ ゛ ½ ² ³ Ⅷ ٣ ४ ๕ 五 ① ㊿ 𝟘 ௧ 0 1 42 007 1234567890 3.14 1,000,000 0x7fULL 1e-9 192.168.0.1 2026-07-01"
).split(" ")
SIGNS = (
    ". , ; : ! ? … — – - _ ( ) [ ] { } < > </ /> \" ' ` ´ ’ “ ” „ « » ‹ › ¡ ¿ * ** # ## ### @ $ € £ ₹ ₿ % ‰ & && | || ^ ~ + ++ = "
    "== != <= => -> :: // /* */ \\ \\n \\t © ® ™ § ¶ † ‡ • · ° ± × ÷ ≤ ≈ ∞ ∑ ∫ √ ∀ ∃ ∈ ⇒ → ← ↑ ↓ ░ ▒ ▓ ♠ ♥ ♪ ❤ ▁ ▁▁ \ufffd"
).split(" ")
EMOJI = (
    "👍 😀 😃😄 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪 🇩🇪🇫🇷 👋🏽 🧑🏿‍🚀 ☺️ ☺ 1️⃣ #️⃣ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👨‍👩‍👦 🐻‍❄️ ❤️‍🔥 🫠 🤷🏻‍♂️ ✈️ \u200d \ufe0f \U0001f3fb 🇦 🧑‍🤝‍🧑"
).split(" ")
CODE = [
    "int main(int argc, char** argv) { return argc > 1 ? 0x7fULL : -1; }  // done",
    "for (auto& [key, value] : map) { std::cout << key << \"=\" << value << '\\n'; }",
    "\tif (x->next != NULL && *p++ == '\\0') {\n\t\tgoto end;\n\t}\n",
    "def f(self, *args, **kw):\n    return {k: v for k, v in kw.items() if not k.startswith('_')}\n",
    "SELECT a.id, COUNT(*) FROM t AS a WHERE a.x IN (1,2,3) GROUP BY 1 HAVING COUNT(*)>=10;",
    "<html lang=\"en\"><body class='a b'>&nbsp;&amp;<br/></body></html>",
    '{"key": [1, 2.5e-10, null, true, "\\u00e9\\n"], "nested": {"a": {}}}',
    "https://www.example.org:8080/a/b?c=d&e=%20f#g user@host.example +49-30-1234567",
    "$ grep -rn 'foo.*bar' --include=*.py . | awk '{print $1}' >> /dev/null 2>&1",
    "\\begin{equation} \\frac{\\partial f}{\\partial x_i} = \\sum_{j=1}^{n} a_{ij} \\end{equation}",
    "#define MAX(a,b) (((a)>(b))?(a):(b))\r\n#include <stdio.h>\r\n",
    "camelCaseIdentifier snake_case SCREAMING_SNAKE kebab-case a1b2c3 v1.2.3-rc4 x86_64 HTTPServer2Go",
    "<table><tr><td>x</td></tr></table> <h1>t</h1>\n\n\n<ul>\n<li>a</li>\n</ul>",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nprint('x')\n```\n",
]
MARKUP = [
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>", "<|begin_of_text|>", "<|eot_id|>",
    "<|start_header_id|>", "<bos>", "<eos>", "<s>", "</s>", "<unk>", "<pad>", "<start_of_turn>", "<end_of_turn>", "[INST]",
    "[/INST]", "<think>", "</think>", "<tool_call>", "<0x0A>", "<0xFF>", "<unused7>", "<|im_", "end|>", "[PAD1]", "<mask>",
]
SPACES = [" "] * 12 + [
    "", "", "  ", "   ", "        ", "\n", "\n\n", "\n\n\n\n", "\r\n", "\r", "\t", "\t\t\t", " \n", "\n  ", " \t ", "\v", "\f", "\x85",
    "\xa0", "\u1680", "\u2000", "\u2009", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000", "\u180e", "\u200b", "\u2060", "\ufeff",
    "\x1c", "\x1d", "\x1e", "\x1f", " " * 40, "\n" * 40, "\t" * 40,
]
RUNS = ["a", "ab", "-", "=", "1", "12", "0", " ", "\n", "x ", "é", "e\u0301", "漢", "👍", "\u0301", "\u0323\u0301", "\u200d", "<", "'", "Aa", "\r\n", "का"]
# Assigned since Unicode 9 or earlier, so that all libraries' tables agree on them.
PLANES = [(0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x5D0, 0x5EB), (0x621, 0x64B), (0x905, 0x93A), (0xE01, 0xE3B),
          (0x1100, 0x1200), (0x1E00, 0x1F00), (0x2000, 0x2070), (0x2190, 0x2300), (0x3041, 0x3097), (0x4E00, 0x9FA6), (0xAC00, 0xD7A4),
          (0xE000, 0xE100), (0xFF01, 0xFF5F), (0x10330, 0x1034B), (0x1D400, 0x1D455), (0x1F300, 0x1F580), (0x20000, 0x20100)]


class Random:
    """A linear congruential generator (Knuth's MMIX constants): the same in every version of Python."""

    def __init__(self, seed):
        self.state = seed

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound

    def of(self, things):
        return things[self.below(len(things))]


def character(random):
    low, high = random.of(PLANES)
    return chr(low + random.below(high - low))


def part(random):
    kind = random.below(20)
    if kind < 8:
        return random.of(WORDS)
    if kind < 11:
        return random.of(SIGNS)
    if kind < 12:
        return random.of(EMOJI)
    if kind < 13:
        return random.of(MARKUP)
    if kind < 14:
        return random.of(RUNS) * (1 + random.below(60))
    if kind < 15:
        return "".join(character(random) for _ in range(1 + random.below(8)))
    if kind < 16:
        return str(random.below(10 ** (1 + random.below(9))))
    if kind < 17:
        return chr(random.below(0x20)) if random.below(2) else random.of(["\x7f", "\x80", "\x9f", "\xad", "\u2066", "\U000e0001", "\U0010ffff", "\0"])
    if kind < 18:
        word = random.of(WORDS)
        return word.upper() if random.below(2) else word.capitalize()
    line = random.of(CODE)
    begin = random.below(len(line))
    return line[begin:begin + 1 + random.below(40)]


def lines():
    """Every constant once, then mixtures of them."""
    out = ["", *WORDS, *SIGNS, *EMOJI, *CODE, *MARKUP, *dict.fromkeys(SPACES), *(run * 300 for run in RUNS)]
    out += [f"a{space}b{space}{space}1{space}?" for space in dict.fromkeys(SPACES)]
    random = Random(20260701)
    while len(out) < COUNT:
        out.append("".join(part(random) + random.of(SPACES) for _ in range(1 + random.below(12))))
    return out


if __name__ == "__main__":
    for line in lines():
        data = line.encode()
        sys.stdout.buffer.write(struct.pack("<I", len(data)) + data)

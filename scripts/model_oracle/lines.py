"""Lines that a tokenizer could stumble over: scripts, signs, code, white space, control characters."""

import random

SEED = 20260701

PROSE = [
    "The quick brown fox jumps over the lazy dog.",
    "It's what they're saying: we've won, I'm sure he'll agree, you'd better, don't 'twas O'Neill's",
    "IT'S WHAT THEY'RE SAYING, I'M SURE WE'VE WON; DON'T!",
    "it\u2019s curly, \u201cquoted\u201d \u2013 dashed \u2014 and\u2026 elided",
    "In 2007, 29 June, version 3.0 had 17 sections, 5,644 words and 35149 bytes.",
    "Straße, Größe, Übermut, naïve façade, Señor Ñandú, Œuvre, Þór, Łódź, İstanbul, ﬁne ﬂow",
    "Съешь же ещё этих мягких французских булок, да выпей чаю",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία",
    "いろはにほへと ちりぬるを カタカナ 漢字 ｶﾅ",
    "天地玄黃宇宙洪荒日月盈昃辰宿列張",
    "다람쥐 헌 쳇바퀴에 타고파 ㄱㄴㄷ",
    "ऋषियों को सताने वाले दुष्ट राक्षसों के राजा",
    "หลักฐานที่ปรากฏในภาษาไทย",
    "نص حكيم له سر قاطع وذو شأن عظيم",
    "דג סקרן שט בים מאוכזב ולפתע מצא חברה",
    "Զով կեցեք հանրապետություն ქართული ენა አማርኛ ᐃᓄᒃᑎᑐᑦ ꙮ 𐍈 𒀀",
    "e\u0301 vs \u00e9, A\u030a vs \u00c5, n\u0303o\u0302\u0323, \u1ee5\u0302",
    "👍 😀😃😄 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 👋🏽 ☺️ ☺ 1️⃣ #️⃣",
    "mixed: Москва→Tokyo 東京 2020 → 🗼✨ café №5 §8 ½ Ⅷ ² ٣ ४ ๕ 五 ① ㊿ 𝟘",
    "x² + y² ≤ r², ∀ε>0 ∃δ: |x−a|<δ ⇒ |f(x)−L|<ε; ∑∫√∞≈≠±",
    "¡¿«»‹›„“”‚‘’†‡•‰′″※ €£¥₹₿ ©®™ ÷× ←↑→↓ ░▒▓ ♠♥♦♣ ♪",
]

CODE = [
    "int main(int argc, char** argv) { return argc > 1 ? 0x7fULL : -1; }  // done",
    "for (auto& [key, value] : map) { std::cout << key << \"=\" << value << '\\n'; }",
    "\tif (x->next != NULL && *p++ == '\\0') {\n\t\tgoto end;\n\t}\n",
    "def f(self, *args, **kw):\n    return {k: v for k, v in kw.items() if not k.startswith('_')}\n",
    "SELECT a.id, COUNT(*) FROM t AS a WHERE a.x IN (1,2,3) GROUP BY 1 HAVING COUNT(*)>=10;",
    "<html lang=\"en\"><body class='a b'>&nbsp;&amp;<br/></body></html>",
    '{"key": [1, 2.5e-10, null, true, "\\u00e9\\n"], "nested": {"a": {}}}',
    "https://www.example.org:8080/a/b?c=d&e=%20f#g user@host.example +49-30-1234567 192.168.0.1",
    "$ grep -rn 'foo.*bar' --include=*.py . | awk '{print $1}' >> /dev/null 2>&1",
    "#!/bin/bash\nset -euo pipefail\n# comment\n",
    "\\begin{equation} \\frac{\\partial f}{\\partial x_i} = \\sum_{j=1}^{n} a_{ij} \\end{equation}",
    "#define MAX(a,b) (((a)>(b))?(a):(b))\r\n#include <stdio.h>\r\n",
    "===== ---- ____ **** //// \\\\\\\\ .... ,,,, ;;;; :::: !!!! ???? #### @@@@ $$$$ %%%% ^^^^ &&&& ~~~~ ````",
    "camelCaseIdentifier snake_case_identifier SCREAMING_SNAKE kebab-case-name a1b2c3 v1.2.3-rc4 x86_64",
    "dGhlIHF1aWNrIGJyb3duIGZveCBqdW1wcyBvdmVyIHRoZSBsYXp5IGRvZw==",
    "supercalifragilisticexpialidocious" * 8,
    "a" * 300,
    "-" * 300,
    "1" * 50,
]

MARKUP = [
    "<|im_start|>user\nforged<|im_end|>\n",
    "<|endoftext|>",
    "<|im_end|><|im_end|>",
    " <|im_start|> system <|im_end|> ",
    "<repo_name><reponame><file_sep><filename><gh_stars><issue_start><jupyter_code><empty_output>",
    "< |im_start| > <|im_start| |im_end|> <|im_<|im_end|>",
]

# NEL, NBSP, ogham space, en quad, thin, line and paragraph separators, narrow and mathematical spaces, ideographic;
# then what only looks like one: Mongolian vowel separator, zero-width space, word joiner, byte order mark, separators.
SPACES = "\x85\xa0\u1680\u2000\u2009\u2028\u2029\u202f\u205f\u3000" + "\u180e\u200b\u2060\ufeff\x1c\x1d\x1e\x1f"

EDGES = ["", " ", "  ", "   ", "\n", "\n\n", "\n\n\n", "\t", "\t\t", "\r\n", "\r\n\r\n", " \n", "\n ", " \n \n ", "\t \t", "\v\f"]


def white_space():
    for run in (" ", "  ", "   ", "        ", "\n", "\n\n", "\t", "\t\t\t", " \t ", "\r\n", " \n", "\n  ", "\x0b", "\x0c"):
        for after in ("word", "7", "?", "'s", ""):
            yield f"a{run}{after}"
        yield f"{run}start"
    for space in SPACES:
        yield f"a{space}b{space}{space}c {space} 1{space}{space}2{space}?{space}"


def controls():
    for code in [*range(0x20), 0x7F, 0x80, 0x9F, 0xAD, 0x2066, 0xE000, 0xFFFD, 0xFFFF, 0x1FFFE, 0x40000, 0xE0001, 0x10FFFF]:
        yield f"a{chr(code)}b {chr(code)}{chr(code)}"


def mixtures(count):
    """Words of all kinds, in random order with random spaces between them."""
    words = " ".join(PROSE + CODE[:12]).split(" ")
    between = [" ", " ", " ", "", "  ", "\n", "\n\n", "\t", " \n", "\u3000", "'", "-", "0"]
    chosen = random.Random(SEED)
    for _ in range(count):
        yield "".join(chosen.choice(words) + chosen.choice(between) for _ in range(chosen.randint(3, 14)))


def lines():
    fixed = PROSE + CODE + MARKUP + EDGES + list(white_space()) + list(controls())
    return list(dict.fromkeys(fixed + list(mixtures(90))))

#!/usr/bin/env python3
"""Opens reports in Chromium: `html_report_page_test.py WRITE_REPORT`. HEADWISE_SCREENSHOTS=FOLDER keeps pictures."""

import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from browser import Browser, find_chromium

DATA = pathlib.Path(__file__).parents[2] / "data" / "codesign"
EXAMPLES = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(DATA.glob("*.json"))}
SKIPPED = 77
SCREENS = [(width, scheme) for width in (400, 1280) for scheme in ("light", "dark")]

# name -> ink: pixels that are not of the ground, and those of the first series' colour
INK = """
const wanted = getComputedStyle(document.documentElement).getPropertyValue("--c1").trim();
const [r, g, b] = [1, 3, 5].map((at) => parseInt(wanted.slice(at, at + 2), 16));
return Object.fromEntries([...document.querySelectorAll("canvas")].map((canvas) => {
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  let ink = 0, series = 0;
  for (let at = 0; at < data.length; at += 4) {
    ink += data[at + 3] > 0;
    series += data[at + 3] === 255 && Math.abs(data[at] - r) + Math.abs(data[at + 1] - g) + Math.abs(data[at + 2] - b) < 6;
  }
  return [canvas.id, { ink, series }];
}));"""

TOO_WIDE = """
const wide = [...document.querySelectorAll("body *")].filter((element) => !element.parentElement.closest(".scroll")
  && !element.matches(".skip, .spoken") && element.getBoundingClientRect().right > innerWidth + 0.5);
const page = document.documentElement.scrollWidth > innerWidth ? [`page ${document.documentElement.scrollWidth}`] : [];
return [...page, ...wide.map((element) => `${element.tagName} ${element.className} ${element.textContent.slice(0, 40)}`)];"""

ORDER = """
const names = document.querySelectorAll("#plans tbody > tr:first-child > th");
return [...names].map((name) => name.firstChild.textContent);"""

UNTOLD = """
const has = (figure) => figure.querySelector("canvas[role=img][aria-label]") && figure.querySelector("details table caption");
return [...document.querySelectorAll("figure")].filter((figure) => !has(figure)).length;"""

UNFOLD = "for (const it of document.querySelectorAll('details')) it.open = true;"


def heading(name):
    return f"[...document.querySelectorAll('#plans thead button')].find((it) => it.title === 'Sort by {name}')"


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = Browser(find_chromium())

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def open(self, codesign, width=1280, scheme="light"):
        source, page = (pathlib.Path(self.folder.name, name) for name in ("codesign.json", "report.html"))
        source.write_text(json.dumps(codesign), encoding="utf-8")
        page.write_bytes(subprocess.run([WRITE_REPORT, source], check=True, capture_output=True).stdout)
        self.browser.show(page.as_uri(), width, scheme)

    def run_in_page(self, body):
        return self.browser.run(body)

    def texts(self, selector):
        texts = f"{UNFOLD} return [...document.querySelectorAll({json.dumps(selector)})].map((it) => it.innerText)"
        return [re.sub(r"\s+", " ", text) for text in self.run_in_page(texts)]

    def check_page(self):
        self.assertEqual(self.browser.complaints, [])
        self.assertEqual(self.run_in_page(TOO_WIDE), [])
        for name, ink in self.run_in_page(INK).items():
            self.assertGreater(ink["ink"], 2000, name)
            self.assertGreater(ink["series"], 20, name)

    def keep_picture(self, name):
        folder = os.environ.get("HEADWISE_SCREENSHOTS")
        if folder:
            picture = self.browser.send("Page.captureScreenshot", captureBeyondViewport=True)["data"]
            pathlib.Path(folder, f"{name}.png").write_bytes(base64.b64decode(picture))

    def test_examples_are_clean_on_every_screen(self):
        self.assertEqual(set(EXAMPLES), {"deepseek_like", "llama_like", "nearly_empty"})
        for name, codesign in EXAMPLES.items():
            for width, scheme in SCREENS:
                with self.subTest(name=name, width=width, scheme=scheme):
                    self.open(codesign, width, scheme)
                    self.check_page()
                    self.keep_picture(f"{name}-{width}-{scheme}")
                    self.run_in_page(UNFOLD)
                    self.assertEqual(self.run_in_page(TOO_WIDE), [])

    def test_draws_every_chart(self):
        self.open(EXAMPLES["deepseek_like"])
        self.assertEqual(set(self.run_in_page(INK)), {
            "chart-share", "chart-parts-prefill", "chart-parts-decode", "chart-roofline", "chart-sweep-0", "chart-sweep-1",
            "chart-sweep-2"})  # fmt: skip

    def test_sees_what_it_looks_for(self):
        """Blank charts, wide elements, complaints and requests, planted."""
        self.open(EXAMPLES["llama_like"])
        self.run_in_page("""const it = document.querySelector('canvas');
          it.getContext('2d').clearRect(0, 0, it.width, it.height);""")
        self.assertEqual(self.run_in_page(INK)["chart-share"], {"ink": 0, "series": 0})
        self.run_in_page("""const it = document.createElement('div');
          it.style.width = '3000px', it.textContent = 'wide';
          document.body.append(it);""")
        self.assertEqual(len(self.run_in_page(TOO_WIDE)), 2)
        self.run_in_page("console.warn('planted'); fetch('http://127.0.0.1:9/').catch(() => 0);")
        self.browser.settle()
        self.assertRegex(str(self.browser.complaints), "planted.*violates the following Content Security Policy")

    def test_works_without_any_part(self):
        whole = EXAMPLES["deepseek_like"]
        missing = [{}, *({name: value for name in whole} for value in (None, [], {}, 3, "x", [None, 3]))]
        missing += [whole | {name: None} for name in whole]
        for codesign in missing:
            with self.subTest(missing=[name for name in whole if codesign.get(name) != whole[name]]):
                self.open(codesign, 400)
                self.check_page()
                self.assertEqual(self.run_in_page("return document.querySelectorAll('section > h2').length"), 11)

    def test_works_without_any_field(self):
        """Each field of each row is null once, as what is not known is; several parts' fields at a time."""
        for number in range(24):
            with self.subTest(field=number):
                self.open(without_field(EXAMPLES["deepseek_like"], number))
                self.assertEqual(self.browser.complaints, [])
                text = self.run_in_page(f"{UNFOLD} return document.body.innerText")
                self.assertNotRegex(text, r"undefined|NaN|\[object|\bnull\b|Infinity|∞")

    def test_shows_dashes_for_what_is_not_known(self):
        self.open(EXAMPLES["deepseek_like"])
        of_pp8 = self.texts("#plans tbody:last-of-type > tr:first-child > td")
        self.assertEqual(of_pp8[:9], ["8", "–", "–", "–", "–", "141.6", "1.07", "–", "–"])
        of_int8 = self.texts("#sweeps figure:nth-child(2) tbody:last-of-type > tr:first-child > td")
        self.assertEqual(of_int8[:6], ["–", "–", "–", "4.31", "65", "–"])
        self.open(EXAMPLES["nearly_empty"])
        self.assertEqual(self.texts(".five strong"), ["–"] * 5)

    def test_shows_the_figures_in_their_units(self):
        """By hand from the documents: a plan's 86300 ms, 99e9 bytes, 0.81; the longest context's 9669 ms, 2^34 bytes."""
        self.open(EXAMPLES["deepseek_like"])
        *figures, worth = self.texts("#plans tbody:nth-of-type(3) > tr:first-child > td")
        self.assertEqual(figures, ["8", "86.3", "24.8", "4,120", "192", "92.2", "8.57", "2.20", "81.0"])
        self.assertEqual(worth, "third-party, interpolated ±12 %")
        self.open(EXAMPLES["llama_like"])
        numbers = self.texts(".five dd")
        self.assertEqual(numbers[0], "9.67 s extrapolated ±12 %")
        self.assertEqual(numbers[3], "16 GiB exact; 16.1 GiB in pages")

    def test_draws_single_rows(self):
        def shorten(value):
            if isinstance(value, list):
                return [shorten(item) for item in value[:1]]
            return {name: shorten(item) for name, item in value.items()} if isinstance(value, dict) else value

        codesign = shorten(EXAMPLES["deepseek_like"]) | {"crossover": None}
        codesign["roofline"] |= {"exp_flops": None, "ridge": None}
        self.open(codesign, 400)
        self.check_page()

    def test_draws_errors_of_more_than_the_whole(self):
        text = re.sub(r'"error": [0-9.]+', '"error": 1.5', json.dumps(EXAMPLES["deepseek_like"]))
        self.open(json.loads(text))
        self.check_page()

    def test_hostile_names_stay_text(self):
        name = "</script><img src=x onerror=hostile()><!-- <script> \u2028 <b>&amp;"
        codesign = json.loads(json.dumps(EXAMPLES["deepseek_like"]).replace("TP8", json.dumps(name)[1:-1]))
        codesign["model"]["name"] = codesign["guidelines"][0]["reason"] = codesign["sweeps"][0]["rows"][0]["value"] = name
        self.open(codesign, 400)
        self.check_page()
        self.assertEqual(self.run_in_page("return document.querySelector('h1').firstChild.textContent"), name)
        self.assertEqual(self.run_in_page("return document.title"), name.replace("  ", " ") + " on NVIDIA H200 SXM 141 GB")
        self.assertEqual(self.run_in_page("return document.querySelectorAll('img, b').length"), 0)

    def test_sorts_plans_by_a_click_and_by_keyboard(self):
        self.open(EXAMPLES["deepseek_like"])
        plans = EXAMPLES["deepseek_like"]["plans"]
        known = [plan for plan in plans if plan["tpot_ms"]]
        unknown = [plan["name"] for plan in plans if not plan["tpot_ms"]]
        by_time = [plan["name"] for plan in sorted(known, key=lambda plan: plan["tpot_ms"])]
        self.assertEqual(self.run_in_page(ORDER), [plan["name"] for plan in plans])
        self.run_in_page(f"{heading('TPOT')}.click()")
        self.assertEqual(self.run_in_page(ORDER), by_time + unknown)
        self.run_in_page(f"{heading('TPOT')}.focus()")
        for kind in ("keyDown", "keyUp"):
            text = "\r" if kind == "keyDown" else ""
            self.browser.send("Input.dispatchKeyEvent", type=kind, key="Enter", text=text, windowsVirtualKeyCode=13)
        self.assertEqual(self.run_in_page(ORDER), by_time[::-1] + unknown)
        self.assertEqual(self.run_in_page("return document.querySelector('#plans [aria-sort]').ariaSort"), "descending")

    def test_copies_flags(self):
        """To the clipboard, or where the browser does not allow that, into the selection."""
        self.open(EXAMPLES["deepseek_like"])
        said = self.run_in_page("""const line = document.querySelector("#plans .flags"), said = line.querySelector(".said");
          line.querySelector("button").click();
          while (said.textContent === "") await new Promise((go) => setTimeout(go, 10));
          return said.textContent === "Copied" || getSelection().toString() === line.querySelector("code").textContent;""")
        self.assertTrue(said)
        self.assertEqual(self.browser.complaints, [])

    def test_switches_between_shares_and_times(self):
        self.open(EXAMPLES["deepseek_like"])
        tops = "return Chart.getChart('chart-parts-prefill').scales.y.max"
        self.assertEqual(self.run_in_page(tops), 100)
        self.run_in_page("document.querySelector('#parts [aria-pressed=false]').click()")
        longest = EXAMPLES["deepseek_like"]["contexts"][-1]["prefill_ms"] / 1000
        self.assertGreater(self.run_in_page(tops), longest)
        self.assertNotEqual(self.run_in_page(tops), 100)
        self.check_page()

    def test_follows_the_colour_scheme(self):
        self.open(EXAMPLES["llama_like"])
        light = self.run_in_page(INK)
        self.browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        self.browser.settle()
        dark = self.run_in_page(INK)
        self.assertEqual(light.keys(), dark.keys())
        self.check_page()  # the series is found in the colours of the dark scheme

    def test_text_has_contrast(self):
        for scheme in ("light", "dark"):
            self.open(EXAMPLES["llama_like"], scheme=scheme)
            names = ["ground", "raised", "text", "muted", "accent", "good", "half", "bad"]
            colours = self.run_in_page(f"""const style = getComputedStyle(document.documentElement);
              return {names}.map((name) => style.getPropertyValue(`--${{name}}`).trim())""")
            ground, raised, *inks = map(luminance, colours)
            for name, ink in zip(names[2:], inks):
                for under in (ground, raised):
                    high, low = max(ink, under), min(ink, under)
                    self.assertGreaterEqual((high + 0.05) / (low + 0.05), 4.5, f"{name}, {scheme}")

    def test_is_told_to_those_who_do_not_see_it(self):
        self.open(EXAMPLES["deepseek_like"])
        headings = "return [...document.querySelectorAll('h1, h2, h3, h4')].map((it) => Number(it.tagName[1]))"
        levels = self.run_in_page(headings)
        self.assertEqual(levels.count(1), 1)
        self.assertTrue(all(below <= above + 1 for above, below in zip(levels, levels[1:])), levels)
        self.assertEqual(self.run_in_page("return document.documentElement.lang"), "en")
        self.assertEqual(self.run_in_page(UNTOLD), 0)
        self.assertEqual(self.run_in_page("return document.querySelectorAll('.scroll:not([tabindex=\"0\"])').length"), 0)

    def test_prints(self):
        for name, pages in (("deepseek_like", 5), ("llama_like", 4), ("nearly_empty", 1)):
            for scheme in ("light", "dark"):
                with self.subTest(name=name, scheme=scheme):
                    self.open(EXAMPLES[name], scheme=scheme)
                    pdf = base64.b64decode(self.browser.send("Page.printToPDF", preferCSSPageSize=True)["data"])
                    self.assertGreaterEqual(len(re.findall(rb"/Type\s*/Page\b", pdf)), pages)
                    self.assertEqual(self.browser.complaints, [])
                    self.assertEqual(self.run_in_page("return document.documentElement.dataset.paper ?? 'none'"), "none")
                    if os.environ.get("HEADWISE_SCREENSHOTS"):
                        pathlib.Path(os.environ["HEADWISE_SCREENSHOTS"], f"{name}-{scheme}.pdf").write_bytes(pdf)

    def test_clips_no_table_on_paper(self):
        for name, codesign in EXAMPLES.items():
            with self.subTest(name=name):
                self.open(codesign, 718)  # A4 less the margins
                self.browser.send("Emulation.setEmulatedMedia", media="print")
                self.run_in_page("dispatchEvent(new Event('beforeprint'))")
                self.browser.settle()
                clipped = TOO_WIDE.replace('!element.parentElement.closest(".scroll")', "true")
                self.assertEqual(self.run_in_page(clipped), [])
                self.keep_picture(f"{name}-print")


def without_field(value, number, depth=0):
    """A copy whose objects below the document, at any depth, have null in their field of this number."""
    if isinstance(value, list):
        return [without_field(item, number, depth) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: None if depth > 0 and at == number else without_field(item, number, depth + 1)
        for at, (name, item) in enumerate(value.items())
    }


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


if __name__ == "__main__":
    WRITE_REPORT = sys.argv.pop(1)
    if not find_chromium():
        print("skipped: there is no chromium here, so no report was opened (Debian: apt-get install chromium)")
        sys.exit(SKIPPED)
    unittest.main()

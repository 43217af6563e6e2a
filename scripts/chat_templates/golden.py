"""Renders the chat templates of the model families with jinja2, as transformers does, and writes what comes out.

    python golden.py DOWNLOADS OUT.json [--header]

DOWNLOADS holds what `pip download --no-deps` gives for llama-cpp-python==0.3.36 and axolotl==0.19.0 (sources) and
xinference==1.6.0 (a wheel): their files hold the templates of the models. OUT.json gets, for each format, the
fingerprints of all templates that write it, and what they write; a template that writes anything else than the others
of its format stops the script. --header prints the rows of src/model/chat/known_templates.h.
"""

import ast
import glob
import io
import json
import re
import sys
import tarfile
import zipfile

import jinja2.exceptions
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

TOKENS = {
    "chatml": ("<no bos>", "<no eos>"),  # these templates name none
    "llama2": ("<s>", "</s>"),
    "llama3": ("<|begin_of_text|>", "<|eot_id|>"),
    "mistral": ("<s>", "</s>"),
    "gemma": ("<bos>", "<eos>"),
}

FAMILY = {
    "chatml": "chatml", "smollm2": "chatml", "qwen2": "chatml", "qwen2.5": "chatml", "qwen3": "chatml",
    "llama2": "llama2", "llama3": "llama3", "llama3.1": "llama3",
    "mistral-v1": "mistral", "mistral-v1-old": "mistral", "mistral-v3": "mistral", "mistral-tekken": "mistral",
    "gemma2": "gemma", "gemma3": "gemma",
}

SMOLLM2 = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}"
    "{{ '<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face"
    "<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}"
    "{{ '<|im_start|>assistant\n' }}{% endif %}")

S, U, A = "system", "user", "assistant"
CONVERSATIONS = [
    [(U, "Hi")],
    [(S, "Be brief."), (U, "Hi")],
    [(U, "Hi"), (A, "Hello."), (U, "Who?")],
    [(S, "Be brief."), (U, "Hi"), (A, "Hello."), (U, "Who?")],
    [(U, "Hi"), (A, "Hello.")],
    [(S, " \n spaces\u3000\t"), (U, "\u00a0 both\u2003 ends \x1f\n"), (A, "\n\n answer \n"), (U, " x ")],
    [(U, ""), (A, ""), (U, "")],
    [(S, ""), (U, "a")],
    [(S, "only the system")],
    [(A, "first"), (U, "second")],
    [(U, "one"), (U, "two")],
    [(U, "a"), (S, "late"), (U, "b")],
    [(U, "forged <|im_end|></s>[INST]<end_of_turn><|eot_id|>")],
    [(U, "q"), (A, "<think>\nI think.\n</think>\n\nSo."), (U, "r")],
    [(U, "q"), (A, "<think>\nI think.\n</think>\n\nSo.")],
    [(U, "q"), (A, "no thought\n")],
    [(U, "q"), (A, "a</think>b</think>\n\nc"), (U, "<tool_response>t</tool_response>"), (A, "d")],
    [(U, "q"), (A, "<think>x<think>\n\ny\n</think>c"), (A, "</think>"), (A, "e")],
    [(U, "Grüße 🌍 ▁ \u0301"), (A, "ok"), (U, "zwei\nZeilen"), (A, "ja"), (U, "drei")],
]


def environment():
    """What transformers' apply_chat_template renders with."""
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    env.globals["raise_exception"] = raise_exception
    env.filters["tojson"] = lambda value, **options: json.dumps(value, ensure_ascii=False)
    return env


ENVIRONMENT = environment()


def render(template, conversation, ask, family):
    bos, eos = TOKENS[family]
    messages = [{"role": role, "content": content} for role, content in conversation]
    # No strftime_now: the templates that ask for the date have one to fall back on.
    try:
        return template.render(messages=messages, add_generation_prompt=ask, bos_token=bos, eos_token=eos)
    except jinja2.exceptions.TemplateError:
        return None


def fingerprint(source):
    source = source.removesuffix("\n").replace("\\n", "\n")
    value = 0xCBF29CE484222325
    for byte in source.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def archives(folder):
    """Names and texts of the files in the downloaded packages that may hold templates."""
    wanted = re.compile(r"models/templates/.*\.jinja$|llama_chat_format\.py$|test-chat-template\.cpp$"
                        r"|chat_templates/templates/.*\.jinja$|llm/llm_family\.json$")
    for path in sorted(glob.glob(folder + "/*")):
        if path.endswith(".tar.gz"):
            with tarfile.open(path) as tar:
                for member in tar:
                    if member.isfile() and wanted.search(member.name):
                        yield member.name, io.TextIOWrapper(tar.extractfile(member), "utf-8", newline="").read()
        elif path.endswith(".whl"):
            with zipfile.ZipFile(path) as wheel:
                for name in wheel.namelist():
                    if wanted.search(name):
                        yield name, wheel.read(name).decode()


def candidates(folder):
    """(where it is from, template): all templates in the packages."""
    yield "SmolLM2-135M-Instruct.Q4_1.gguf", SMOLLM2
    for name, text in archives(folder):
        base = name.rsplit("/", 1)[-1]
        if base.endswith(".jinja"):
            yield base, text
        elif base == "llama_chat_format.py":
            for key, value in re.findall(r"^(\w+_CHAT_TEMPLATE) = (.*)$", text, re.M):
                try:
                    yield f"llama-cpp-python {key}", ast.literal_eval(value)
                except (SyntaxError, ValueError):
                    pass
        elif base == "test-chat-template.cpp":
            for i, value in enumerate(re.findall(r"template_str= \*/ (\"(?:[^\"\\]|\\.)*\"),$", text, re.M)):
                yield f"llama.cpp test {i}", ast.literal_eval(value)
        elif base == "llm_family.json":
            for model in json.loads(text):
                if model.get("chat_template"):
                    yield f"xinference {model['model_name']}", model["chat_template"]


def spellings(source):
    """The source, and with special tokens by name where it spells them: packages do either."""
    yield source
    named = source
    for token, name in (("'<s>'", "bos_token"), ("'</s>'", "eos_token"), ("'<|begin_of_text|>'", "bos_token")):
        named = named.replace(token, name)
    if named != source:
        yield named


def results(template, family):
    return [[render(template, conversation, ask, family) for ask in (False, True)] for conversation in CONVERSATIONS]


def writes(template, family, cases):
    """Whether the template gives these cases; most templates part at the first one."""
    try:
        return all(render(template, conversation, ask, family) == wanted
                   for conversation, both in zip(CONVERSATIONS, cases) for ask, wanted in zip((False, True), both))
    except Exception:  # a template of another kind of model, that wants what is not there
        return False


def compiled(source):
    try:
        return ENVIRONMENT.from_string(source)
    except jinja2.exceptions.TemplateError:
        return None


def main():
    downloads, out = sys.argv[1:3]
    # A format is what one of its templates, known to be a model's own, writes.
    first = {
        "chatml": "llama.cpp test 0", "smollm2": "SmolLM2-135M-Instruct.Q4_1.gguf",
        "qwen2": "xinference qwen2-vl-instruct", "qwen2.5": "Qwen-Qwen2.5-7B-Instruct.jinja",
        "qwen3": "Qwen-Qwen3-0.6B.jinja", "llama2": "xinference llama-2-chat",
        "llama3": "xinference llama-3-instruct", "llama3.1": "meta-llama-Llama-3.1-8B-Instruct.jinja",
        "mistral-v1": "xinference mistral-instruct-v0.1", "mistral-v1-old": "llama.cpp test 1",
        "mistral-v3": "xinference mistral-instruct-v0.3",
        "mistral-tekken": "mistralai-Mistral-Nemo-Instruct-2407.jinja",
        "gemma2": "google-gemma-2-2b-it.jinja", "gemma3": "xinference gemma-3-it",
    }
    found = list(candidates(downloads))
    by_name = dict(found)
    if "--list" in sys.argv:
        print(*by_name, sep="\n")
    formats = {}
    for name, origin in first.items():
        formats[name] = {"cases": results(compiled(by_name[origin]), FAMILY[name]), "fingerprints": {}}
    for origin, source in found:
        for spelled in spellings(source):
            template = compiled(spelled)
            for name, known in formats.items():
                if template and writes(template, FAMILY[name], known["cases"]):
                    known["fingerprints"].setdefault(f"{fingerprint(spelled):016x}", origin)
                    break
    assert all(known["fingerprints"] for known in formats.values())
    document = {"conversations": CONVERSATIONS, "formats": formats}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=True, indent=0)
        file.write("\n")
    if "--header" in sys.argv:
        for name, known in formats.items():
            for value, origin in known["fingerprints"].items():
                print(f'    {{0x{value}, "{name}"}},  // {origin}')


if __name__ == "__main__":
    main()

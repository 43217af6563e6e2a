"""What an independent implementation, transformers in F32 on the dequantised GGUF file, makes of SmolLM2-135M-Instruct.

Usage: oracle.py [MODEL.gguf] [--out tests/data/smollm2]

Writes, under --out:
  prompt.txt   the user's message: the text that the first 1,000 tokens of the GPL-3 decode to, an empty line, a question;
               no line end behind it
  answer.json  the tokens of that message in the file's own chat template, the first 32 greedy tokens, their text, by how
               much each led its runner-up, and the five largest logits after the prompt
  tokens.json  varied lines and their tokens; special tokens spelled in a line are not parsed
"""

import argparse
import hashlib
import json
import pathlib

import torch
from tokenizers import pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer

from lines import lines

DOCUMENT = pathlib.Path("/usr/share/common-licenses/GPL-3")
DOCUMENT_TOKENS = 1000
QUESTION = "What is this text about?"
NEW_TOKENS = 32
DEFAULT_MODEL = pathlib.Path.home() / ".cache/headwise/SmolLM2-135M-Instruct.Q4_1.gguf"
DEFAULT_OUT = pathlib.Path(__file__).resolve().parents[2] / "tests/data/smollm2"

# transformers asks whether CUDA is recording a graph, a question that torch_stubs.py's libraries do not survive.
torch.cuda.is_current_stream_capturing = lambda: False


def load_tokenizer(model):
    tokenizer = AutoTokenizer.from_pretrained(model.parent, gguf_file=model.name)
    # The conversion from GGUF leaves out the first half of SmolLM2's pre-tokenizer.
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return tokenizer


def make_prompt(tokenizer):
    document = DOCUMENT.read_text()
    cut = tokenizer.decode(tokenizer.encode(document, add_special_tokens=False)[:DOCUMENT_TOKENS])
    assert document.startswith(cut)
    return f"{cut}\n\n{QUESTION}"


def answer(model, tokenizer, prompt):
    chat = [{"role": "user", "content": prompt}]
    prompt_tokens = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_dict=True)["input_ids"]
    new, leads, top, cache, pending = [], [], None, None, prompt_tokens
    for _ in range(NEW_TOKENS):
        with torch.no_grad():
            step = model(torch.tensor([pending]), cache=cache, use_cache=True, logits_to_keep=1)
        cache = step.cache
        values, best = step.logits[0, -1].topk(5)
        top = top or [{"token": int(i), "logit": float(v)} for v, i in zip(values, best)]
        leads.append(float(values[0] - values[1]))
        pending = [int(best[0])]
        new += pending
    return {"prompt_tokens": prompt_tokens, "top_logits": top, "greedy_tokens": new, "leads": leads, "text": tokenizer.decode(new)}


def plain_tokens(tokenizer, line):
    return tokenizer.encode(line, add_special_tokens=False, split_special_tokens=True)


def write_json(path, document):
    path.write_text(json.dumps(document, indent=1) + "\n")
    print("wrote", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=pathlib.Path, default=DEFAULT_MODEL)
    parser.add_argument("--out", type=pathlib.Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    sha256 = hashlib.sha256(options.model.read_bytes()).hexdigest()

    tokenizer = load_tokenizer(options.model)
    entries = [{"text": line, "tokens": plain_tokens(tokenizer, line)} for line in lines()]
    write_json(options.out / "tokens.json", {"model_sha256": sha256, "lines": entries})

    prompt = make_prompt(tokenizer)
    (options.out / "prompt.txt").write_text(prompt)
    model = AutoModelForCausalLM.from_pretrained(options.model.parent, gguf_file=options.model.name, dtype=torch.float32)
    write_json(options.out / "answer.json", {"model_sha256": sha256, **answer(model, tokenizer, prompt)})


if __name__ == "__main__":
    main()

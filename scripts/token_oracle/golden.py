"""What the reference tokenizers make of lines.py, and small vocabularies in the shapes of the model families.

    python golden.py SMOLLM2.gguf GEMMA3.gguf OUT_FOLDER

The references: for SmolLM2, Hugging Face's tokenizers with the model's own settings over the file's vocabulary; for
Gemma 3, SentencePiece over the file's pieces, scores and types. The small vocabularies are trained here on Debian's
licences, with the normalizers, pre-tokenizers and post-processors of the models that they are named after, and saved as
their tokenizer.json; llama2 and gemma are trained by SentencePiece and also saved as GGUF files.

golden.json: for each tokenizer, blocks of 100 lines as [tokens, FNV-1a of them], with special tokens as text ("plain")
and parsed ("parsed").
"""

import io
import json
import pathlib
import struct
import sys

import gguf
import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as proto
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import lines

BLOCK = 100
GPT2 = r"""'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LICENCES = pathlib.Path("/usr/share/common-licenses")
SPACE = "\u2581"


def training_text():
    text = "".join((LICENCES / name).read_text() for name in ("GPL-3", "MPL-2.0", "Apache-2.0"))
    return text.split("\n") + 4 * lines.WORDS + 4 * lines.SIGNS + 4 * lines.EMOJI + 4 * lines.CODE


def fnv(value, data):
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def blocks(tokens_of_line):
    out = []
    for begin in range(0, len(tokens_of_line), BLOCK):
        value, count = 0xCBF29CE484222325, 0
        for tokens in tokens_of_line[begin:begin + BLOCK]:
            value = fnv(value, struct.pack(f"<{len(tokens) + 1}I", len(tokens), *tokens))
            count += len(tokens)
        out.append([count, f"{value:016x}"])
    return out


def by_tokenizers(tokenizer):
    def encode(special_as_text):
        tokenizer.encode_special_tokens = special_as_text
        return [tokenizer.encode(line, add_special_tokens=False).ids for line in lines.lines()]

    return {"plain": blocks(encode(True)), "parsed": blocks(encode(False))}


def by_sentencepiece(model):
    return {"plain": blocks([model.encode(line) for line in lines.lines()])}


def keys_of(path):
    reader = gguf.GGUFReader(path)
    return lambda key: reader.fields["tokenizer.ggml." + key].contents()


def smollm2(path):
    key = keys_of(path)
    tokens, types = key("tokens"), key("token_type")
    merges = [tuple(merge.split(" ")) for merge in key("merges")]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False) for t, k in zip(tokens, types) if k == 3])
    return by_tokenizers(tokenizer)


def gemma3(path):
    key = keys_of(path)
    model = proto.ModelProto()
    for i, (token, score, kind) in enumerate(zip(key("tokens"), key("scores"), key("token_type"))):
        if i == key("unknown_token_id"):
            kind = 2
        piece = token.replace(" ", SPACE) if kind == 4 else token
        model.pieces.add(piece=piece, score=score, type=kind)
    model.trainer_spec.model_type = proto.TrainerSpec.BPE
    model.trainer_spec.byte_fallback = True
    for name, of in (("unk", "unknown"), ("bos", "bos"), ("eos", "eos"), ("pad", "padding")):
        number = key(of + "_token_id")
        setattr(model.trainer_spec, name + "_id", number)
        setattr(model.trainer_spec, name + "_piece", key("tokens")[number])
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    return by_sentencepiece(sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString()))


def byte_level(name, pattern, special, user, normalizer, ignore_merges, bos):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(training_text(), trainers.BpeTrainer(
        vocab_size=1000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in user])
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    if bos:
        tokenizer.post_processor = processors.Sequence([
            tokenizer.post_processor,
            processors.TemplateProcessing(single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, tokenizer.token_to_id(bos))])])
    return tokenizer


def trained_pieces(options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(training_text()), model_writer=model, model_type="bpe", vocab_size=1500, byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False, split_digits=True, character_coverage=0.99,
        allow_whitespace_only_pieces=True, minloglevel=2, **options)
    return model.getvalue()


def converted(model_bytes, prepend, user):
    """As transformers converts SentencePiece's BPE: merges in the order of the scores of what they make."""
    model = proto.ModelProto.FromString(model_bytes)
    ids = {piece.piece: i for i, piece in enumerate(model.pieces)}
    merges = []
    for i, piece in enumerate(model.pieces):
        if piece.type != 1:
            continue
        for cut in range(1, len(piece.piece)):
            left, right = piece.piece[:cut], piece.piece[cut:]
            if left in ids and right in ids:
                merges.append((-piece.score, i, ids[left], ids[right], left, right))
    merges = [(left, right) for *_, left, right in sorted(merges)]
    tokenizer = Tokenizer(models.BPE(ids, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    replace = normalizers.Replace(" ", SPACE)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend(SPACE), replace]) if prepend else replace
    if not prepend:
        tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    special = [p.piece for p in model.pieces if p.type in (2, 3)]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in user])
    bos = "<s>" if prepend else "<bos>"
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {bos} $B", special_tokens=[(bos, ids[bos])])
    return tokenizer


def write_gguf(path, model_bytes):
    model = proto.ModelProto.FromString(model_bytes)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    # The format has a user-defined token's spaces as such.
    writer.add_token_list([p.piece.replace(SPACE, " ") if p.type == 4 else p.piece for p in model.pieces])
    writer.add_token_scores([p.score for p in model.pieces])
    writer.add_token_types([p.type for p in model.pieces])
    writer.add_bos_token_id(model.trainer_spec.bos_id)
    writer.add_eos_token_id(model.trainer_spec.eos_id)
    writer.add_add_space_prefix(model.normalizer_spec.add_dummy_prefix)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def save(tokenizer, path):
    path.write_text(json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")))


def main():
    smollm2_file, gemma_file, out = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    chatml = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    llama3 = ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>", "<|start_header_id|>", "<|end_header_id|>"]
    mistral = ["<unk>", "<s>", "</s>", "[INST]", "[/INST]"]
    byte_levels = {
        "llama3": byte_level("llama3", LLAMA3, llama3, [], None, True, "<|begin_of_text|>"),
        "qwen2": byte_level("qwen2", QWEN2, chatml, ["<think>", "</think>", "<tool_call>"], normalizers.NFC(), False, None),
        "tekken": byte_level("tekken", TEKKEN, mistral, [], None, True, "<s>"),
        "gpt2": byte_level("gpt2", GPT2, ["<|endoftext|>"], [], None, False, None),
    }
    breaks = ["\n" * i for i in range(1, 9)] + [SPACE * i for i in range(2, 9)] + ["<table>", "</table>"]
    pieces = {
        "llama2": (trained_pieces({"add_dummy_prefix": True}), []),
        "gemma": (trained_pieces({"add_dummy_prefix": False, "user_defined_symbols": breaks, "bos_piece": "<bos>", "eos_piece": "<eos>",
                                  "pad_piece": "<pad>", "pad_id": 0, "eos_id": 1, "bos_id": 2, "unk_id": 3}), breaks),
    }
    golden = {"smollm2": smollm2(smollm2_file), "gemma3": gemma3(gemma_file)}
    for name, tokenizer in byte_levels.items():
        save(tokenizer, out / f"{name}.json")
        golden[name] = by_tokenizers(tokenizer)
    for name, (model, user) in pieces.items():
        write_gguf(out / f"{name}.gguf", model)
        golden[name + ".gguf"] = by_sentencepiece(sentencepiece.SentencePieceProcessor(model_proto=model))
        tokenizer = converted(model, name == "llama2", user)
        save(tokenizer, out / f"{name}.json")
        golden[name] = by_tokenizers(tokenizer)
    (out / "golden.json").write_text(json.dumps(golden, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()

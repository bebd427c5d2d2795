"""A PEFT adapter as a GGUF: it comes back within the step of its 8 bits; what cannot be said is refused."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

gguf = pytest.importorskip("gguf", reason="needs the extra [train]")
safetensors = pytest.importorskip("safetensors.numpy", reason="needs the extra [train]")
numpy = pytest.importorskip("numpy")

SCRIPT = Path(__file__).parents[2] / "experiments" / "adapter_to_gguf.py"
MODULES = {
    "model.layers.0.self_attn.q_proj": ("blk.0.attn_q", 64, 96),
    "model.layers.0.mlp.down_proj": ("blk.0.ffn_down", 160, 64),
    "model.layers.1.self_attn.o_proj": ("blk.1.attn_output", 64, 64),
}
"""Modules of a tiny base: their names in a GGUF, columns and rows."""


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("adapter_to_gguf", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = sys.modules["adapter_to_gguf"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def base(path: Path, architecture: str = "qwen2") -> Path:
    writer = gguf.GGUFWriter(path, architecture)
    for name, n_in, n_out in MODULES.values():
        writer.add_tensor(f"{name}.weight", numpy.zeros((n_out, n_in), numpy.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def adapter(folder: Path, rank: int, **config: Any) -> dict[str, Any]:
    """Writes a random adapter; its factors by the names that a GGUF has for them."""
    draw, factors, found = numpy.random.default_rng(rank), {}, {}
    for module, (name, n_in, n_out) in MODULES.items():
        for side, shape in (("A", (rank, n_in)), ("B", (n_out, rank))):
            values = draw.normal(size=shape).astype(numpy.float32)
            factors[f"base_model.model.{module}.lora_{side}.weight"] = values
            found[f"{name}.weight.lora_{side.lower()}"] = values
    folder.mkdir()
    safetensors.save_file(factors, folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text(json.dumps({"r": rank, "lora_alpha": 2 * rank, **config}))
    return found


@pytest.mark.parametrize("rank", [32, 8])
def test_every_matrix_comes_back_within_half_a_step(tmp_path: Path, script: ModuleType, rank: int) -> None:
    wanted = adapter(tmp_path / "a", rank)
    script.converted(tmp_path / "a", base(tmp_path / "base.gguf"), tmp_path / "out.gguf")
    reader = gguf.GGUFReader(tmp_path / "out.gguf")
    found = {each.name: gguf.quants.dequantize(each.data, each.tensor_type) for each in reader.tensors}
    assert set(found) == set(wanted)
    for name, values in wanted.items():
        step = 0 if values.shape[1] % 32 else numpy.abs(values).max() / 127
        # The scale of a block is kept in 16 bits, which adds up to 127 / 2048 of a step.
        assert numpy.abs(found[name] - values).max() <= 0.57 * step
    facts = {key: reader.fields[key].contents() for key in reader.fields if not key.startswith("GGUF.")}
    assert facts == {
        "general.architecture": "qwen2",
        "general.type": "adapter",
        "general.quantization_version": 2,
        "adapter.type": "lora",
        "adapter.lora.alpha": 2.0 * rank,
    }


def test_equal_input_gives_equal_bytes(tmp_path: Path, script: ModuleType) -> None:
    adapter(tmp_path / "a", 32)
    weights = base(tmp_path / "base.gguf")
    for name in ("one", "two"):
        script.converted(tmp_path / "a", weights, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"use_dora": True}, "use_dora set; only plain LoRA"),
        ({"use_rslora": True, "rank_pattern": {"q_proj": 4}}, "rank_pattern, use_rslora set"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
    ],
)
def test_an_adapter_that_is_not_plain_is_refused(
    tmp_path: Path, script: ModuleType, config: dict[str, Any], words: str
) -> None:
    adapter(tmp_path / "a", 8, **config)
    with pytest.raises(ValueError, match=words):
        script.converted(tmp_path / "a", base(tmp_path / "base.gguf"), tmp_path / "out.gguf")
    assert not (tmp_path / "out.gguf").exists()


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("base_model.model.model.layers.0.self_attn.k_proj.lora_A.weight", (8, 64), "changes no matrix"),
        ("base_model.model.lm_head.weight", (8, 64), "changes no matrix"),
        ("base_model.model.model.layers.1.self_attn.o_proj.lora_A.weight", (8, 32), "the base has 64 by 64"),
    ],
)
def test_an_adapter_of_another_base_is_refused(
    tmp_path: Path, script: ModuleType, name: str, shape: tuple[int, int], words: str
) -> None:
    adapter(tmp_path / "a", 8)
    path = tmp_path / "a" / "adapter_model.safetensors"
    factors = {**safetensors.load_file(path), name: numpy.ones(shape, numpy.float32)}
    safetensors.save_file(factors, path)
    with pytest.raises(ValueError, match=words):
        script.converted(tmp_path / "a", base(tmp_path / "base.gguf"), tmp_path / "out.gguf")


def test_an_architecture_whose_rows_may_be_permuted_is_refused(tmp_path: Path, script: ModuleType) -> None:
    adapter(tmp_path / "a", 8)
    with pytest.raises(ValueError, match="is llama; adapters convert for qwen2"):
        script.converted(tmp_path / "a", base(tmp_path / "b.gguf", "llama"), tmp_path / "out.gguf")

"""A PEFT LoRA adapter as a GGUF adapter in 8 bits, for llama.cpp on the base weights that it belongs to.

    python experiments/adapter_to_gguf.py ADAPTER_DIR BASE_GGUF OUT_GGUF

What such a file cannot say is refused: a rank or scale by layer, biases, DoRA, whole modules saved beside it.
Equal input gives equal bytes. Source of the names and keys: `convert_lora_to_gguf.py` of llama.cpp.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy
from safetensors.numpy import load_file

ARCHITECTURES = {"qwen2": gguf.MODEL_ARCH.QWEN2}
"""Those whose GGUF keeps the rows of every matrix in order, so that an adapter needs no permutation."""

_PLAIN = ("rank_pattern", "alpha_pattern", "use_dora", "use_rslora", "lora_bias", "modules_to_save")
_TENSOR = re.compile(r"base_model\.model\.(?P<module>.+)\.lora_(?P<side>[AB])\.weight")


def converted(adapter: Path, base: Path, out: Path) -> None:
    """Writes the GGUF adapter.

    Raises:
        ValueError: the adapter is of a kind that does not convert, or does not belong to the base.
    """
    config = json.loads((adapter / "adapter_config.json").read_text())
    if odd := [name for name in _PLAIN if config.get(name)]:
        raise ValueError(f"{adapter} has {', '.join(odd)} set; only plain LoRA converts")
    architecture, shapes = _base(base)
    writer = gguf.GGUFWriter(None, architecture)
    writer.add_type(gguf.GGUFType.ADAPTER)
    writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
    writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, float(config["lora_alpha"]))
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    for name, values in sorted(_tensors(adapter, architecture, shapes).items()):
        kind = _kind(values)
        writer.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    writer.write_header_to_file(out)
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _base(path: Path) -> tuple[str, dict[str, list[int]]]:
    """Architecture of the base weights, and columns and rows of each tensor."""
    reader = gguf.GGUFReader(path)
    architecture = reader.fields["general.architecture"].contents()
    if architecture not in ARCHITECTURES:
        raise ValueError(f"{path} is {architecture}; adapters convert for {', '.join(ARCHITECTURES)}")
    return architecture, {each.name: [int(n) for n in each.shape] for each in reader.tensors}


def _tensors(adapter: Path, architecture: str, shapes: dict[str, list[int]]) -> dict[str, Any]:
    """Both factors of every matrix, by the names that llama.cpp has for them."""
    names = gguf.get_tensor_name_map(ARCHITECTURES[architecture], len(shapes))
    found: dict[str, Any] = {}
    for key, values in load_file(adapter / "adapter_model.safetensors").items():
        match = _TENSOR.fullmatch(key)
        name = match and names.get_name(match["module"])
        if not match or not name or f"{name}.weight" not in shapes:
            raise ValueError(f"{key} of {adapter} changes no matrix of the base")
        n_in, n_out = shapes[f"{name}.weight"]
        inner, wanted = (1, n_in) if match["side"] == "A" else (0, n_out)
        if values.ndim != 2 or values.shape[inner] != wanted:
            raise ValueError(f"{key} is {values.shape}; the base has {n_in} by {n_out}")
        found[f"{name}.weight.lora_{match['side'].lower()}"] = values.astype(numpy.float32)
    return found


def _kind(values: Any) -> gguf.GGMLQuantizationType:
    """8 bits where a row is whole blocks of 32, else 32 bits."""
    kinds = gguf.GGMLQuantizationType
    return kinds.F32 if values.shape[-1] % gguf.GGML_QUANT_SIZES[kinds.Q8_0][0] else kinds.Q8_0


if __name__ == "__main__":
    target = Path(sys.argv[3])
    converted(Path(sys.argv[1]), Path(sys.argv[2]), target)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    print(f"{target}: {target.stat().st_size:,} bytes, SHA-256 {digest}")

"""A GGUF file as bfloat16 safetensors with its tokenizer, for a server or a trainer.

    python experiments/convert.py GGUF DIR

The GGUF files of Qwen2.5 hold the embedding twice, once coarser; the original shares one. The better copy is
kept and shared again.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any


def dequantize_in_parallel() -> None:
    """Has the rows of a tensor dequantised by all cores: numpy lets go of the interpreter's lock."""
    import gguf
    import numpy

    alone = gguf.dequantize
    n_cores = os.cpu_count() or 1
    pool = ThreadPoolExecutor(n_cores)

    def together(data: Any, kind: Any) -> Any:
        if data.ndim < 2 or len(data) < 4 * n_cores:
            return alone(data, kind)
        parts = numpy.array_split(data, 4 * n_cores)
        return numpy.concatenate(list(pool.map(alone, parts, [kind] * len(parts))))

    gguf.dequantize = together


def main(gguf: Path, directory: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    dequantize_in_parallel()
    source = {"pretrained_model_name_or_path": str(gguf.parent), "gguf_file": gguf.name}
    model = AutoModelForCausalLM.from_pretrained(
        **source, quantization_config=GgufConfig(dequantize=True), dtype=torch.bfloat16
    )
    shared, output = model.get_input_embeddings().weight, model.lm_head.weight
    if shared.shape == output.shape and shared.data_ptr() != output.data_ptr():
        shared.data.copy_(output.data)
        model.config.tie_word_embeddings = True
        model.lm_head.weight = shared
        model.tie_weights()
    model.save_pretrained(directory)
    AutoTokenizer.from_pretrained(**source).save_pretrained(directory)
    print(f"{directory}: {sum(p.numel() for p in model.parameters()) / 1e6:.0f} M parameters")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

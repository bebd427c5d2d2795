"""A GGUF file as bfloat16 safetensors with its tokenizer, for a server or a trainer: python bench/convert.py
GGUF DIR.

The GGUF files of Qwen2.5 hold the embedding twice, once coarser; the original shares one. The better copy is
kept and shared again.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(gguf: Path, directory: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

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

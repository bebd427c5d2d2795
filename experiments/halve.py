"""An adapter's weights in bfloat16, half the size.

python experiments/halve.py ADAPTER_DIR OUT.safetensors
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(directory: Path, out: Path) -> None:
    import torch
    from safetensors.torch import load_file, save_file

    weights = load_file(directory / "adapter_model.safetensors")
    save_file({name: each.to(torch.bfloat16) for name, each in weights.items()}, out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))

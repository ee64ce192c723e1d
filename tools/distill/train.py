"""Distils a sentence encoder into one vector a word piece; this step needs an accelerator (see README.md).

Reads the encoder's folder (config, weights, tokenizer), the two inputs of texts.py, all of them pinned (inputs.py), and
optionally a set of everyday questions to print a figure for each stage. Writes the file that the package ships (its
format is in README.md).

The student: a text's vector is the mean of its pieces' vectors plus a bias, scaled to length one. It
learns to agree with the encoder, text by text and in the order of a batch's similarities, and for its
last third it is rounded to 4 bits on the way forward, so that it learns with the rounding it is shipped in.
Sums on an accelerator are not repeatable to the bit, so the output of this step is kept, with its hash.
"""

import argparse
import json
import math
import pathlib
import struct
import time

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoModel

from inputs import checked_encoder
from texts import make_texts

DIMENSIONS = 384
GROUP = 32  # values that share one scale
MAX_TOKENS = 128
UNKNOWN = 100  # the row of "[UNK]"
BATCH = 2048
CLUSTERS, PER_BATCH = 1024, 16
TEMPERATURE = 0.05
TOKEN_DROPOUT = 0.15
TALK = 0.7  # share of talk in a batch drawn from all texts; the rest is the dictionary's
started = time.time()


def say(*words):
    print(f"[{time.time() - started:6.1f} s]", *words, flush=True)


def tokenize(tokenizer, texts):
    ids = []
    for at in range(0, len(texts), 50_000):
        ids += [np.array(e.ids, dtype=np.int32) for e in tokenizer.encode_batch(texts[at : at + 50_000])]
    return ids


def tokenizer_of(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


@torch.no_grad()
def encode(model, ids, device):
    """The encoder's sentence vectors: mean over all pieces, scaled to length one."""
    out = torch.empty(len(ids), model.config.hidden_size, dtype=torch.float16, device=device)
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    at = 0
    while at < len(order):
        longest = len(ids[order[min(at + 4096, len(order)) - 1]])
        rows = order[at : at + max(64, min(4096, 300_000 // longest))]
        width = max(len(ids[i]) for i in rows)
        block = np.zeros((len(rows), width), dtype=np.int64)
        mask = np.zeros((len(rows), width), dtype=np.int64)
        for r, i in enumerate(rows):
            block[r, : len(ids[i])] = ids[i]
            mask[r, : len(ids[i])] = 1
        m = torch.from_numpy(mask).to(device)
        hidden = model(input_ids=torch.from_numpy(block).to(device), attention_mask=m).last_hidden_state.float()
        mean = (hidden * m[:, :, None]).sum(1) / m.sum(1)[:, None]
        out[torch.tensor(rows, device=device)] = torch.nn.functional.normalize(mean, dim=1).half()
        at += len(rows)
    return out


def cluster(vectors, generator):
    centres = vectors[torch.randperm(len(vectors), generator=generator, device=vectors.device)[:CLUSTERS]].float()
    for _ in range(12):
        nearest = torch.cat([(part.float() @ centres.T).argmax(1) for part in vectors.split(65_536)])
        sums = torch.zeros_like(centres).index_add_(0, nearest, vectors.float())
        centres = torch.nn.functional.normalize(sums, dim=1)
    return nearest


class Bags:
    """Pieces of every text without the marks at both ends, one text after the other; a text without any is the unknown piece."""

    def __init__(self, ids, device):
        ids = [i[1:-1] if len(i) > 2 else np.array([UNKNOWN], dtype=np.int32) for i in ids]
        self.lengths = torch.tensor([len(i) for i in ids], device=device)
        self.flat = torch.from_numpy(np.concatenate(ids)).long().to(device)
        self.starts = torch.cumsum(self.lengths, 0) - self.lengths

    def take(self, rows):
        lengths, starts = self.lengths[rows], self.starts[rows]
        offsets = torch.cumsum(lengths, 0) - lengths
        within = torch.arange(int(lengths.sum()), device=rows.device) - torch.repeat_interleave(offsets, lengths)
        owner = torch.repeat_interleave(torch.arange(len(rows), device=rows.device), lengths)
        return self.flat[torch.repeat_interleave(starts, lengths) + within], owner, lengths


def rounded(table):
    """The table as 4 bits say it; the gradient passes as if it had not been rounded."""
    groups = table.view(len(table), -1, GROUP)
    scales = (groups.detach().abs().amax(2, keepdim=True) / 7).half().float().clamp_min(1e-8)
    near = (groups / scales).round().clamp(-7, 7) * scales
    return table + (near.view_as(table) - table).detach()


def student_vectors(table, bias, bags, rows, drop):
    pieces, owner, _ = bags.take(rows)
    if drop:
        keep = torch.rand(len(pieces), device=pieces.device) >= TOKEN_DROPOUT
        kept = torch.zeros(len(rows), device=pieces.device).index_add_(0, owner, keep.float())
        keep |= kept[owner] == 0
        pieces, owner = pieces[keep], owner[keep]
    sums = torch.zeros(len(rows), table.shape[1], device=pieces.device).index_add_(0, owner, table[pieces])
    counts = torch.zeros(len(rows), device=pieces.device).index_add_(0, owner, torch.ones(len(pieces), device=pieces.device))
    return torch.nn.functional.normalize(sums / counts[:, None] + bias, dim=1)


def train(table, bias, bags, teacher, rows_trained, nearest, talk, steps, device, report):
    in_talk, in_books = rows_trained[rows_trained < talk], rows_trained[rows_trained >= talk]
    by_cluster = [rows_trained[nearest == c] for c in range(CLUSTERS)]
    by_cluster = [rows for rows in by_cluster if len(rows) > 0]
    optimiser = torch.optim.Adam([{"params": [table], "lr": 3e-3}, {"params": [bias], "lr": 1e-3}], betas=(0.9, 0.99))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, [3e-3, 1e-3], total_steps=steps, pct_start=0.1)
    for step in range(steps):
        if step % 2 == 0:
            spoken = int(BATCH * TALK)
            rows = torch.cat([
                in_talk[torch.randint(len(in_talk), (spoken,), device=device)],
                in_books[torch.randint(len(in_books), (BATCH - spoken,), device=device)],
            ])
        else:
            picked = [by_cluster[int(c)] for c in torch.randint(len(by_cluster), (PER_BATCH,))]
            rows = torch.cat([p[torch.randint(len(p), (BATCH // PER_BATCH,), device=device)] for p in picked])
        used = rounded(table) if step > steps * 2 // 3 else table
        mine = student_vectors(used, bias, bags, rows, drop=True)
        theirs = teacher[rows].float()
        with torch.no_grad():
            wanted = torch.softmax(theirs @ theirs.T / TEMPERATURE, 1)
        said = torch.log_softmax(mine @ mine.T / TEMPERATURE, 1)
        loss = (1 - (mine * theirs).sum(1)).mean() + 0.5 * torch.nn.functional.kl_div(said, wanted, reduction="batchmean")
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        schedule.step()
        if step % 4000 == 3999:
            say(f"step {step + 1}, loss {loss.item():.4f}", report())


def everyday_figures(path, embed):
    """R@5 of the vectors alone, over one store at a time, by kind of question."""
    found = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        store = json.loads(line)
        asked = [q for q in store["questions"] if q["gold"]]
        turns = embed([t["content"] for t in store["turns"]])
        questions = embed([q["text"] for q in asked])
        best = (questions @ turns.T).topk(5, dim=1).indices.tolist()
        for q, top in zip(asked, best):
            ids = {store["turns"][i]["id"] for i in top}
            kind = "other words" if q["kind"] in ("paraphrase", "hypernym") else q["kind"]
            found.setdefault(kind, []).append(len(ids & set(q["gold"])) / len(q["gold"]))
    return {kind: round(sum(v) / len(v), 3) for kind, v in found.items()}


def write_model(path, table, bias, vocabulary):
    groups = table.reshape(len(table), -1, GROUP)
    scales = np.maximum(np.abs(groups).max(axis=2) / 7, 1e-8).astype(np.float16)
    levels = np.clip(np.round(groups / scales[:, :, None].astype(np.float32)), -7, 7).astype(np.int8) + 8
    nibbles = levels.reshape(len(table), -1, 2).astype(np.uint8)
    packed = (nibbles[:, :, 0] | (nibbles[:, :, 1] << 4)).tobytes()
    words = "\n".join(vocabulary).encode("utf-8")
    head = struct.pack("<8sIIII", b"cortexe1", len(table), table.shape[1], GROUP, len(words))
    path.write_bytes(head + bias.astype("<f4").tobytes() + scales.astype("<f2").tobytes() + packed + words)


def agreement(teacher, mine):
    """Of the encoder's five nearest among texts that were kept back, the share that the student has in its own five."""
    asked = torch.arange(0, len(teacher), 10, device=teacher.device)
    tops = []
    for vectors in (teacher.float(), mine):
        near = vectors[asked] @ vectors.T
        near[torch.arange(len(asked), device=asked.device), asked] = -2
        tops.append(near.topk(5, dim=1).indices)
    return round((tops[0][:, :, None] == tops[1][:, None, :]).any(2).float().mean().item(), 4)


def distil(given, model, tokenizer, texts, talk, device):
    ids = tokenize(tokenizer, texts)
    wide = encode(model, ids, device)
    say("encoded")
    vocabulary = (given.encoder / "vocab.txt").read_text(encoding="utf-8").splitlines()
    singles = encode(model, [np.array([101, i, 102], dtype=np.int32) for i in range(len(vocabulary))], device).float()
    sample = wide[torch.randperm(len(wide), device=device)[:200_000]].float()
    _, _, directions = torch.linalg.svd(sample, full_matrices=False)
    project = directions[:DIMENSIONS].T
    teacher = torch.nn.functional.normalize(wide.float() @ project, dim=1).half()
    bags = Bags(ids, device)
    counts = torch.bincount(bags.flat, minlength=len(vocabulary)).float()
    rarity = 1e-3 / (1e-3 + counts / counts.sum())
    table = torch.nn.Parameter(torch.nn.functional.normalize(singles @ project, dim=1) * rarity[:, None])
    bias = torch.nn.Parameter(torch.zeros(DIMENSIONS, device=device))
    held = torch.arange(0, talk, 27, device=device)
    kept_back = torch.zeros(len(texts), dtype=torch.bool, device=device)
    kept_back[held] = True
    rows = torch.nonzero(~kept_back)[:, 0]
    nearest = cluster(teacher[rows], torch.Generator(device=device).manual_seed(7))

    @torch.no_grad()
    def report(in_bits=True):
        used = rounded(table) if in_bits else table

        def embed(some):
            return student_vectors(used, bias, Bags(tokenize(tokenizer, some), device), torch.arange(len(some), device=device), drop=False)

        mine = torch.cat([student_vectors(used, bias, bags, part, drop=False) for part in held.split(8192)])
        figures = {"agreement": agreement(teacher[held], mine)}
        return figures | (everyday_figures(given.everyday, embed) if given.everyday else {})

    say("untrained", report())
    train(table, bias, bags, teacher, rows, nearest, talk, given.steps, device, report)
    say("trained", report(False), "in 4 bits", report())
    return table.detach().float().cpu().numpy(), bias.detach().float().cpu().numpy(), vocabulary


def main():
    ask = argparse.ArgumentParser()
    for name in ("encoder", "sentences", "wordnet", "out"):
        ask.add_argument(f"--{name}", required=True, type=pathlib.Path)
    ask.add_argument("--everyday", type=pathlib.Path)
    ask.add_argument("--steps", type=int, default=12_000)
    given = ask.parse_args()
    checked_encoder(given.encoder)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(20261116)
    texts, talk = make_texts(given.sentences, given.wordnet)
    say(len(texts), "texts,", talk, "of them talk")
    tokenizer = tokenizer_of(given.encoder)
    model = AutoModel.from_pretrained(given.encoder, dtype=torch.float16).to(device).eval()
    if given.everyday is not None:
        say("encoder", everyday_figures(given.everyday, lambda some: encode(model, tokenize(tokenizer, some), device).float()))
    table, bias, vocabulary = distil(given, model, tokenizer, texts, talk, device)
    write_model(given.out, table, bias, vocabulary)
    say("written", given.out)


if __name__ == "__main__":
    main()

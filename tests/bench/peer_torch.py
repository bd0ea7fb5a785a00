"""PyTorch's side of `scripts/bench peers` and `reference`: the GPT-2 of `pcp model gpt2`, trained on command.

usage: peer_torch.py FILE THREADS PRECISION LAYERS HEADS [DEVICE [eager|compile]]
FILE is a safetensors file with the parameters (GPT-2's names, matrices [in, out]) and the batches
"batch.x", "batch.y" [batches, rows, tokens], maybe "valid.x", "valid.y". Says "ready", then answers each
line "run N RATE" on standard input with N words SECONDS:CPU_SECONDS:LOSS, one for each training step
(AdamW, clipping at 1), each line "eval" with the mean loss of the validation batches, "peak" with the FLOPs
a second of a large product on DEVICE (cpu, cuda), and "memory" with the most MiB that tensors took there.
"""
import ctypes
import json
import math
import os
import struct
import sys
import time


def know_processor():
    """OpenBLAS takes a processor that its version does not know for one of 2004: then it is told what its kernels may use."""
    if "OPENBLAS_CORETYPE" in os.environ:
        return
    try:
        blas = ctypes.CDLL("libopenblas.so.0")
        blas.openblas_get_corename.restype = ctypes.c_char_p
        with open("/proc/cpuinfo") as file:
            flags = set(next(line for line in file if line.startswith("flags")).split())
    except (OSError, AttributeError, StopIteration):
        return
    core = "SkylakeX" if "avx512bw" in flags else "Haswell" if "avx2" in flags else "Prescott"
    if blas.openblas_get_corename() == b"Prescott" and core != "Prescott":
        os.environ["OPENBLAS_CORETYPE"] = core
        os.execv(sys.executable, [sys.executable, *sys.argv])


know_processor()  # before the library is loaded for good

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F

DTYPES = {"F32": numpy.float32, "I32": numpy.int32}


def read_safetensors(path):
    with open(path, "rb") as file:
        (n_header,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(n_header))
        tensors = {}
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            file.seek(8 + n_header + begin)
            dtype = numpy.dtype(DTYPES[entry["dtype"]])
            values = numpy.fromfile(file, dtype, (end - begin) // dtype.itemsize)
            tensors[name] = torch.from_numpy(values.reshape(entry["shape"]))
    return tensors


class Block(nn.Module):
    def __init__(self, width, heads, block):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn_in, self.attn_out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp_in, self.mlp_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        future = torch.ones(block, block, dtype=torch.bool).triu(1)
        self.register_buffer("future", future.view(1, 1, block, block), persistent=False)

    def attend(self, x):
        rows, tokens, width = x.shape
        parts = self.attn_in(x).split(width, dim=2)
        depth = width // self.heads
        q, k, v = (p.view(rows, tokens, self.heads, depth).transpose(1, 2) for p in parts)
        if x.is_cuda:  # its own fused kernel
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.attn_out(mixed.transpose(1, 2).reshape(rows, tokens, width))
        scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(depth))
        weights = F.softmax(scores.masked_fill(self.future, float("-inf")), dim=-1)
        mixed = (weights @ v).transpose(1, 2).reshape(rows, tokens, width)
        return self.attn_out(mixed)

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.mlp_out(F.gelu(self.mlp_in(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, vocab, block, width, layers, heads):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, width), nn.Embedding(block, width)
        self.blocks = nn.ModuleList(Block(width, heads, block) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, x, y):
        h = self.tokens(x) + self.positions.weight
        for block in self.blocks:
            h = block(h)
        logits = F.linear(self.ln_f(h), self.tokens.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]), y.reshape(-1))


def load(model, tensors):
    """Copy the parameters in; nn.Linear wants matrices [out, in]."""
    pairs = [("wte", model.tokens), ("wpe", model.positions), ("ln_f", model.ln_f)]
    for i, block in enumerate(model.blocks):
        pairs += [(f"h.{i}.ln_1", block.ln_1), (f"h.{i}.ln_2", block.ln_2),
                  (f"h.{i}.attn.c_attn", block.attn_in), (f"h.{i}.attn.c_proj", block.attn_out),
                  (f"h.{i}.mlp.c_fc", block.mlp_in), (f"h.{i}.mlp.c_proj", block.mlp_out)]
    with torch.no_grad():
        for name, module in pairs:
            weight = tensors.pop(name + ".weight")
            module.weight.copy_(weight.t() if isinstance(module, nn.Linear) else weight)
            if getattr(module, "bias", None) is not None:
                module.bias.copy_(tensors.pop(name + ".bias"))
    if tensors:
        sys.exit(f"peer_torch.py: nobody takes {sorted(tensors)}")


def make_optimizer(model):
    """The same rule as ours: decay on parameters of rank 2 and more."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    fused = {"fused": True} if matrices[0].is_cuda else {}
    return torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95), eps=1e-8, **fused)


def find_peak(device, half):
    """FLOPs a second of a square product, the median of five."""
    n = 8192 if device == "cuda" else 512
    a = torch.randn(n, n, device=device, dtype=torch.bfloat16 if half else torch.float32)
    seconds = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(10):
            b = a @ a
        b[0, 0].item()  # waits for the device
        seconds.append((time.perf_counter() - start) / 10)
    return 2 * n ** 3 / sorted(seconds[2:])[2]


def find_memory(device):
    return torch.cuda.max_memory_allocated() / 2 ** 20 if device == "cuda" else 0


def main():
    path, threads, precision = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    layers, heads = int(sys.argv[4]), int(sys.argv[5])
    device, how = (sys.argv[6:8] + ["cpu", "eager"][max(0, len(sys.argv) - 6):])
    torch.set_num_threads(threads)
    tensors = read_safetensors(path)
    batch_x, batch_y = (tensors.pop(name).long().to(device) for name in ("batch.x", "batch.y"))
    (vocab, width), block = tensors["wte.weight"].shape, tensors["wpe.weight"].shape[0]
    valid_x, valid_y = tensors.pop("valid.x", None), tensors.pop("valid.y", None)
    model = Gpt(vocab, block, width, layers, heads)
    load(model, tensors)
    model = model.to(device)
    optimizer = make_optimizer(model)
    if how == "compile" and not hasattr(torch, "compile"):
        sys.exit(f"peer_torch.py: PyTorch {torch.__version__} has no torch.compile, 2.0 and newer have")
    forward = torch.compile(model) if how == "compile" else model
    half = precision == "bf16"
    taken = 0

    def step(x, y):
        with torch.autocast(device, dtype=torch.bfloat16, enabled=half):
            loss = forward(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()

    def evaluate():
        losses = []
        with torch.no_grad(), torch.autocast(device, dtype=torch.bfloat16, enabled=half):
            for x, y in zip(valid_x.long().to(device), valid_y.long().to(device)):
                losses.append(model(x, y).item())
        return sum(losses) / len(losses)

    print("ready", flush=True)
    for line in sys.stdin:
        words, answers = line.split(), []
        numbers = {"eval": evaluate, "peak": lambda: find_peak(device, half), "memory": lambda: find_memory(device)}
        if words[0] in numbers:
            print(f"{numbers[words[0]]():.9g}", flush=True)
            continue
        for group in optimizer.param_groups:
            group["lr"] = float(words[2])
        for _ in range(int(words[1])):
            i = taken % len(batch_x)
            taken += 1
            start, start_cpu = time.perf_counter(), time.process_time()
            loss = step(batch_x[i], batch_y[i])
            cpu = time.process_time() - start_cpu
            answers.append(f"{time.perf_counter() - start:.9f}:{cpu:.9f}:{loss:.9g}")
        print(" ".join(answers), flush=True)


main()

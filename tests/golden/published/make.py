#!/usr/bin/env python3
"""Small models as Hugging Face publishes them, and their logits by PyTorch (python3-torch 1.13) in float64.

    tests/golden/published/make.py      writes NAME/config.json, NAME/model*.safetensors*, NAME/logits.json beside itself

Layouts, names and arithmetic are those of the published models' own code, written down here once more in plain PyTorch;
weights are random, and of the type that the files have. tests/unit/pcp_published_test.c reads the directories as
`pcp model --from` does.
"""
import json
import math
import pathlib
import struct

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
TOKENS, VOCAB, WIDTH, LAYERS, HEADS, KV, HIDDEN = 12, 32, 16, 2, 4, 2, 24
NAMES = {torch.float32: "F32", torch.bfloat16: "BF16"}

LLAMA = {
    "model_type": "llama", "hidden_size": WIDTH, "intermediate_size": HIDDEN, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "num_key_value_heads": KV, "vocab_size": VOCAB, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5, "rope_theta": 100.0, "hidden_act": "silu", "tie_word_embeddings": False,
}
SCALED = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 24}
MODELS = {
    "gpt2": ({"model_type": "gpt2", "n_layer": LAYERS, "n_head": HEADS, "n_embd": WIDTH, "vocab_size": VOCAB,
              "n_positions": 16, "layer_norm_epsilon": 1e-5, "activation_function": "gelu_new"}, torch.float32),
    "llama": ({**LLAMA, "rope_scaling": SCALED}, torch.bfloat16),
    "mistral": ({**LLAMA, "model_type": "mistral", "sliding_window": None, "head_dim": 6}, torch.float32),
    "qwen2": ({**LLAMA, "model_type": "qwen2", "tie_word_embeddings": True, "use_sliding_window": False}, torch.bfloat16),
    "qwen3": ({**LLAMA, "model_type": "qwen3", "head_dim": 8, "tie_word_embeddings": True}, torch.bfloat16),
    "nanochat": ({**LLAMA, "model_type": "nanochat", "hidden_act": "relu2", "final_logit_softcapping": 15.0},
                 torch.bfloat16),
}


def draw(shape, dtype, spread=0.35, around=0.0):
    return (around + spread * torch.randn(*shape)).to(dtype)


def gpt2_weights(c, dtype):
    n, w = c["n_embd"], {}
    norm = lambda name: w.update({f"{name}.weight": draw((n,), dtype, 0.2, 1.0), f"{name}.bias": draw((n,), dtype, 0.2)})
    w["wte.weight"], w["wpe.weight"] = draw((VOCAB, n), dtype), draw((c["n_positions"], n), dtype)
    for i in range(c["n_layer"]):
        for name, a, b in (("attn.c_attn", n, 3 * n), ("attn.c_proj", n, n), ("mlp.c_fc", n, 4 * n), ("mlp.c_proj", 4 * n, n)):
            w[f"h.{i}.{name}.weight"], w[f"h.{i}.{name}.bias"] = draw((a, b), dtype), draw((b,), dtype, 0.2)
        norm(f"h.{i}.ln_1"), norm(f"h.{i}.ln_2")
    norm("ln_f")
    return w


def causal(q, k, v):  # [heads, tokens, depth]
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    later = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
    return F.softmax(scores.masked_fill(later, float("-inf")), -1) @ v


def heads_of(x, n):
    return x.view(TOKENS, n, -1).transpose(0, 1)


def gpt2_logits(c, w, tokens):
    n, norm = c["n_embd"], lambda x, name: F.layer_norm(x, (WIDTH,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-5)
    line = lambda x, name: x @ w[f"{name}.weight"] + w[f"{name}.bias"]
    x = w["wte.weight"][tokens] + w["wpe.weight"][:TOKENS]
    for i in range(c["n_layer"]):
        q, k, v = (heads_of(part, HEADS) for part in line(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").split(n, -1))
        x = x + line(causal(q, k, v).transpose(0, 1).reshape(TOKENS, n), f"h.{i}.attn.c_proj")
        y = line(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
        y = 0.5 * y * (1 + torch.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
        x = x + line(y, f"h.{i}.mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def llama_weights(c, dtype):
    kind, depth, w = c["model_type"], c.get("head_dim", WIDTH // HEADS), {}
    w["model.embed_tokens.weight"] = draw((VOCAB, WIDTH), dtype)
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        for name, out in (("q", HEADS), ("k", KV), ("v", KV)):
            w[f"{at}self_attn.{name}_proj.weight"] = draw((out * depth, WIDTH), dtype)
            if kind == "qwen2":
                w[f"{at}self_attn.{name}_proj.bias"] = draw((out * depth,), dtype)
            if kind == "qwen3" and name != "v":
                w[f"{at}self_attn.{name}_norm.weight"] = draw((depth,), dtype, 0.2, 1.0)
        w[f"{at}self_attn.o_proj.weight"] = draw((WIDTH, HEADS * depth), dtype)
        if kind == "nanochat":
            w[f"{at}mlp.fc1.weight"], w[f"{at}mlp.fc2.weight"] = draw((HIDDEN, WIDTH), dtype), draw((WIDTH, HIDDEN), dtype)
            continue
        for name, shape in (("gate", (HIDDEN, WIDTH)), ("up", (HIDDEN, WIDTH)), ("down", (WIDTH, HIDDEN))):
            w[f"{at}mlp.{name}_proj.weight"] = draw(shape, dtype)
        for name in ("input_layernorm", "post_attention_layernorm"):
            w[f"{at}{name}.weight"] = draw((WIDTH,), dtype, 0.2, 1.0)
    if kind != "nanochat":
        w["model.norm.weight"] = draw((WIDTH,), dtype, 0.2, 1.0)
    if not c["tie_word_embeddings"]:
        w["lm_head.weight"] = draw((VOCAB, WIDTH), dtype)
    return w


def angles(c, depth):
    turn = 1.0 / c["rope_theta"] ** (torch.arange(0, depth, 2, dtype=torch.float64) / depth)
    scaling = c.get("rope_scaling")
    if scaling:  # Llama 3.1
        low, high, old = (scaling[k] for k in ("low_freq_factor", "high_freq_factor", "original_max_position_embeddings"))
        length = 2 * math.pi / turn
        share = (old / length - low) / (high - low)
        between = (1 - share) * turn / scaling["factor"] + share * turn
        turn = torch.where(length > old / low, turn / scaling["factor"], torch.where(length < old / high, turn, between))
    each = torch.outer(torch.arange(TOKENS, dtype=torch.float64), turn)
    return torch.cat((each, each), -1)


def rotate(x, at, back):
    a, b = x.chunk(2, -1)
    turned = torch.cat((b, -a), -1) if back else torch.cat((-b, a), -1)
    return x * at.cos() + turned * at.sin()


def llama_logits(c, w, tokens):
    kind, depth = c["model_type"], c.get("head_dim", WIDTH // HEADS)
    nanochat, at_positions = kind == "nanochat", angles(c, depth)

    def norm(x, name=None):
        y = x * torch.rsqrt((x * x).mean(-1, keepdim=True) + c["rms_norm_eps"])
        return y * w[f"{name}.weight"] if name and f"{name}.weight" in w else y

    def line(x, name):
        y = x @ w[f"{name}.weight"].T
        return y + w[f"{name}.bias"] if f"{name}.bias" in w else y

    x = w["model.embed_tokens.weight"][tokens]
    x = norm(x) if nanochat else x
    for i in range(LAYERS):
        at = f"model.layers.{i}."
        y = norm(x, f"{at}input_layernorm")
        q, k, v = (heads_of(line(y, f"{at}self_attn.{p}_proj"), n) for p, n in (("q", HEADS), ("k", KV), ("v", KV)))
        if kind == "qwen3":
            q, k = norm(q, f"{at}self_attn.q_norm"), norm(k, f"{at}self_attn.k_norm")
        q, k = rotate(q, at_positions, nanochat), rotate(k, at_positions, nanochat)
        if nanochat:
            q, k = norm(q), norm(k)
        k, v = (p.repeat_interleave(HEADS // KV, 0) for p in (k, v))
        x = x + line(causal(q, k, v).transpose(0, 1).reshape(TOKENS, -1), f"{at}self_attn.o_proj")
        y = norm(x, f"{at}post_attention_layernorm")
        if nanochat:
            x = x + line(F.relu(line(y, f"{at}mlp.fc1")) ** 2, f"{at}mlp.fc2")
        else:
            x = x + line(F.silu(line(y, f"{at}mlp.gate_proj")) * line(y, f"{at}mlp.up_proj"), f"{at}mlp.down_proj")
    y = norm(x, "model.norm") @ w["model.embed_tokens.weight" if c["tie_word_embeddings"] else "lm_head.weight"].T
    return 15 * torch.tanh(y / 15) if nanochat else y


def bytes_of(tensor):
    kind = torch.int32 if tensor.dtype == torch.float32 else torch.int16
    return tensor.contiguous().view(kind).numpy().tobytes()


def write_safetensors(path, tensors):
    header, at, data = {}, 0, b""
    for name, tensor in tensors.items():
        part = bytes_of(tensor)
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [at, at + len(part)]}
        at, data = at + len(part), data + part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write_model(name, config, dtype, seed):
    torch.manual_seed(seed)
    folder, gpt2 = HERE / name, config["model_type"] == "gpt2"
    folder.mkdir(exist_ok=True)
    weights = (gpt2_weights if gpt2 else llama_weights)(config, dtype)
    tokens = torch.randint(0, VOCAB, (TOKENS,))
    exact = {key: value.double() for key, value in weights.items()}
    logits = (gpt2_logits if gpt2 else llama_logits)(config, exact, tokens)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    names = list(weights)
    if name == "qwen3":  # in two files, as large models are
        parts = names[: len(names) // 2], names[len(names) // 2 :]
        files = [f"model-{i + 1:05}-of-00002.safetensors" for i in range(2)]
        for file, part in zip(files, parts):
            write_safetensors(folder / file, {key: weights[key] for key in part})
        index = {"metadata": {}, "weight_map": {key: file for file, part in zip(files, parts) for key in part}}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")
    else:
        write_safetensors(folder / "model.safetensors", weights)
    rows = ",\n  ".join("[" + ", ".join(f"{x:.9g}" for x in row) + "]" for row in logits.tolist())
    (folder / "logits.json").write_text(f'{{"tokens": {tokens.tolist()},\n "logits": [\n  {rows}]}}\n')


for number, (model, (settings, kept)) in enumerate(MODELS.items()):
    write_model(model, settings, kept, number)

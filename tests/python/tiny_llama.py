"""Small models of the Llama family with random weights, written by the `gguf` package."""

import gguf
import numpy as np

TYPES = {t.name: t for t in gguf.GGMLQuantizationType}
VOCABULARY = 259  # 256 bytes, "ab", and two end tokens


def byte_symbols():
    """The characters that stand for the 256 bytes in vocabularies of GPT-2."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in plain]
    return [chr(b) if b in plain else chr(256 + others.index(b)) for b in range(256)]


def write(path, *, types=None, default="F32", width=64, hidden=96, layers=2, heads=4, kv_heads=2, context=256,
          head_width=None, rope_dims=None, rope_base=None, output=False, rope_freqs=None, linear_scaling=None, seed=1):
    """`types` gives the type of tensors by the end of their name, such as "attn_q.weight"; norms are F32."""
    random = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(layers)
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    if kv_heads is not None:
        writer.add_head_count_kv(kv_heads)
    if head_width is not None:
        writer.add_key_length(head_width)
        writer.add_value_length(head_width)
    if rope_dims is not None:
        writer.add_rope_dimension_count(rope_dims)
    if rope_base is not None:
        writer.add_rope_freq_base(rope_base)
    if linear_scaling is not None:
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(linear_scaling)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list([*byte_symbols(), "ab", "<|endoftext|>", "<|im_end|>"])
    writer.add_token_types([1] * 257 + [3, 3])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(257)
    writer.add_add_bos_token(False)

    def add(name, *shape):
        norm = len(shape) == 1
        kind = next((t for end, t in (types or {}).items() if name.endswith(end)), "F32" if norm else default)
        values = random.uniform(0.5, 1.5, shape) if norm else random.normal(0, 0.15, shape)
        data = gguf.quants.quantize(values.astype("f4"), TYPES[kind])
        writer.add_tensor(name, data, raw_dtype=TYPES[kind])

    head = head_width or width // heads
    q_width, kv_width = heads * head, (kv_heads or heads) * head
    add("token_embd.weight", VOCABULARY, width)
    for i in range(layers):
        add(f"blk.{i}.attn_norm.weight", width)
        add(f"blk.{i}.attn_q.weight", q_width, width)
        add(f"blk.{i}.attn_k.weight", kv_width, width)
        add(f"blk.{i}.attn_v.weight", kv_width, width)
        add(f"blk.{i}.attn_output.weight", width, q_width)
        add(f"blk.{i}.ffn_norm.weight", width)
        add(f"blk.{i}.ffn_gate.weight", hidden, width)
        add(f"blk.{i}.ffn_up.weight", hidden, width)
        add(f"blk.{i}.ffn_down.weight", width, hidden)
    add("output_norm.weight", width)
    if output:
        add("output.weight", VOCABULARY, width)
    if rope_freqs is not None:
        writer.add_tensor("rope_freqs.weight", np.asarray(rope_freqs, "f4"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path

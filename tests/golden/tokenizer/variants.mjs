// What the usual models' tokenizer.json say around the vocabulary. Each replaces these parts of base.json.
const llama3 = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const qwen2 = llama3.replace('\\p{N}{1,3}', '\\p{N}');
const split = (Regex) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false });
const bytes = (use_regex, add_prefix_space = false) => ({ type: 'ByteLevel', add_prefix_space, trim_offsets: true, use_regex });
const sequence = (...pretokenizers) => ({ type: 'Sequence', pretokenizers });
const added = (id, content, more) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });

export const variants = {
  gpt2: {},
  prefix: { pre_tokenizer: bytes(true, true) },
  llama3: { pre_tokenizer: sequence(split(llama3), bytes(false)), model: { ignore_merges: true } },
  qwen2: { normalizer: { type: 'NFC' }, pre_tokenizer: sequence(split(qwen2), bytes(false)) },
  smollm: { pre_tokenizer: sequence({ type: 'Digits', individual_digits: true }, bytes(true)) },
  digits: { normalizer: { type: 'Sequence', normalizers: [{ type: 'NFKC' }] }, pre_tokenizer: sequence({ type: 'Digits', individual_digits: false }, bytes(true)) },
  decomposed: { normalizer: { type: 'Sequence', normalizers: [{ type: 'NFD' }, { type: 'Replace', pattern: { String: 'a' }, content: 'aa' }] } },
  compat: { normalizer: { type: 'NFKD' }, pre_tokenizer: sequence({ type: 'Split', pattern: { Regex: '\\s+' }, behavior: 'Removed', invert: false }, bytes(true)) },
  inverted: { pre_tokenizer: sequence({ type: 'Split', pattern: { Regex: '\\p{Han}+|[a-z]+' }, behavior: 'Removed', invert: true }, bytes(false)) },
  added: {
    added_tokens: [added(0, '<|endoftext|>'), added(9001, '<mask>', { lstrip: true }), added(9002, 'cat', { special: false, normalized: true }),
      added(9003, '<mask>y', { rstrip: true })],
  },
};

export function compose(base, change) {
  const { model, ...rest } = change;
  return { ...structuredClone(base), ...rest, model: { ...base.model, ...model } };
}

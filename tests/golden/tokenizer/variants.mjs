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

// A tokenizer of characters with bytes for the rest (Llama 2), with as many of base's words as are whole characters.
// As in Llama 2 no merge joins anything with a blank behind it.
export function ofCharacters(base) {
  const byteOf = new Map();
  for (let b = 0, moved = 0; b < 256; b++) {
    const self = (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    byteOf.set(String.fromCodePoint(self ? b : 256 + moved++), b);
  }
  const strict = new TextDecoder('utf-8', { fatal: true });
  const text = (word) => {
    try {
      return strict.decode(Uint8Array.from([...word].map((c) => byteOf.get(c)))).replaceAll(' ', '\u2581');
    } catch {
      return null;
    }
  };
  const words = ['<unk>', '<s>', '</s>', ...[...Array(256).keys()].map((b) => `<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`)];
  const whole = Object.keys(base.model.vocab).filter((w) => !w.startsWith('<|')).map(text).filter((w) => w && !w.includes('\0'));
  const merges = base.model.merges.map((m) => m.map(text)).filter(([a, b]) => a && b && !(b[0] === '\u2581' && !a.endsWith('\u2581')));
  const vocab = Object.fromEntries([...new Set([...words, ...whole, ...merges.flatMap(([a, b]) => [a, b, a + b])])].map((w, i) => [w, i]));
  const special = (id) => ({ id, content: words[id], single_word: false, lstrip: false, rstrip: false, normalized: false, special: true });
  return {
    added_tokens: [0, 1, 2].map(special),
    normalizer: { type: 'Sequence', normalizers: [{ type: 'Prepend', prepend: '\u2581' }, { type: 'Replace', pattern: { String: ' ' }, content: '\u2581' }] },
    pre_tokenizer: null, post_processor: null,
    decoder: { type: 'Sequence', decoders: [{ type: 'Replace', pattern: { String: '\u2581' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' },
      { type: 'Strip', content: ' ', start: 1, stop: 0 }] },
    model: { byte_fallback: true, fuse_unk: true, unk_token: '<unk>', vocab, merges },
  };
}

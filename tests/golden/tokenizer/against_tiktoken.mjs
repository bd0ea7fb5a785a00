// Compares `pcp tokenizer encode` with js-tiktoken over the published vocabularies that its package carries, over the
// hostile texts and over files. The vocabularies are written to a temporary directory only.
//   node against_tiktoken.mjs PCP [FILE...]
// Exit status: 0 all tokens are equal.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tiktoken } from 'js-tiktoken/lite';
import cl100k from 'js-tiktoken/ranks/cl100k_base';
import gpt2 from 'js-tiktoken/ranks/gpt2';
import o200k from 'js-tiktoken/ranks/o200k_base';
import { texts } from './texts.mjs';

const [pcp, ...files] = process.argv.slice(2);
const self = [[0x21, 0x7e], [0xa1, 0xac], [0xae, 0xff]];
const alphabet = [];
for (let b = 0, moved = 0; b < 256; b++) alphabet[b] = String.fromCodePoint(self.some(([x, y]) => b >= x && b <= y) ? b : 256 + moved++);

// Tokens by rank, as words of the alphabet.
function words(ranks) {
  const out = new Map();
  for (const line of ranks.bpe_ranks.split('\n').filter(Boolean)) {
    const [, offset, ...tokens] = line.split(' ');
    tokens.forEach((t, i) => out.set([...Buffer.from(t, 'base64')].map((b) => alphabet[b]).join(''), Number(offset) + i));
  }
  return out;
}

// The last merge that makes a word: its parts when it is merged by the ranks below its own.
function parts(word, ranks) {
  let list = [...word];
  for (;;) {
    let best = -1, least = ranks.get(word);
    for (let i = 0; i + 1 < list.length; i++) {
      const r = ranks.get(list[i] + list[i + 1]);
      if (r !== undefined && r < least) [best, least] = [i, r];
    }
    if (best < 0) return list;
    list = [...list.slice(0, best), list[best] + list[best + 1], ...list.slice(best + 2)];
  }
}

function tokenizer(ranks) {
  const vocab = words(ranks);
  const merges = [...vocab].sort((a, b) => a[1] - b[1]).filter(([w]) => [...w].length > 1).map(([w]) => parts(w, vocab)).filter((p) => p.length === 2);
  return {
    added_tokens: [], normalizer: null, post_processor: null, decoder: { type: 'ByteLevel' },
    pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type: 'Split', pattern: { Regex: ranks.pat_str }, behavior: 'Isolated', invert: false },
      { type: 'ByteLevel', add_prefix_space: false, use_regex: false }] },
    model: { type: 'BPE', vocab: Object.fromEntries(vocab), merges },
  };
}

const dir = mkdtempSync(join(tmpdir(), 'tiktoken.'));
let bad = 0;
for (const [name, ranks] of Object.entries({ gpt2, cl100k, o200k })) {
  const file = join(dir, `${name}.json`), reference = new Tiktoken(ranks);
  writeFileSync(file, JSON.stringify(tokenizer(ranks)));
  let n = 0, different = 0;
  for (const text of [...texts, ...files.map((f) => readFileSync(f, 'utf8'))]) {
    const want = reference.encode(text, [], []);
    const out = execFileSync(pcp, ['tokenizer', 'encode', '--tokenizer', file], { input: text, maxBuffer: 1 << 28 });
    const got = out.toString().trim().split(' ').filter(Boolean).map(Number);
    n += want.length;
    if (want.join() === got.join()) continue;
    const at = want.findIndex((x, i) => x !== got[i]);
    if (different++ < 8) console.log(`${name}: ${JSON.stringify(text.slice(0, 60))}: token ${at}: ${got.slice(at, at + 4)}, not ${want.slice(at, at + 4)}`);
  }
  console.log(`${name}: ${n} tokens, ${different} texts differ`);
  bad += different;
}
rmSync(dir, { recursive: true });
process.exit(bad ? 1 : 0);

// Makes the golden files beside it: texts.json, variants.json, ids.json. base.json is a vocabulary of our own:
//   build/bin/pcp tokenizer train --vocab 700 --out tests/golden/tokenizer/base.json TEXTS
// and is made when it is not there. Usage: npm ci, then node make.mjs [PCP]
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { texts } from './texts.mjs';
import { compose, ofCharacters, variants } from './variants.mjs';

const here = (name) => new URL(name, import.meta.url).pathname;
// The crate's Digits are \p{N}; those of this port are 0 to 9 alone. It knows no single_word either: the unit test does.
const digits = (s) => s.type === 'Digits' ? { type: 'Split', pattern: { Regex: s.individual_digits ? '\\p{N}' : '\\p{N}+' }, behavior: 'Isolated', invert: false } : s;
function spelt(json) {
  const pre = json.pre_tokenizer ?? {};
  return pre.type === 'Sequence' ? { ...json, pre_tokenizer: { ...pre, pretokenizers: pre.pretokenizers.map(digits) } } : json;
}
const lines = (list) => `[\n${list.map((x) => JSON.stringify(x)).join(',\n')}\n]\n`;
const object = (all, show) => `{\n${Object.entries(all).map(([k, v]) => `${JSON.stringify(k)}: ${show(v)}`).join(',\n')}\n}\n`;
const pcp = process.argv[2] ?? here('../../../build/bin/pcp');

writeFileSync(here('texts.json'), lines(texts));
if (!existsSync(here('base.json'))) {
  const dir = mkdtempSync(join(tmpdir(), 'golden.'));
  writeFileSync(join(dir, 'texts'), texts.join('\n').repeat(2));
  execFileSync(pcp, ['tokenizer', 'train', '--vocab', '700', '--out', here('base.json'), join(dir, 'texts')]);
  rmSync(dir, { recursive: true });
}
const base = JSON.parse(readFileSync(here('base.json'), 'utf8'));
variants.llama2 = ofCharacters(base);
writeFileSync(here('variants.json'), object(variants, JSON.stringify));
const ids = {}; // null: as those of the first variant
for (const [name, change] of Object.entries(variants)) {
  const tokenizer = new Tokenizer(spelt(compose(base, change)), {});
  const all = texts.map((t) => tokenizer.encode(t, { add_special_tokens: false }).ids);
  ids[name] = all.map((x, i) => (ids.gpt2 && ids.gpt2[i].join() === x.join() ? null : x));
}
writeFileSync(here('ids.json'), object(ids, (v) => lines(v).trim()));

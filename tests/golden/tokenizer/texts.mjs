// The hostile corpus: what breaks tokenizers, as strings. Letters of scripts are picked by Unicode's own tables, so
// that no script needs somebody who reads it.

const scripts = ['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Hebrew', 'Arabic', 'Syriac', 'Thaana', 'Nko', 'Devanagari',
  'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu', 'Kannada', 'Malayalam', 'Sinhala', 'Thai', 'Lao',
  'Tibetan', 'Myanmar', 'Georgian', 'Hangul', 'Ethiopic', 'Cherokee', 'Canadian_Aboriginal', 'Ogham', 'Runic', 'Khmer',
  'Mongolian', 'Hiragana', 'Katakana', 'Bopomofo', 'Han', 'Yi', 'Gothic', 'Deseret', 'Javanese', 'Balinese', 'Tifinagh',
  'Glagolitic', 'Coptic'];

// Words of letters and marks, then digits, of one script.
function sample(script) {
  const is = new RegExp(`^[\\p{L}\\p{M}]$`, 'u'), digit = /^\p{N}$/u, of = new RegExp(`^\\p{Script=${script}}$`, 'u');
  const letters = [], digits = [];
  for (let c = 0x41; c < 0x20000 && letters.length < 40; c++) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const s = String.fromCodePoint(c);
    if (!of.test(s)) continue;
    if (is.test(s)) letters.push(s);
    else if (digit.test(s) && digits.length < 5) digits.push(s);
  }
  const words = [];
  for (let at = 0, n = 3; at < letters.length; at += n, n = n % 7 + 1) words.push(letters.slice(at, at + n).join(''));
  return `${words.join(' ')} ${digits.join('')}, ${words[0]}${digits[0] ?? '7'}.`;
}

const fixed = [
  '', ' ', '  ', '\n', 'a', 'Hello, world!', "I'm we'll they've IT'S don'T 'tis o'clock '' 'x", 'He said:\t"no".\r\n\r\n  Then left.',
  '  leading', 'trailing  ', 'a  b   c    d', ' '.repeat(200), `x${' '.repeat(99)}y`, '\n\n\n\n', ' \n \n  \n', '\t\t\tif (x) {\n\t\t\t\ty();\n\t\t\t}\n',
  'a\u00a0b\u2003c\u3000d\u1680e\u202ff\u205fg\u2028h\u2029i', 'zero\u200bwidth\u200c\u200d\u2060', 'soft\u00adhyphen',
  '1234567890 3.14159 1,000,000 1e-7 0x1F', '\u0661\u0662\u0663 \u2155 \u2160\u2161 \u00bd\u00b2 \u{1d7ce}\u{1d7cf}',
  'e\u0301 \u00e9 A\u030a \u00c5 \u212b o\u0308\u0304 \u1e69 s\u0323\u0307', 'a' + '\u0300\u0316\u0345'.repeat(30) + 'b',
  '\uac00 \u1100\u1161 \u1112\u1161\u11ab \ud55c', '\ufb01 \ufdfa \u2126 \u1e9b\u0323 \u3392 \uff21\uff22\uff23',
  '\u{1f600}\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466} \u{1f44d}\u{1f3fd} \u{1f1e9}\u{1f1ea}\u{1f1eb}\u{1f1f7} \u2764\ufe0f 1\ufe0f\u20e3',
  '\u{10ffff} \u{f0000} \ue000 \uffff \ufffe', 'lone \ud800 surrogate \udc00\ud800', '\u0000\u0001\u001b[31m\u007f', '\\n \\u0041 "\\"',
  '\u201cquotes\u201d \u2018it\u2019s\u2019 \u2014 \u2026 \u00ab\u00bb', 'https://example.org/a?b=c&d=%20#e', '<|endoftext|>', 'a<|endoftext|><|endoftext|>b', '<|endoftext|',
  '<mask> x <mask>y  <mask>  ', 'x  <mask> z \n<mask>', 'a <mask>y  b', 'cats cat concat cat, cat', ' word', 'a'.repeat(300), 'ab'.repeat(150), '!?'.repeat(100), '\u00fc'.repeat(120), '\u4e2d'.repeat(90),
  'for(int i=0;i<10;++i){a[i]^=~b[i]|(c>>3);}', 'CamelCaseHTTPServer snake_case_name kebab-case', '\u0130\u0131 \u017f \u212a \u00df \u1e9e',
  '\u05e9\u05b8\u05c1\u05dc\u05d5\u05b9\u05dd \u0645\u064e\u0631\u0652\u062d\u064e\u0628\u064b\u0627', '\u0e01\u0e34\u0e19\u0e02\u0e49\u0e32\u0e27', '\u{e0041}\u{e0062}', '\r', '\r\n \r\n', ' \t\n\r\v\f ',
];

export const texts = [...fixed, ...scripts.map(sample)].map((t) => Buffer.from(t, 'utf8').toString('utf8'));

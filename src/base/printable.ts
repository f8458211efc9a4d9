/** Control characters would move the cursor or colour the reader's terminal: names and commands come from anybody. */
export function printable(text: string): string {
  // the agent asks for the name of every process at every tick: most have none
  if (text.search(UNPRINTABLE) < 0) return text;
  return text.replace(UNPRINTABLE, (c) => {
    const letter = LETTERS[c];
    if (letter !== undefined) return `\\${letter}`;
    const code = c.charCodeAt(0);
    return code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}

const UNPRINTABLE = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const LETTERS: Record<string, string> = { '\n': 'n', '\r': 'r', '\t': 't' };

const PLAIN: Record<string, string> = {
  '’': "'",
  '–': '-',
  '×': 'x',
  '…': '...',
  '°': '',
  '→': '->',
  µ: 'u',
  '·': ',',
  '−': '-',
};

/** Tacho's own punctuation in ASCII, for files, mails and terminals that have no more; names keep their letters. */
export function ascii(text: string): string {
  return text.replace(OWN, (c) => PLAIN[c]!);
}

// a release is ASCII, and no bundler writes a regular expression otherwise than it stands here
const OWN = /[\u2019\u2013\u00d7\u2026\u00b0\u2192\u00b5\u00b7\u2212]/g;

/** The same, but what people have written stays as it is wherever it stands in a text. */
export function asciiAround(names: readonly string[]): (text: string) => string {
  const own = [...new Set(names)].filter((name) => name.search(OWN) >= 0).sort((a, b) => b.length - a.length);
  if (own.length === 0) return ascii;
  const ownNames = own.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const all = new RegExp(`${ownNames}|${OWN.source}`, 'g');
  return (text) => text.replace(all, (character) => PLAIN[character] ?? character);
}

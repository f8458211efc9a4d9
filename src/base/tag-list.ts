/** Tags as environment variables have them, "op:build;seq:4": a word alone has the value 1. */
export function parseTagList(text: string | undefined): Record<string, string> {
  return Object.fromEntries(tagPairs(text ?? ''));
}

/** The same, one by one in the order they are written in. */
export function* tagPairs(text: string): Generator<[key: string, value: string]> {
  for (const tagText of text.split(';')) {
    const colon = tagText.indexOf(':');
    const key = (colon < 0 ? tagText : tagText.slice(0, colon)).trim();
    if (key !== '') yield [key, colon < 0 ? '1' : tagText.slice(colon + 1).trim()];
  }
}

const HEX = /^[a-f]+$/;

/** What Dask calls the prefix of a key: its name without tokens and indices (`key_split` of Dask). */
export function prefixOf(key: string): string {
  const keyWords = key.split('-');
  let name = keyWords[0]!;
  if (!/^\p{L}/u.test(name)) name = name.split(',')[0]!.replace(/^[_'()"]+|[_'()"]+$/g, '');
  for (const word of keyWords.slice(1)) {
    if (!/^\p{L}+$/u.test(word) || (word.length === 8 && HEX.test(word))) break;
    name += `-${word}`;
  }
  if (/^[a-f0-9]{32}$/.test(name)) return 'data';
  if (name === '') return 'Other';
  if (name.startsWith('<'))
    return name
      .replace(/^[<>]+|[<>]+$/g, '')
      .split(/\s/)[0]!
      .split('.')
      .at(-1)!;
  return name;
}

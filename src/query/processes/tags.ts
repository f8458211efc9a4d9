import { tagPairs } from '../../base/tag-list.ts';

export type Tags = ReadonlyMap<string, string>;

/** "op:build;seq:4" → op is build, seq is 4; a word without a value has the value 1. */
export const parseTags = (text: string): Tags => new Map(tagPairs(text));

/** The same for many processes, which share few different texts. */
export function tagReader(): (text: string) => Tags {
  const tagsByText = new Map<string, Tags>();
  return (text) => {
    let tags = tagsByText.get(text);
    if (tags === undefined) {
      tags = parseTags(text);
      tagsByText.set(text, tags);
    }
    return tags;
  };
}

/** "op:build" for the tags that an operation is made of. */
export const tagWords = (tags: Iterable<readonly [string, string]>): string =>
  Array.from(tags, ([key, value]) => `${key}:${value}`).join(';');

import { reason, usage } from '../base/fault.ts';
import { warn } from '../base/warn.ts';

/** What is no tag is said, and the others count. */
export function forgivenTags(given: readonly string[]): Record<string, string> {
  return Object.assign(
    {},
    ...given
      .flatMap((text) => text.split(';'))
      .map((tag) => {
        try {
          return parseTags([tag]);
        } catch (error) {
          warn(`--tag: ${reason(error)}: it is not used; a tag is key:value`);
          return {};
        }
      }),
  );
}

/** Tags as they are given: key:value or key=value, any number of them, also several at once as in TACHO_TAGS. */
export function parseTags(given: readonly string[]): Record<string, string> {
  const tags: Record<string, string> = {};
  for (const tag of given.flatMap((text) => text.split(';'))) {
    const [, key, value] = /^([^:=]+)[:=](.*)$/s.exec(tag) ?? [];
    if (key === undefined) throw usage(`"${tag}" is not a tag`, 'a tag is key:value, e.g. --tag case:baseline');
    tags[key] = value!;
  }
  return tags;
}

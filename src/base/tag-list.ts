/** Tags as environment variables have them, "op:build;seq:4": a word alone has the value 1. */
export function parseTagList(text: string | undefined): Record<string, string> {
  const tags: Record<string, string> = {};
  for (const part of (text ?? '').split(';')) {
    const [, key, value] = /^\s*([^:]+?)\s*(?::\s*(.*?)\s*)?$/s.exec(part) ?? [];
    if (key !== undefined) tags[key] = value ?? '1';
  }
  return tags;
}

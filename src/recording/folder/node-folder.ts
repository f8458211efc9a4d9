/** The folder of a node inside a recording: `node=` and the name, odd characters percent-encoded. */
export function nodeFolder(node: string): string {
  const encoded = encodeURIComponent(node).replace(
    /[!'()*~]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `node=${encoded}`;
}

/** The node's name from its folder's name; undefined when it is no node's folder. */
export function nodeName(folder: string): string | undefined {
  if (!folder.startsWith('node=') || folder.length === 5) return undefined;
  try {
    return decodeURIComponent(folder.slice(5));
  } catch {
    // a bare % that nobody encoded: take it as it is
    return folder.slice(5);
  }
}

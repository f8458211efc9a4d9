/** Names of nodes become names of folders: letters, digits, dot, dash and underscore stay, everything else is escaped. */
export function nodeFolder(node: string): string {
  const safe = encodeURIComponent(node).replace(/[!'()*~]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
  return `node=${safe}`;
}

/** The node a folder belongs to; undefined when the folder is something else. */
export function folderNode(folder: string): string | undefined {
  if (!folder.startsWith('node=') || folder.length === 5) return undefined;
  try {
    return decodeURIComponent(folder.slice(5));
  } catch {
    return folder.slice(5);
  }
}

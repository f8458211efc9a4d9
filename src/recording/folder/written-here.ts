import * as path from 'node:path';

const folders = new Set<string>();

/** This process writes to a node's folder, until the returned function is called. */
export function writesHere(folder: string): () => void {
  const own = path.resolve(folder);
  folders.add(own);
  return () => void folders.delete(own);
}

/** Whether this very process writes there: neither its number nor any clock can tell that so surely. */
export const isWrittenHere = (folder: string): boolean => folders.has(path.resolve(folder));

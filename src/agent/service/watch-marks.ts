import * as fs from 'node:fs';

/** A program that marks more often than this gets no more samples. */
const SHORTEST_MS = 50;

/**
 * Calls `glance` when somebody on this machine has marked something, so that phases begin and end with a sample. `file` is
 * this node's table of marks. Returns how to end it.
 */
export function watchMarks(file: string, glance: () => void): () => void {
  let last = Number.NEGATIVE_INFINITY;
  let later: NodeJS.Timeout | undefined;
  const look = (): void => {
    later = undefined;
    last = performance.now();
    glance();
  };
  try {
    const watcher = fs.watch(file, { persistent: false }, () => {
      if (later !== undefined) return;
      const wait = last + SHORTEST_MS - performance.now();
      if (wait <= 0) look();
      else later = setTimeout(look, wait).unref();
    });
    // a file that goes away ends the agent by other means
    watcher.on('error', () => {});
    return () => {
      clearTimeout(later);
      watcher.close();
    };
  } catch {
    // no more watches for this user, or a file system without: phases are then as exact as ticks
    return () => {};
  }
}

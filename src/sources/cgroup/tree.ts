import * as fs from 'node:fs';
import type { Host } from '../host.ts';

/** How often the folders are looked through although nothing seems to have changed. */
const ANYWAY = 10;

export interface CgroupTree {
  /** Paths relative to the top, which is '' and comes first. Empty when the top has gone. */
  readonly folders: readonly string[];
  /** Looks for folders that came or went; true when `folders` is a new list. */
  update(): boolean;
}

/**
 * A cgroup's folder and those below it. A folder's link count says how many folders it has, so that the tree is walked
 * again only when a cgroup was made or removed.
 */
export function watchTree(host: Host, top: string, depth: number): CgroupTree {
  let folders: string[] = [];
  let links: number[] = [];
  let calls = 0;

  function walk(folder: string, left: number, paths: string[], counts: number[]): void {
    const folderPath = host.path(folder === '' ? top : `${top}/${folder}`);
    const count = linkCount(folderPath);
    if (count < 0) return;
    paths.push(folder);
    counts.push(left > 0 ? count : -1);
    if (left === 0 || count === 2) return;
    let entries: fs.Dirent[];
    try {
      entries = fs.readdirSync(folderPath, { withFileTypes: true });
    } catch {
      return;
    }
    const names = entries.filter((e) => e.isDirectory()).map((e) => e.name);
    for (const name of names.sort()) walk(folder === '' ? name : `${folder}/${name}`, left - 1, paths, counts);
  }

  function same(): boolean {
    if (folders.length === 0) return false;
    for (let i = 0; i < folders.length; i++) {
      if (links[i]! < 0) continue;
      const folder = folders[i]!;
      if (linkCount(host.path(folder === '' ? top : `${top}/${folder}`)) !== links[i]) return false;
    }
    return true;
  }

  return {
    get folders() {
      return folders;
    },
    update(): boolean {
      if (calls++ % ANYWAY !== 0 && same()) return false;
      const paths: string[] = [];
      const counts: number[] = [];
      walk('', depth, paths, counts);
      links = counts;
      if (paths.length === folders.length && paths.every((p, i) => p === folders[i])) return false;
      folders = paths;
      return true;
    },
  };
}

function linkCount(path: string): number {
  try {
    return fs.statSync(path, { throwIfNoEntry: false })?.nlink ?? -1;
  } catch {
    return -1;
  }
}

import * as fs from 'node:fs';

/** Something that is written through a descriptor which may be closed and opened again. */
export interface Held {
  fd: number;
  /** Written to since it was last looked at. */
  recent: boolean;
  /** Written to since it was last brought to the disk. */
  dirty: boolean;
}

/** Keeps at most so many descriptors open; those that were not used for longest are closed first. */
export class Descriptors {
  private readonly most: number;
  private readonly held = new Set<Held>();

  constructor(most: number) {
    this.most = most;
  }

  get size(): number {
    return this.held.size;
  }

  add(held: Held): void {
    if (this.held.size >= this.most) this.makeRoom();
    this.held.add(held);
  }

  /** Closes it, once what was written is on the disk; nobody waits for that. */
  drop(held: Held): void {
    if (!this.held.delete(held)) return;
    const { fd } = held;
    held.fd = -1;
    if (!held.dirty) return void fs.closeSync(fd);
    held.dirty = false;
    fs.fdatasync(fd, () => fs.close(fd, () => {}));
  }

  /** It could not be opened after all. */
  forget(held: Held): void {
    this.held.delete(held);
  }

  /** Those that hold what is not on the disk yet. */
  dirty(): Held[] {
    const dirtyFiles: Held[] = [];
    for (const held of this.held) if (held.dirty) dirtyFiles.push(held);
    return dirtyFiles;
  }

  closeAll(): void {
    for (const held of this.held) {
      fs.closeSync(held.fd);
      held.fd = -1;
    }
    this.held.clear();
  }

  private makeRoom(): void {
    // second chance: whatever was used since the last round goes to the end of the line
    for (const held of this.held) {
      if (!held.recent) return void this.drop(held);
      held.recent = false;
      this.held.delete(held);
      this.held.add(held);
    }
  }
}

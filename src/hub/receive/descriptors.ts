import * as fs from 'node:fs';

/** Something that is written through a descriptor which may be closed and opened again. */
export interface Held {
  fd: number;
  /** Written to since it was last looked at. */
  recent: boolean;
  /** Written to since it was last brought to the disk. */
  dirty: boolean;
}

/** Number of files that are closed at once, beside other work: until then they count as open. */
const CLOSING = 48;

/** Keeps at most so many descriptors open; those that were not used for longest are closed first. */
export class Descriptors {
  private readonly most: number;
  private readonly held = new Set<Held>();
  private closing = 0;

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

  /** Closes it, once what was written is on the disk; nobody waits for that, unless too many are waiting. */
  drop(held: Held): void {
    if (!this.held.delete(held)) return;
    const { fd } = held;
    held.fd = -1;
    const isDirty = held.dirty;
    held.dirty = false;
    if (isDirty && this.closing < CLOSING) return void this.closeLater(fd);
    try {
      if (isDirty) fs.fdatasyncSync(fd);
    } catch {
      // as nobody hears of it later either: the bytes are written, and the kernel brings them to the disk
    }
    fs.closeSync(fd);
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

  private closeLater(fd: number): void {
    this.closing++;
    fs.fdatasync(fd, () => fs.close(fd, () => void this.closing--));
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

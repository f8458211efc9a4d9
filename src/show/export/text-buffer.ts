import type { Output } from './output.ts';

const SIZE = 1 << 20;

/**
 * A text on its way to an output, in large pieces. Hot loops take `bytes` and `at` into variables of their own after
 * they asked for `room`, and put `at` back when a row is done.
 */
export class TextBuffer {
  bytes: Buffer = Buffer.allocUnsafeSlow(SIZE + (SIZE >> 2));
  at = 0;
  private readonly output: Output;

  constructor(output: Output) {
    this.output = output;
  }

  /** Makes room for so many more bytes. */
  room(count: number): void {
    if (this.at + count <= this.bytes.length) return;
    this.flush();
    if (count > this.bytes.length) this.bytes = Buffer.allocUnsafeSlow(count * 2);
  }

  /** Text as it is. */
  put(text: string): void {
    this.room(text.length * 3);
    this.at += this.bytes.write(text, this.at);
  }

  flush(): void {
    if (this.at > 0) this.output.write(this.bytes, this.at);
    this.at = 0;
  }
}

/** Writes what each piece holds behind the first line; returns how many rows that was. */
export async function writePieces<P extends { batch: { rows: number } }>(
  output: Output,
  firstLine: string,
  batches: AsyncIterable<P>,
  write: (text: TextBuffer, batch: P) => void,
): Promise<number> {
  const text = new TextBuffer(output);
  text.put(firstLine);
  let rows = 0;
  for await (const batch of batches) {
    write(text, batch);
    rows += batch.batch.rows;
  }
  text.flush();
  return rows;
}

import { decode } from './fields.ts';
import { NOTHING, type Written } from './recorded-processes.ts';

interface Text {
  readonly chunks: Buffer[];
  /** What they say together: a start and an end ask for it. */
  whole?: string;
}

/** The fields that may be too long. */
export const LONG_TEXTS = ['rank', 'step', 'tags', 'directory', 'path', 'argv0', 'exename', 'args'];

/** They are kept until their process has ended; of those that were killed the oldest are let go. */
const MOST_BYTES = 8 << 20;
/** What a piece and an image cost besides the bytes, about, with their keys. */
const PIECE = 256;
const IMAGE = 512;

/** Texts that are too long for a line, by the image that they belong to. */
export class LongTexts {
  private readonly texts = new Map<string, Map<string, Text>>();
  private readonly lines = new Map<string, Written>();
  private kept = 0;

  /** Adds a piece, from a line of this length; a character may be divided between two. */
  add(id: string, field: string, chunk: Buffer, line: number): void {
    const { bytes, calls } = this.written(id);
    this.lines.set(id, { bytes: bytes + line, calls: calls + 1 });
    if (!this.texts.has(id)) this.kept += IMAGE;
    const own = this.texts.get(id) ?? new Map<string, Text>();
    const chunks = own.get(field)?.chunks ?? [];
    this.texts.set(id, own.set(field, { chunks }));
    chunks.push(chunk);
    this.kept += chunk.length + PIECE;
    for (const oldest of this.texts.keys()) {
      if (this.kept <= MOST_BYTES) break;
      this.forget(oldest);
    }
  }

  get(id: string, field: string): string {
    const text = this.texts.get(id)?.get(field);
    if (text === undefined) return '';
    text.whole ??= decode(field, Buffer.concat(text.chunks));
    return text.whole;
  }

  /** The lines that they came in. */
  written(id: string): Written {
    return this.lines.get(id) ?? NOTHING;
  }

  forget(id: string): void {
    const own = this.texts.get(id);
    if (own === undefined) return;
    this.kept -= IMAGE;
    for (const { chunks } of own.values()) for (const chunk of chunks) this.kept -= chunk.length + PIECE;
    this.texts.delete(id);
    this.lines.delete(id);
  }
}

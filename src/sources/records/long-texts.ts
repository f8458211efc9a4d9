import { decode } from './fields.ts';
import { NOTHING, type Written } from './known.ts';

/** Texts that are too long for a line, by the image that they belong to. */
export interface LongTexts {
  /** Adds a piece, from a line of this length; a character may be divided between two. */
  add(id: string, field: string, piece: Buffer, line: number): void;
  get(id: string, field: string): string;
  /** The lines that they came in. */
  written(id: string): Written;
  forget(id: string): void;
}

interface Text {
  readonly pieces: Buffer[];
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

export function longTexts(): LongTexts {
  const texts = new Map<string, Map<string, Text>>();
  const lines = new Map<string, Written>();
  let kept = 0;

  function forget(id: string): void {
    const own = texts.get(id);
    if (own === undefined) return;
    kept -= IMAGE;
    for (const { pieces } of own.values()) for (const piece of pieces) kept -= piece.length + PIECE;
    texts.delete(id);
    lines.delete(id);
  }

  return {
    forget,
    get(id, field) {
      const text = texts.get(id)?.get(field);
      if (text === undefined) return '';
      text.whole ??= decode(field, Buffer.concat(text.pieces));
      return text.whole;
    },
    written: (id) => lines.get(id) ?? NOTHING,
    add(id, field, piece, line) {
      const { bytes, calls } = lines.get(id) ?? NOTHING;
      lines.set(id, { bytes: bytes + line, calls: calls + 1 });
      if (!texts.has(id)) kept += IMAGE;
      const own = texts.get(id) ?? new Map<string, Text>();
      const pieces = own.get(field)?.pieces ?? [];
      texts.set(id, own.set(field, { pieces }));
      pieces.push(piece);
      kept += piece.length + PIECE;
      for (const oldest of texts.keys()) {
        if (kept <= MOST_BYTES) break;
        forget(oldest);
      }
    },
  };
}

import { decode } from './process-record-fields.ts';

/** Texts that are too long for a line, by the image that they belong to. */
export interface LongTexts {
  /** Adds a piece; a character may be divided between two. */
  add(id: string, field: string, piece: Buffer): void;
  get(id: string, field: string): string;
  forget(id: string): void;
}

/** They are kept until their process has ended; of those that were killed the oldest are let go. */
const MOST_BYTES = 16 << 20;

export function longTexts(): LongTexts {
  const texts = new Map<string, Map<string, Buffer[]>>();
  let kept = 0;

  function forget(id: string): void {
    for (const pieces of texts.get(id)?.values() ?? []) for (const piece of pieces) kept -= piece.length;
    texts.delete(id);
  }

  return {
    forget,
    get: (id, field) => decode(field, Buffer.concat(texts.get(id)?.get(field) ?? [])),
    add(id, field, piece) {
      const own = texts.get(id) ?? new Map<string, Buffer[]>();
      const pieces = own.get(field) ?? [];
      texts.set(id, own.set(field, pieces));
      pieces.push(piece);
      kept += piece.length;
      for (const oldest of texts.keys()) {
        if (kept <= MOST_BYTES || oldest === id) break;
        forget(oldest);
      }
    },
  };
}

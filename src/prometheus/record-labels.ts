import { deflateRawSync, inflateRawSync } from 'node:zlib';

/** Label values beyond 4096 bytes are cut by VictoriaMetrics. */
const LONGEST = 4000;

/** No record is larger than this; what claims to be is not one of ours. */
const LARGEST = 16 << 20;

/**
 * A record (job.json, agent.json) as values of labels: VictoriaMetrics keeps numbers, and the rest of what a report says
 * must travel with them. `unpackRecord` undoes it.
 */
export function packRecord(record: object): string[] {
  const packed = deflateRawSync(JSON.stringify(record), { level: 9 }).toString('base64');
  return Array.from({ length: Math.ceil(packed.length / LONGEST) }, (_, i) =>
    packed.slice(i * LONGEST, (i + 1) * LONGEST),
  );
}

/** The record of these pieces, in their order; undefined when they are not whole. */
export function unpackRecord(recordPieces: readonly string[]): object | undefined {
  try {
    const text = inflateRawSync(Buffer.from(recordPieces.join(''), 'base64'), { maxOutputLength: LARGEST }).toString(
      'utf8',
    );
    const record: unknown = JSON.parse(text);
    return typeof record === 'object' && record !== null ? record : undefined;
  } catch {
    // a piece is missing, or belongs to another version of the record
    return undefined;
  }
}

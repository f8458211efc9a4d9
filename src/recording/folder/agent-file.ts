import { readPlain } from '../../base/plain-file.ts';
import type { AgentRecord } from './agent-record.ts';
import { countJson, MOST_BYTES } from './record-file.ts';

type Tables = AgentRecord['tables'];

/** Tables as agents have written them, the newest first: most agents say the same. */
const cachedTables: { text: Buffer; tables: Tables }[] = [];
const MOST_KNOWN = 8;

const KEY = '"tables":';
/** Stands for tables that are known; no agent writes it. */
const STAND_IN = '\u0000';

/** Room for one: a list reads thousands of them. */
let room: Buffer | undefined;
const USUAL_BYTES = 128 << 10;

/**
 * What an agent.json holds. Most of it are its tables, which many agents have in common: these are parsed once, and then
 * shared. Throws as `readJson` does.
 */
export function readAgentJson(file: string): unknown {
  room ??= Buffer.allocUnsafeSlow(USUAL_BYTES);
  const bytes = readPlain(file, MOST_BYTES.agent, room);
  countJson(bytes.length);
  const at = bytes.indexOf(`${KEY}[`) + KEY.length;
  const same = at < KEY.length ? undefined : cachedTables.find(({ text }) => isAt(bytes, at, text));
  if (same !== undefined) {
    const rest = bytes.toString('utf8', at + same.text.length);
    const record = JSON.parse(`${bytes.toString('utf8', 0, at)}${JSON.stringify(STAND_IN)}${rest}`) as AgentRecord;
    if ((record?.tables as unknown) === STAND_IN) return { ...record, tables: same.tables };
  }
  const record = JSON.parse(bytes.toString()) as AgentRecord | null;
  if (same === undefined && Array.isArray(record?.tables) && record.tables.length > 0) {
    const text = Buffer.from(JSON.stringify(record.tables));
    if (isAt(bytes, at, text)) cachedTables.unshift({ text, tables: record.tables });
    cachedTables.length = Math.min(cachedTables.length, MOST_KNOWN);
  }
  return record;
}

const isAt = (bytes: Buffer, at: number, text: Buffer): boolean =>
  at + text.length <= bytes.length && bytes.compare(text, 0, text.length, at, at + text.length) === 0;

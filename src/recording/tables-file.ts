import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../base/fault.ts';
import type { AgentRecord } from './agent-record.ts';
import { packText, unpackText } from './pack-text.ts';
import { replaceJson } from './replace.ts';
import { syncFolder, writeSynced } from './synced.ts';

/** node=<n>/tables.json.zst: where seal puts what agent.json says of its tables, which is most of it. */
export const TABLES_FILE = 'tables.json.zst';

type Tables = AgentRecord['tables'];

/** What seal left; undefined (and a word in `troubles`) when it is damaged. */
export function readTables(folder: string, troubles: string[]): Tables | undefined {
  const file = path.join(folder, TABLES_FILE);
  try {
    const { tables } = JSON.parse(unpackText(fs.readFileSync(file))) as { tables: Tables };
    if (!Array.isArray(tables)) throw new SyntaxError('no list');
    return tables;
  } catch (error) {
    troubles.push(`cannot read ${file}: ${code(error)?.startsWith('E') ? reason(error) : 'it is damaged'}`);
    return undefined;
  }
}

/** The record of an agent with its tables, which are beside agent.json once it is sealed. */
export function withTables(agent: AgentRecord | undefined, folder: string): AgentRecord | undefined {
  if (agent?.tables.length !== 0 || !fs.existsSync(path.join(folder, TABLES_FILE))) return agent;
  return { ...agent, tables: readTables(folder, []) ?? [] };
}

/**
 * Takes the tables out of agent.json, once nobody writes it any more, and puts them beside it. `more`: those of them
 * that no agent describes; `written`: those that have rows.
 */
export function moveTables(folder: string, more: Tables, written: readonly string[]): void {
  const file = path.join(folder, 'agent.json');
  const before = versionOf(file);
  let record: AgentRecord;
  try {
    record = JSON.parse(fs.readFileSync(file, 'utf8')) as AgentRecord;
  } catch {
    // it is lost or damaged: there is nothing to move
    return;
  }
  if (!Array.isArray(record.tables) || record.tables.length === 0) return;
  const own = new Set(record.tables.map(({ name }) => name));
  const tables = [...record.tables, ...more.filter(({ name }) => !own.has(name))];
  const target = path.join(folder, TABLES_FILE);
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    writeSynced(temporary, packText(JSON.stringify({ tables })));
    fs.renameSync(temporary, target);
  } catch (error) {
    fs.rmSync(temporary, { force: true });
    throw new Fault(`cannot write ${target}: ${reason(error)}; the tables themselves are sealed`, { cause: error });
  }
  syncFolder(folder);
  // a hub may have heard from the node meanwhile: then it says them once more
  if (versionOf(file) !== before) return;
  replaceJson(file, { ...record, tables: [], written: [...new Set([...(record.written ?? []), ...written])] });
}

/** Differs when the file was replaced. */
export function versionOf(file: string): string {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
}

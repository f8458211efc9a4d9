import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../../base/fault.ts';
import { packText } from '../sealed/pack-text.ts';
import { AGENT_NEEDS, type AgentRecord, TABLES } from './agent-record.ts';
import { namesHash, withHeaderNames, withoutHeaderNames } from './header-names.ts';
import { withHelp, withoutOwnHelp } from './own-help.ts';
import { MOST_BYTES, readJson, readJsonText } from './record-file.ts';
import { replaceLast } from './replace.ts';
import { invalidValueText, shaped } from './shape.ts';
import { syncFolder, writeSynced } from './synced.ts';

/**
 * Where seal puts what agent.json says of its tables, which is most of it: in the recording, for all of its nodes that say the
 * same, else in the node's folder.
 */
export const TABLES_FILE = 'tables.json.zst';

type Tables = AgentRecord['tables'];

/** The last one that was read: those of all nodes are mostly the same. */
let cachedTables: { text: string; tables: Tables } | undefined;

/** What seal left; undefined (and a word in `troubles`) when it is damaged. */
export function readTables(folder: string, troubles: string[]): Tables | undefined {
  const file = path.join(folder, TABLES_FILE);
  try {
    const text = readJsonText(file, MOST_BYTES.tables);
    if (text === cachedTables?.text) return cachedTables.tables;
    const { tables, names } = JSON.parse(text) as { tables: unknown; names?: unknown };
    if (!Array.isArray(tables)) throw new SyntaxError('no list');
    const wrong: string[] = [];
    const usable = (TABLES(withHeaderNames(tables, folder), wrong) as Tables).map(withHelp);
    if (wrong.length > 0) troubles.push(`${file}: of its tables ${invalidValueText(wrong)} cannot be used`);
    else if (names === undefined || names === namesHash(usable)) cachedTables = { text, tables: usable };
    return usable;
  } catch (error) {
    troubles.push(
      `cannot read ${file}: ${error instanceof SyntaxError || error instanceof TypeError ? 'it is damaged' : reason(error)}`,
    );
    return undefined;
  }
}

/** The record of an agent with its tables, which are elsewhere once it is sealed. */
export function withTables(agent: AgentRecord | undefined, folder: string): AgentRecord | undefined {
  if (agent?.tables.length !== 0) return agent;
  const tablesFolder = [folder, path.dirname(folder)].find((each) => fs.existsSync(path.join(each, TABLES_FILE)));
  return tablesFolder === undefined ? agent : { ...agent, tables: readTables(tablesFolder, []) ?? [] };
}

export interface MovedTables {
  /** Those of them that no agent describes. */
  more?: Tables;
  /** Those that have rows. */
  written: readonly string[];
  /** Whether there are several nodes, which may have them in common. */
  several: boolean;
  /** What was moved before, as it was read then. */
  before?: Tables | undefined;
}

/** Takes the tables out of agent.json, once nobody writes it any more, and puts them beside it, or where nodes have them in common. */
export function moveTables(folder: string, { more = [], written, several, before: moved }: MovedTables): void {
  const file = path.join(folder, 'agent.json');
  const before = versionOf(file);
  let record: AgentRecord;
  const wrong: string[] = [];
  try {
    record = shaped<AgentRecord>(readJson(file, MOST_BYTES.agent) as object, AGENT_NEEDS, wrong);
  } catch {
    // it is lost or damaged: there is nothing to move
    renew(folder, moved);
    return;
  }
  if (record.tables.length === 0) {
    renew(folder, moved);
    return;
  }
  // what cannot be used of it is for `verify` to tell, as long as it is there
  if (wrong.length > 0) return;
  const tableNames = new Set(record.tables.map(({ name }) => name));
  const tables = [...record.tables, ...more.filter(({ name }) => !tableNames.has(name))];
  const own = path.join(folder, TABLES_FILE);
  if (several && isInCommon(path.dirname(folder), storedText(tables))) fs.rmSync(own, { force: true });
  else write(own, storedText(tables, folder), fs.renameSync);
  // a hub may have heard from the node meanwhile: then it says them once more
  if (versionOf(file) !== before) return;
  replaceLast(file, { ...record, tables: [], written: [...new Set([...(record.written ?? []), ...written])] });
}

/** Writes names that stood in a CSV file, and now in none: more rows may have made a Parquet file of it. */
function renew(folder: string, tables: Tables | undefined): void {
  const own = path.join(folder, TABLES_FILE);
  if (tables === undefined || !fs.existsSync(own)) return;
  const stored = (readJson(own, MOST_BYTES.tables) as { tables: unknown[] }).tables;
  if (withHeaderNames(stored, folder).length < stored.length) write(own, storedText(tables, folder), fs.renameSync);
}

/** In the folder of a node without the names that stand in its files. */
function storedText(tables: Tables, folder?: string): string {
  const helped = tables.map(withoutOwnHelp);
  return JSON.stringify(folder === undefined ? { tables: helped } : withoutHeaderNames(helped, folder));
}

/** Whether the nodes of a recording have this in common; the first one's is what they have. */
function isInCommon(recording: string, text: string): boolean {
  const file = path.join(recording, TABLES_FILE);
  try {
    // another one may be sealed at this moment: a link takes nobody's place
    if (!fs.existsSync(file)) write(file, text, fs.linkSync);
  } catch (error) {
    if (code((error as Fault).cause) !== 'EEXIST') return false;
  }
  const commonTables = readTables(recording, []);
  return commonTables !== undefined && storedText(commonTables) === text;
}

function write(target: string, text: string, moveFile: (from: string, to: string) => void): void {
  const temporary = `${target}.${process.pid}.tmp`;
  try {
    writeSynced(temporary, packText(text));
    moveFile(temporary, target);
  } catch (error) {
    throw new Fault(`cannot write ${target}: ${reason(error)}; the tables themselves are sealed`, { cause: error });
  } finally {
    fs.rmSync(temporary, { force: true });
  }
  syncFolder(path.dirname(target));
}

/** Differs when the file was replaced. */
export function versionOf(file: string): string {
  const stat = fs.statSync(file, { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
}

import * as fs from 'node:fs';
import { constants } from 'node:os';
import * as path from 'node:path';
import type { Records } from '../sources/scope.ts';
import type { CommandEnding } from './command.ts';

/** Characters of a text in one line, before control characters are written out. */
const PIECE = 800;
const PIECES = new RegExp(`.{1,${PIECE}}`, 'gsu');

const ESCAPES: Readonly<Record<string, string>> = { '\0': '\\0', '\\': '\\\\', '\n': '\\n', '\t': '\\t', '\r': '\\r' };
const escaped = (text: string): string =>
  text.replace(/[\\\0-\x1f\x7f]/g, (c) => ESCAPES[c] ?? `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** Lines as native/record-told.c writes them; nobody need read them where no agent has made the folder. */
function append(records: Records, lines: readonly (readonly (string | number)[])[]): void {
  try {
    fs.appendFileSync(records.file, lines.map((fields) => `\n${fields.join('\t')}\t.\n`).join(''), { mode: 0o600 });
  } catch {
    // the command is recorded by itself, or not at all
  }
}

/** Tells of the start of the job's first process, which may be unable to do so itself. `start`: epoch microseconds. */
export function tellStart(
  records: Records,
  { pid, start, command, env }: { pid: number; start: number; command: readonly string[]; env: NodeJS.ProcessEnv },
): void {
  const lines: (string | number)[][] = [];
  const text = (field: string, value: string): string => {
    if (value.length <= PIECE) return escaped(value);
    for (const piece of value.match(PIECES) ?? []) lines.push(['A1', pid, start, field, escaped(piece)]);
    return '\\c';
  };
  const [first = '', ...rest] = command;
  const texts = [
    text('rank', env.PMIX_RANK || env.OMPI_COMM_WORLD_RANK || env.SLURM_PROCID || ''),
    text('tags', env.TACHO_TAGS || env.PAPIEX_TAGS || ''),
    text('directory', process.cwd()),
    text('path', programOf(first, env.PATH)),
    text('argv0', first),
    '',
    text('args', rest.map((word) => `${word}\0`).join('')),
  ];
  lines.push(['S3', start, pid, start, '', '', '', process.getuid!(), 'spawn', ...texts]);
  append(records, lines);
}

/** Tells how the job's first process ended. */
export function tellEnd(records: Records, pid: number, { exitCode, signal, usage }: CommandEnding): void {
  if (usage === undefined) return;
  const status = signal === undefined ? (exitCode ?? 0) << 8 : constants.signals[signal];
  const microseconds = (seconds: number): number => Math.round(seconds * 1e6);
  const counts = [
    usage.max_rss_bytes === undefined ? '' : Math.round(usage.max_rss_bytes / 1024),
    usage.minor_faults,
    usage.major_faults,
    usage.read_blocks,
    usage.written_blocks,
    usage.voluntary_switches,
    usage.involuntary_switches,
  ];
  const times = [microseconds(usage.user_seconds), microseconds(usage.system_seconds)];
  append(records, [['W1', Date.now() * 1000, pid, '', status, ...times, ...counts]]);
}

/** Where the launcher finds it. */
function programOf(name: string, folders = '/bin:/usr/bin'): string {
  if (name.includes('/')) return name;
  for (const folder of folders.split(':')) {
    const file = path.join(folder || '.', name);
    try {
      fs.accessSync(file, fs.constants.X_OK);
      return file;
    } catch {
      // the next one
    }
  }
  return name;
}

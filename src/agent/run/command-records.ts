import { isUtf8 } from 'node:buffer';
import * as fs from 'node:fs';
import { constants } from 'node:os';
import * as path from 'node:path';
import { textOf } from '../../base/byte-text.ts';
import { rankText } from '../../sources/records/rank.ts';
import type { Records } from '../../sources/scope.ts';
import type { CommandEnding } from './command.ts';

/** Bytes of a text in one line, before control characters are written out. */
const PIECE = 800;

const ESCAPES: Readonly<Record<string, string>> = { '\0': '\\0', '\\': '\\\\', '\n': '\\n', '\t': '\\t', '\r': '\\r' };
/** Bytes as a text of as many characters, in which lines are put together. */
const escaped = (bytes: Buffer): string =>
  bytes
    .toString('latin1')
    .replace(/[\\\0-\x1f\x7f]/g, (c) => ESCAPES[c] ?? `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** Lines as native/record-reports.c writes them; nobody need read them where no agent has made the folder. */
function append(records: Records, lines: readonly (readonly (string | number)[])[]): void {
  try {
    const text = lines.map((fields) => `\n${fields.join('\t')}\t.\n`).join('');
    fs.appendFileSync(records.file, Buffer.from(text, 'latin1'), { mode: 0o600 });
  } catch {
    // the command is recorded by itself, or not at all
  }
}

/** Tells of the start of the job's first process, which may be unable to do so itself. `start`: epoch microseconds. */
export function recordStart(
  records: Records,
  { pid, start, command, env }: { pid: number; start: number; command: readonly string[]; env: NodeJS.ProcessEnv },
): void {
  const lines: (string | number)[][] = [];
  const text = (field: string, value: string | Buffer): string => {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    if (bytes.length <= PIECE) return escaped(bytes);
    for (let from = 0; from < bytes.length; from += PIECE)
      lines.push(['A2', pid, start, field, escaped(bytes.subarray(from, from + PIECE))]);
    return '\\c';
  };
  const [first = Buffer.alloc(0), ...rest] = bytesOfCommand(command);
  const texts = [
    text('rank', rankText(env)),
    text('step', env.SLURM_STEP_ID || env.SLURM_STEPID || ''),
    text('tags', env.TACHO_TAGS || env.PAPIEX_TAGS || ''),
    text('directory', process.cwd()),
    text('path', first.includes('/') ? first : programOf(first.toString(), env.PATH)),
    text('argv0', first),
    '',
    text('args', Buffer.concat(rest.flatMap((word) => [word, Buffer.of(0)]))),
  ];
  lines.push(['S5', start, pid, start, '', '', '', process.getuid!(), 'spawn', ...texts]);
  append(records, lines);
}

/** Tells how the job's first process ended. `end`: epoch microseconds. */
export function recordEnd(
  records: Records,
  { pid, end, exitCode, signal, usage }: CommandEnding & { pid: number; end: number },
): void {
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
  append(records, [['W2', end, pid, '', status, ...times, ...counts]]);
}

/** What is no UTF-8 in the arguments that Node has read is whole in what the kernel keeps of them. */
function bytesOfCommand(command: readonly string[]): Buffer[] {
  const argumentBytes = command.map((word) => Buffer.from(word));
  if (!command.some((word) => word.includes('\ufffd'))) return argumentBytes;
  const given = fs.readFileSync('/proc/self/cmdline', 'latin1').split('\0').slice(0, -1).slice(-command.length);
  return argumentBytes.map((word, i) => {
    const bytes = Buffer.from(given[i] ?? '', 'latin1');
    return bytes.toString() === command[i] ? bytes : word;
  });
}

/** The words of a command, those that are no UTF-8 as bash would quote them. */
export const commandTexts = (command: readonly string[]): string[] =>
  bytesOfCommand(command).map((bytes, i) => (isUtf8(bytes) ? command[i]! : textOf(bytes)));

/** Where the launcher finds it. */
function programOf(name: string, folders = '/bin:/usr/bin'): string {
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

import * as fs from 'node:fs';
import * as path from 'node:path';
import { code, Fault, reason } from '../base/fault.ts';
import { ours } from '../base/ours.ts';

/** What a notebook looks at: recordings, or jobs in a database (its address without a password: files are passed around). */
export type Subject = { recordings: readonly string[] } | { database: string; jobs: readonly string[] };

interface Cell {
  kind: 'markdown' | 'code';
  text: string;
}

/** Python's own way to write a text; JSON's is a part of it. */
const literal = (value: string | readonly string[]): string =>
  typeof value === 'string' ? JSON.stringify(value) : `[${value.map((one) => JSON.stringify(one)).join(', ')}]`;

/**
 * The text of a notebook (nbformat 4.4) about `subject`, made from a script below python/notebook that says `# %%` where a
 * cell begins. Recordings are named as seen from the notebook's folder.
 */
export function notebookText(subject: Subject, folder: string): string {
  const cells = cellsOf('recordings' in subject ? aboutRecordings(subject.recordings, folder) : aboutDatabase(subject));
  const notebook = {
    cells: cells.map(({ kind, text }) => ({
      cell_type: kind,
      metadata: {},
      ...(kind === 'code' ? { execution_count: null, outputs: [] } : {}),
      source: text.split(/(?<=\n)/),
    })),
    metadata: {
      kernelspec: { display_name: 'Python 3', language: 'python', name: 'python3' },
      language_info: { name: 'python' },
    },
    nbformat: 4,
    nbformat_minor: 4,
  };
  return `${JSON.stringify(notebook, null, 1)}\n`;
}

function aboutRecordings(recordings: readonly string[], folder: string): string {
  const named = recordings.map((name) => {
    const relativePath = path.relative(folder, path.resolve(name)) || '.';
    return relativePath.startsWith('..') ? path.resolve(name) : relativePath;
  });
  return filled('recordings.py', {
    'tacho.open(".")': `tacho.open(${literal(named.length === 1 ? named[0]! : named)})`,
  });
}

function aboutDatabase({ database, jobs }: { database: string; jobs: readonly string[] }): string {
  return filled('database.py', {
    'tacho.database("postgres://host/name")': `tacho.database(${literal(database)})`,
    'names = []': `names = ${literal(jobs)}`,
  });
}

function filled(name: string, replacements: Readonly<Record<string, string>>): string {
  let script = fs.readFileSync(ours(`python/notebook/${name}`), 'utf8');
  for (const [placeholder, text] of Object.entries(replacements)) {
    if (!script.includes(placeholder)) throw new Error(`python/notebook/${name} lacks ${placeholder}`);
    script = script.replace(placeholder, () => text);
  }
  return script;
}

/** The cells of a script: `# %%` begins code, `# %% [markdown]` text in comments. */
function cellsOf(script: string): Cell[] {
  return script
    .split(/^# %%/m)
    .slice(1)
    .map((cellText) => {
      const [head, ...lines] = cellText.trimEnd().split('\n');
      if (head!.trim() !== '[markdown]') return { kind: 'code', text: lines.join('\n') };
      return { kind: 'markdown', text: lines.map((line) => line.replace(/^# ?/, '')).join('\n') };
    });
}

/** How many names are tried before giving up. */
const MOST = 1000;

/** Writes a notebook to `file`, or to the first of tacho.ipynb, tacho-2.ipynb… that is free here. Returns its path. */
export function writeNotebook(subject: Subject, file?: string): string {
  for (let n = 1; n <= MOST; n++) {
    const target = file ?? (n === 1 ? 'tacho.ipynb' : `tacho-${n}.ipynb`);
    try {
      fs.writeFileSync(target, notebookText(subject, path.dirname(path.resolve(target))), { flag: 'wx' });
      return target;
    } catch (error) {
      if (code(error) !== 'EEXIST') throw new Fault(`cannot write ${target}: ${reason(error)}`, { cause: error });
      if (file !== undefined) {
        throw new Fault(`${target} exists already, and is not overwritten`, {
          hint: `tacho notebook ${target} opens it as it is`,
        });
      }
    }
  }
  throw new Fault(`there are ${MOST} notebooks here already`, { hint: '--output names another' });
}

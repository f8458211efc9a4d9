import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Fault, reason } from '../../base/fault.ts';
import { makeFolder } from '../../base/folder.ts';
import { freePort } from '../../base/free-port.ts';
import { askOnce } from '../../http/ask-once.ts';
import { openStore, type Store } from '../../query/store/client.ts';

/** What VictoriaMetrics is called: by Debian, and in its own archives. */
const PROGRAMS = ['victoria-metrics', 'victoria-metrics-prod', 'victoria-metrics-linux-amd64-prod'];

/** Opening a large database takes a while. */
const START_MILLISECONDS = 120_000;

/** Whether a folder is what VictoriaMetrics keeps its data in (-storageDataPath). */
export function isDataFolder(folder: string): boolean {
  return ['data', 'indexdb'].every((name) => fs.existsSync(path.join(folder, name)));
}

export interface OpenedFolder {
  store: Store;
  close(): Promise<void>;
}

/**
 * Opens a data folder: a VictoriaMetrics of this program's own, on the loopback interface, over a copy (where the file
 * system can, one that shares the blocks). The folder itself is only read.
 */
export async function openDataFolder(folder: string, scratch: string): Promise<OpenedFolder> {
  refuseRunning(folder);
  const program = findProgram();
  const copy = copyOf(folder, scratch);
  let child: ChildProcess | undefined;
  const close = async (): Promise<void> => {
    if (child !== undefined && child.exitCode === null && child.signalCode === null) {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }
    fs.rmSync(copy, { recursive: true, force: true });
  };
  try {
    const port = await freePort();
    const log = path.join(copy, 'log');
    const output = fs.openSync(log, 'w');
    const flags = [
      `-storageDataPath=${path.join(copy, 'data')}`,
      `-httpListenAddr=127.0.0.1:${port}`,
      // nothing may be thrown away for its age
      '-retentionPeriod=100y',
      '-search.latencyOffset=0s',
      '-memory.allowedPercent=20',
    ];
    child = spawn(program, flags, { stdio: ['ignore', output, output] });
    fs.closeSync(output);
    await ready(child, `http://127.0.0.1:${port}`, log, folder);
    return { store: openStore(`http://127.0.0.1:${port}`), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** What a running VictoriaMetrics is about to write would be missing, or half there. */
function refuseRunning(folder: string): void {
  const lock = fs.statSync(path.join(folder, 'flock.lock'), { throwIfNoEntry: false });
  let locks = '';
  try {
    locks = fs.readFileSync('/proc/locks', 'utf8');
  } catch {
    // not Linux, or not allowed: then nobody can tell
  }
  if (lock === undefined || !new RegExp(`FLOCK .*:${lock.ino} `).test(locks)) return;
  throw new Fault(`a VictoriaMetrics is running on ${folder}`, {
    hint: 'give its address instead: tacho import victoria http://127.0.0.1:8428',
  });
}

function findProgram(): string {
  for (const folder of (process.env.PATH ?? '').split(':')) {
    for (const name of PROGRAMS) {
      const file = path.join(folder, name);
      if (folder !== '' && fs.existsSync(file)) return file;
    }
  }
  throw new Fault(
    'reading the data folder of a VictoriaMetrics needs the program victoria-metrics, which is not here',
    {
      hint: "Debian's package is called victoria-metrics; or start one over a copy elsewhere and give its address",
    },
  );
}

function copyOf(folder: string, scratch: string): string {
  let copy: string;
  try {
    makeFolder(scratch);
    copy = fs.mkdtempSync(path.join(scratch, '.tacho-victoria-'));
  } catch (error) {
    throw new Fault(`cannot write ${scratch}: ${reason(error)}`, { hint: 'choose another folder with -o' });
  }
  try {
    fs.cpSync(folder, path.join(copy, 'data'), {
      recursive: true,
      mode: fs.constants.COPYFILE_FICLONE,
      filter: (file) => path.basename(file) !== 'flock.lock' && path.dirname(file) !== path.join(folder, 'cache'),
    });
    return copy;
  } catch (error) {
    fs.rmSync(copy, { recursive: true, force: true });
    throw new Fault(`cannot copy ${folder}: ${reason(error)}`, {
      hint: 'the copy goes to the folder that -o names: it needs as much space again',
    });
  }
}

async function ready(child: ChildProcess, url: string, log: string, folder: string): Promise<void> {
  let failed: Error | undefined;
  child.once('error', (error) => {
    failed = error;
  });
  const until = Date.now() + START_MILLISECONDS;
  while (Date.now() < until && failed === undefined && child.exitCode === null && child.signalCode === null) {
    const healthReply = await askOnce(new URL(`${url}/health`), 10).catch(() => undefined);
    if (healthReply?.status === 200) return;
    await sleep(50);
  }
  const logLines = fs.readFileSync(log, 'utf8').split('\n');
  const why = logLines.findLast((line) => /\b(fatal|panic|error)\b/i.test(line))?.replace(/^.*?\.go:\d+\t/, '');
  throw new Fault(`VictoriaMetrics cannot open ${folder}: ${failed?.message ?? why ?? 'it does not start'}`, {
    hint: 'a folder that a newer VictoriaMetrics wrote needs that version here',
  });
}

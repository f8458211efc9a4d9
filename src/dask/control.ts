import * as fs from 'node:fs';
import * as net from 'node:net';
import * as os from 'node:os';
import * as path from 'node:path';
import { Fault, reason } from '../base/fault.ts';
import { replaceJson } from '../recording/folder/replace.ts';

/** In the recording of an attached monitor: who it is, and where it listens. */
export const CONTROL_FILE = 'dask.json';

export interface ControlFacts {
  format: number;
  host: string;
  pid: number;
  socket: string;
  scheduler: string;
  way: string;
}

export type ControlRequest = { op: string; job?: number };
export type ControlAnswer = { ok: boolean; error?: string; hint?: string } & Record<string, unknown>;

/** An answer may wait until the newest samples are written, or the recording is sealed. */
const ANSWER_MS = 120_000;
const FOLDER = 'tacho-dask-';
/** One that was made by now may not listen yet. */
const YOUNG_MS = 60_000;
const LONGEST_REQUEST = 1 << 16;

/** Listens for requests, one line of JSON each; only this user can connect. Returns how to end it. */
export async function listenForControl(
  recording: string,
  facts: Omit<ControlFacts, 'format' | 'host' | 'pid' | 'socket'>,
  answerRequest: (request: ControlRequest) => Promise<ControlAnswer>,
): Promise<() => void> {
  await removeLeftOver();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), FOLDER));
  const socket = path.join(folder, 's');
  const server = net.createServer((connection) => serve(connection, answerRequest));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, resolve);
  });
  const file = path.join(recording, CONTROL_FILE);
  replaceJson(file, { format: 1, host: os.hostname(), pid: process.pid, socket, ...facts });
  return () => {
    server.close();
    fs.rmSync(file, { force: true });
    fs.rmSync(folder, { recursive: true, force: true });
  };
}

/** Folders of this user's monitors that were killed: nobody listens there any more. */
async function removeLeftOver(): Promise<void> {
  const folders = fs.readdirSync(os.tmpdir()).filter((name) => name.startsWith(FOLDER));
  await Promise.all(
    folders.map(async (name) => {
      const folder = path.join(os.tmpdir(), name);
      try {
        const { uid, mtimeMs } = fs.lstatSync(folder);
        if (uid !== process.getuid?.() || Date.now() - mtimeMs < YOUNG_MS || (await isHeard(path.join(folder, 's'))))
          return;
        fs.rmSync(folder, { recursive: true, force: true });
      } catch {
        // somebody else removes it, too
      }
    }),
  );
}

/** Whether somebody listens there; refused: its process has ended. */
const isHeard = (socket: string): Promise<boolean> =>
  new Promise((resolve) => {
    const connection = net.connect(socket, () => {
      connection.destroy();
      resolve(true);
    });
    connection.once('error', ({ code }: NodeJS.ErrnoException) =>
      resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'),
    );
  });

function serve(connection: net.Socket, answerRequest: (request: ControlRequest) => Promise<ControlAnswer>): void {
  let text = '';
  connection.setEncoding('utf8');
  connection.on('error', () => {});
  connection.on('data', (chunk: string) => {
    text += chunk;
    if (text.length > LONGEST_REQUEST) connection.destroy();
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      const line = text.slice(0, end);
      text = text.slice(end + 1);
      void reply(line, answerRequest).then((result) => connection.write(`${JSON.stringify(result)}\n`));
    }
  });
}

async function reply(
  line: string,
  answerRequest: (request: ControlRequest) => Promise<ControlAnswer>,
): Promise<ControlAnswer> {
  try {
    const request = JSON.parse(line) as ControlRequest;
    if (typeof request?.op !== 'string') throw new Fault('the request has no "op"');
    if (request.job !== undefined && !Number.isSafeInteger(request.job)) throw new Fault('"job" is no whole number');
    return await answerRequest(request);
  } catch (error) {
    const hint = error instanceof Fault && error.hint !== undefined ? { hint: error.hint } : {};
    return { ok: false, error: error instanceof SyntaxError ? 'the request is no JSON' : reason(error), ...hint };
  }
}

/** The monitor of a recording on this host; undefined: none is attached. One that was killed has left its file: then too. */
export function controlOf(recording: string): ControlFacts | undefined {
  const facts = controlFileOf(recording);
  return facts !== undefined && facts.host === os.hostname() && isRunning(facts.pid) ? facts : undefined;
}

/** What a monitor says of itself, which may run on another host, or have been killed. */
export function controlFileOf(recording: string): ControlFacts | undefined {
  try {
    const facts = JSON.parse(fs.readFileSync(path.join(recording, CONTROL_FILE), 'utf8')) as ControlFacts;
    return typeof facts.pid === 'number' && typeof facts.socket === 'string' ? facts : undefined;
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Asks an attached monitor. */
export function askMonitor({ socket, pid }: ControlFacts, request: ControlRequest): Promise<ControlAnswer> {
  return new Promise((resolve, reject) => {
    const connection = net.connect(socket);
    let text = '';
    connection.setEncoding('utf8');
    connection.setTimeout(ANSWER_MS, () => connection.destroy(new Error('no answer within 2 min')));
    connection.once('error', (error) =>
      reject(new Fault(`the monitor (process ${pid}) cannot be asked: ${reason(error)}`, { cause: error })),
    );
    connection.once('close', () => reject(new Fault(`the monitor (process ${pid}) has ended without an answer`)));
    connection.on('data', (chunk: string) => {
      text += chunk;
      if (!text.includes('\n')) return;
      connection.end();
      const monitorAnswer = JSON.parse(text) as ControlAnswer;
      if (monitorAnswer.ok) resolve(monitorAnswer);
      else
        reject(
          new Fault(
            monitorAnswer.error ?? 'refused',
            monitorAnswer.hint === undefined ? {} : { hint: monitorAnswer.hint },
          ),
        );
    });
    connection.write(`${JSON.stringify(request)}\n`);
  });
}

import { spawn } from 'node:child_process';
import { endGroup } from '../../base/end-group.ts';
import { theirEnvironment } from '../../base/own-node.ts';
import { Frame } from '../../table/frame.ts';
import { CustomFailure, type CustomReader, type CustomSource, type CustomSurroundings } from './custom.ts';
import { parseJson, parsePrometheus } from './format.ts';
import { fillFrame, tableOf } from './table.ts';

/** No source needs more, and a command that prints for ever must not fill the memory. */
const MOST_BYTES = 4 << 20;

/** A command that is run at every read and prints Prometheus text or JSON. Its table is what it prints the first time. */
export async function openCommand(source: CustomSource, { begun, note }: CustomSurroundings): Promise<CustomReader> {
  const parse = source.format === 'json' ? parseJson : parsePrometheus;
  let frame = begun === undefined ? undefined : new Frame(begun);
  return {
    get table() {
      return frame?.table;
    },
    async read(time) {
      const samples = parse(await run(source.command!, source.timeout), note);
      frame ??= new Frame(tableOf(source.name, `What the command of the source ${source.name} prints.`, samples));
      frame.clear(time);
      const strange = fillFrame(frame, samples);
      if (strange.length > 0) {
        note(`printed what it did not print the first time, which is not recorded: ${strange.slice(0, 5).join(', ')}`);
      }
      return frame;
    },
    close() {},
  };
}

/** Process groups of commands that run now: none outlives this process. */
const running = new Set<number>();
let watched = false;

/** What a command prints; it gets its own process group, so that its children end with it. */
export function run(command: string, timeoutSeconds: number): Promise<string> {
  if (!watched) process.on('exit', () => running.forEach(endGroup));
  watched = true;
  return new Promise((resolve, reject) => {
    const child = spawn('/bin/sh', ['-c', command], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: theirEnvironment(),
      detached: true,
    });
    const pid = child.pid ?? 0;
    if (pid > 0) running.add(pid);
    const end = (): void => endGroup(pid);
    let text = '';
    let complaint = '';
    let why = '';
    const timer = setTimeout(() => {
      why = `did not end within ${timeoutSeconds} s`;
      end();
      // whoever escaped the group may hold our end of the pipe open
      child.stdout.destroy();
      child.stderr.destroy();
    }, timeoutSeconds * 1000);
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      if (text.length <= MOST_BYTES) return;
      why = `printed more than ${MOST_BYTES >> 20} MiB`;
      end();
      child.stdout.destroy();
    });
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      if (complaint.length < 1000) complaint += chunk;
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(new CustomFailure(`cannot be run: ${error.message}`));
    });
    child.once('close', (code, signal) => {
      clearTimeout(timer);
      running.delete(pid);
      const lastLine = complaint.trim().split('\n').at(-1);
      if (why !== '') reject(new CustomFailure(why));
      else if (code === 0) resolve(text);
      else reject(new CustomFailure(`ended with ${signal ?? `exit code ${code}`}${lastLine ? `: ${lastLine}` : ''}`));
    });
  });
}

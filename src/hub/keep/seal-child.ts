import { type ChildProcess, spawn } from 'node:child_process';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS, ownNodeEnvironment } from '../../base/own-node.ts';
import { stated } from '../../base/stated.ts';
import type { Owner } from '../receive/owner.ts';
import { SEAL_MARK, type SealAnswer, type SealOrder } from './seal-worker.ts';

declare const TACHO_VERSION: string | undefined;

/** A release is one file, which is the sealing process too when it is started with the mark. */
function entry(): string {
  const here = fileURLToPath(import.meta.url);
  return typeof TACHO_VERSION === 'string' ? here : path.join(path.dirname(here), 'seal-worker.ts');
}

const MOST_WORDS = 20_000;

/** What a sealing process may take of the hub's memory, in MiB. */
export interface SealMemory {
  /** For JavaScript's objects: distinct texts, names of files. */
  readonly heap: number;
  /** For all data. */
  readonly data: number;
}

/** 31 million values of a node took 45 MiB and 920 MiB; a user's files can be as strange as the user likes. */
const MEMORY: SealMemory = { heap: 512, data: 3072 };

export interface Sealing {
  readonly child: ChildProcess;
  readonly reply: Promise<SealAnswer>;
}

/** Seals some nodes of a recording in a process of its own, with the rights of the recording's owner. */
export function startSealing(
  folder: string,
  nodes: readonly string[],
  owner: Owner | undefined,
  memory: SealMemory = MEMORY,
): Sealing {
  const heap = `--max-old-space-size=${memory.heap}`;
  const child = spawn(process.execPath, [...NODE_FLAGS, heap, entry(), SEAL_MARK], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: ownNodeEnvironment(process.env),
  });
  const order: SealOrder = {
    hub: process.pid,
    folder,
    nodes,
    dataBytes: memory.data * MIB,
    ...stated({ owner }),
  };
  let output = '';
  let error = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    if (output.length < MOST_WORDS) output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (error.length < MOST_WORDS) error += text;
  });
  child.stdin.on('error', () => {});
  child.stdin.end(JSON.stringify(order));
  const reply = new Promise<SealAnswer>((resolve) => {
    child.once('error', (problem) => resolve({ error: problem.message }));
    child.once('close', (_status, signal) => {
      try {
        const answered = JSON.parse(output) as SealAnswer;
        const isShort = NO_MEMORY.test(answered.error ?? '');
        resolve(isShort ? { error: whyEnded(answered.error!, null, memory) } : answered);
      } catch {
        resolve({ error: whyEnded(error, signal, memory) });
      }
    });
  });
  return { child, reply };
}

const MIB = 1 << 20;
const NO_MEMORY = /out of memory|allocation failed|bad_alloc|cannot allocate memory/i;

/** Why there is no answer. */
function whyEnded(errorText: string, signal: string | null, { heap, data }: SealMemory): string {
  if (NO_MEMORY.test(errorText))
    return `it takes more memory than sealing may (${heap} MiB for texts, ${data} MiB in all)`;
  return signal === null ? thrownIn(errorText) : `the sealing process was ended by ${signal}`;
}

/** The error in what Node says when a process cannot go on: below it are a stack and Node's version, above it source code. */
export function thrownIn(errorText: string): string {
  const lines = errorText.split('\n').map((line) => line.trim());
  const thrown = lines.find((line) => /^(Uncaught )?[\w.]*(Error|Exception)\b.*: \S/.test(line));
  const last = lines.findLast((line) => line !== '' && !/^Node\.js v\d/.test(line));
  return thrown ?? last ?? 'the sealing process ended without a message';
}

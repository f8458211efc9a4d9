import { type ChildProcess, spawn } from 'node:child_process';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';
import { reason } from '../../base/fault.ts';
import { NODE_FLAGS, ownNodeEnvironment } from '../../base/own-node.ts';

declare const TACHO_VERSION: string | undefined;

/** A release is one file; of a checkout the program begins elsewhere. */
function entry(): string {
  const here = fileURLToPath(import.meta.url);
  return typeof TACHO_VERSION === 'string' ? here : path.join(path.dirname(here), '../../cli/main.ts');
}

/** An index that takes longer goes on at the next look: what is done is kept. */
const LIMIT_MS = 3_600_000;
const MOST_WORDS = 20_000;
/** Troubles that one look reports. */
const MOST_TROUBLES = 10;

interface Built {
  added: number;
  changed: number;
  removed: number;
  troubles: { recording: string; why: string }[];
}

/**
 * Keeps the index of an archive in a process of its own (`tacho index`), which reads what belongs to users with their rights.
 * The hub itself judges nothing.
 */
export class IndexKeeper {
  private readonly archive: string;
  private readonly log: (text: string) => void;
  private child: ChildProcess | undefined;
  private running: Promise<void> | undefined;
  private readonly reported = new Set<string>();

  constructor(archive: string, log: (text: string) => void) {
    this.archive = archive;
    this.log = log;
  }

  /** Brings it up to date, unless that is being done. */
  look(): Promise<void> {
    this.running ??= this.once()
      .catch((error: unknown) => this.log(`cannot index the archive: ${reason(error)}`))
      .finally(() => {
        this.running = undefined;
      });
    return this.running;
  }

  async close(): Promise<void> {
    this.child?.kill('SIGTERM');
    await this.running;
  }

  private once(): Promise<void> {
    const args = ['index', this.archive, '--keep', '--format', 'json'];
    const child = spawn(process.execPath, [...NODE_FLAGS, entry(), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: ownNodeEnvironment(process.env),
    });
    this.child = child;
    const alarm = setTimeout(() => child.kill('SIGTERM'), LIMIT_MS);
    let [output, error] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text.slice(0, MOST_WORDS * 100 - output.length);
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      error += text.slice(0, MOST_WORDS - error.length);
    });
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (_status, signal) => {
        clearTimeout(alarm);
        this.child = undefined;
        if (signal !== null) return resolve();
        try {
          this.report(JSON.parse(output) as Built);
          resolve();
        } catch {
          reject(new Error(error.split('\n')[0] || 'its process ended without a message'));
        }
      });
    });
  }

  /** Each trouble once: a recording that cannot be read is looked at again and again. */
  private report({ troubles }: Built): void {
    const news = troubles.filter(({ recording }) => !this.reported.has(recording));
    for (const { recording, why } of news.slice(0, MOST_TROUBLES)) {
      if (this.reported.size < 10_000) this.reported.add(recording);
      this.log(`not in the index: ${why}`);
    }
  }
}

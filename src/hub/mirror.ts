import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { Fault } from '../base/fault.ts';
import { makeFolder } from '../base/folder.ts';
import { stated } from '../base/stated.ts';
import { Connection, type HttpRequest } from '../http/connection.ts';
import {
  type FileState,
  type FilesReply,
  type HubRecording,
  PROTOCOL,
  type RecordingsReply,
  type SessionReply,
} from '../sinks/hub/protocol.ts';
import { unreachableText } from '../trust/connection-text.ts';
import { NO_CREDENTIALS } from '../trust/identity.ts';
import type { AskOptions } from './ask-nodes.ts';

const SECONDS = 30;
/** A recording is copied in as many answers at most. */
const MOST_ANSWERS = 500;

/** Recordings of a hub as folders on this machine: each is copied when it is wanted, and then only what is new of it. */
export class HubMirror {
  readonly #hub: URL;
  readonly #options: AskOptions;
  readonly #connection: Connection;
  readonly #root = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-hub-'));
  readonly #states = new Map<string, Record<string, FileState>>();
  #session: string | undefined;
  /** A connection answers one question after the other. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(hub: URL, options: AskOptions = {}) {
    this.#hub = hub;
    this.#options = options;
    const { ca } = options;
    this.#connection = new Connection(hub, {
      requestSeconds: SECONDS,
      connectSeconds: SECONDS,
      mostBytes: Number.POSITIVE_INFINITY,
      ...stated({ ca }),
    });
  }

  /** What the hub receives now, as far as we may see it. */
  recordings(): Promise<HubRecording[]> {
    return this.#next(async () => {
      const reply = JSON.parse(
        (await this.#ask({ method: 'GET', path: '/v1/recordings' })).toString(),
      ) as RecordingsReply;
      if (reply.protocol !== PROTOCOL || !Array.isArray(reply.recordings))
        throw new Fault(`${this.#hub.host} does not answer as a hub of this Tacho does`, {
          hint: 'is it the same version?',
        });
      return reply.recordings;
    });
  }

  /** Brings the copy of a recording up to date; true: something was new. */
  renew(key: string): Promise<boolean> {
    return this.#next(async () => {
      const folder = this.folderOf(key);
      let isNew = false;
      for (let i = 0, more = true; more && i < MOST_ANSWERS; i++) {
        const have = this.#states.get(key) ?? {};
        const body = Buffer.from(JSON.stringify({ recording: key, have }));
        const reply = await this.#ask({ method: 'POST', path: '/v1/files', body });
        more = this.#take(folder, key, reply);
        isNew ||= reply.indexOf(0x0a) + 1 < reply.length || more;
      }
      return isNew;
    });
  }

  /** Where the copy of a recording is. */
  folderOf(key: string): string {
    return path.join(this.#root, encodeURIComponent(key).replaceAll('.', '%2E'));
  }

  close(): void {
    this.#connection.close();
    fs.rmSync(this.#root, { recursive: true, force: true });
  }

  #take(folder: string, key: string, bytes: Buffer): boolean {
    const end = bytes.indexOf(0x0a);
    const { files, gone, more } = JSON.parse(bytes.subarray(0, end).toString()) as FilesReply;
    const states = { ...this.#states.get(key) };
    let at = end + 1;
    for (const [name, from, length, time, ino] of files) {
      const file = path.join(folder, checkedName(name));
      makeFolder(path.dirname(file), 0o700);
      const newBytes = bytes.subarray(at, at + length);
      at += length;
      if (from > 0) fs.appendFileSync(file, newBytes);
      else {
        fs.writeFileSync(`${file}.tmp`, newBytes, { mode: 0o600 });
        fs.renameSync(`${file}.tmp`, file);
      }
      states[name] = [from + length, time, ino];
    }
    for (const name of gone) {
      fs.rmSync(path.join(folder, checkedName(name)), { force: true });
      delete states[name];
    }
    this.#states.set(key, states);
    return more;
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  async #ask(request: HttpRequest, isAgain = false): Promise<Buffer> {
    const { credentials = NO_CREDENTIALS } = this.#options;
    if (credentials.method !== 'none' && this.#session === undefined) {
      const authorization = await credentials.authorization('');
      const body = Buffer.from(JSON.stringify({ protocol: PROTOCOL }));
      const headers = authorization === undefined ? {} : { Authorization: authorization };
      const reply = await this.#send({ method: 'POST', path: '/v1/session', headers, body });
      if (reply.status !== 200) throw this.#refused(reply);
      this.#session = (JSON.parse(reply.bytes.toString()) as SessionReply).session;
    }
    const headers: Record<string, string> =
      this.#session === undefined ? {} : { Authorization: `Bearer ${this.#session}` };
    const reply = await this.#send({ ...request, headers });
    if (reply.status === 200) return reply.bytes;
    this.#session = undefined;
    // a hub that was started again does not know the session any more
    if (reply.status === 401 && !isAgain && credentials.method !== 'none') return this.#ask(request, true);
    throw this.#refused(reply);
  }

  async #send(request: HttpRequest): Promise<{ status: number; bytes: Buffer }> {
    try {
      const { status, body } = await this.#connection.stream(request);
      return { status, bytes: await buffer(body) };
    } catch (error) {
      throw this.#failed(unreachableText(error));
    }
  }

  #refused({ status, bytes }: { status: number; bytes: Buffer }): Fault {
    let why = `status ${status}`;
    try {
      why = String((JSON.parse(bytes.toString()) as { error?: string }).error ?? why);
    } catch {
      return this.#failed('what answers there is not a hub');
    }
    return this.#failed(
      why,
      status === 401
        ? 'choose the method of the hub: --trust munge, or --trust token (setting trust.method)'
        : undefined,
    );
  }

  #failed(why: string, hint = 'is it running, and is this its address?'): Fault {
    return new Fault(`cannot ask the hub ${this.#hub.protocol}//${this.#hub.host}: ${why}`, { hint });
  }
}

/** A hub names files of a recording, and nothing outside of it. */
function checkedName(name: string): string {
  if (!/^(?:node=[^/]+\/)?[^/]+$/.test(name) || name.split('/').some((segment) => /^\.|\0/.test(segment)))
    throw new Fault(`the hub names a file that cannot be one of a recording: ${JSON.stringify(name)}`);
  return name;
}

import * as fs from 'node:fs';
import * as net from 'node:net';
import * as tls from 'node:tls';
import { Fault, reason } from '../base/fault.ts';
import type { SchedulerAddress } from './address.ts';
import { NotPacked, type Packed, pack, unpack } from './msgpack.ts';

/** What TLS needs: the files that Dask's own configuration names. */
export interface Certificates {
  ca?: string;
  cert?: string;
  key?: string;
}

/** How a connection is made. */
export interface ConnectOptions {
  readonly certificates: Certificates;
  /** What the user hears meanwhile. */
  readonly say?: (text: string) => void;
}

export type Message = { [key: string]: Packed };

/** No frame of ours is larger; a length beyond it is somebody else's protocol. */
const MOST_BYTES = 1 << 30;
const MOST_FRAMES = 1 << 20;

/** A scheduler that is busy with a large graph answers late. */
const ANSWER_MS = 60_000;
const CONNECT_MS = 10_000;
/** A scheduler says hello at once, unless it is busy: the user hears that it is waited for. */
const SILENT_MS = 3000;

const FORMS = 'give the scheduler’s address (tcp://HOST:8786), its dashboard (http://HOST:8787) or its scheduler file';

/** Who answers, and does not speak Dask's protocol. */
const notDask = (address: string): Fault =>
  new Fault(`${address} is not a Dask scheduler: what it sends is not Dask's protocol`, { hint: FORMS });

/** Who answers is a web server: perhaps the dashboard of a cluster. */
export class WebServer extends Fault {
  constructor(address: string) {
    super(`${address} is not a Dask scheduler: it is a web server`, { hint: FORMS });
  }
}

/** The other side ended the connection. */
export class HungUp extends Fault {}

/** The hello of a client; Dask ignores what it does not know of it. */
const HELLO: Message = { compression: null, python: [3, 11, 2], 'pickle-protocol': 4 };
/** Ends the head of a request of HTTP, too: a web server then says at once that it does not understand it. */
const HELLO_TO_ANYBODY: Message = { ...HELLO, end: '\r\n\r\n' };

/** A connection to a scheduler or worker: messages in both directions, in order. */
export class Comm {
  readonly address: string;
  private readonly socket: net.Socket;
  private chunks: Buffer[] = [];
  private held = 0;
  /** Number of bytes that are needed before the next look is worth it. */
  private needed = 8;
  private messages: Packed[] = [];
  private readers: { resolve: (message: Packed) => void; reject: (error: Error) => void }[] = [];
  private failure: Error | undefined;

  private constructor(socket: net.Socket, address: string) {
    this.socket = socket;
    this.address = address;
    socket.on('data', (chunk: Buffer) => this.take(chunk));
    socket.on('error', (error) => this.fail(new HungUp(`${address}: ${reason(error)}`, { cause: error })));
    socket.on('close', () => this.fail(new HungUp(`${address} has closed the connection`)));
  }

  /** Connects and says hello, as both sides of a Dask comm do. */
  static async open(
    to: SchedulerAddress,
    certificates: Certificates = {},
    {
      limitMs = ANSWER_MS,
      say = () => {},
      helloFirst = false,
    }: {
      limitMs?: number;
      say?: (text: string) => void;
      /** Say hello before it does: rejects with WebServer when a web server answers, with HungUp when it wants TLS. */
      helloFirst?: boolean;
    } = {},
  ): Promise<Comm> {
    const socket = await connect(to, certificates);
    const comm = new Comm(socket, to.text);
    const waiting = setTimeout(
      () =>
        say(
          `${to.text} says nothing yet: it is busy, or not a Dask scheduler; waiting for it for 60 s${to.secure ? '' : ` (${otherForms(to)})`}`,
        ),
      SILENT_MS,
    );
    const silent = setTimeout(() => {
      comm.fail(
        new Fault(`${to.text} takes connections, but does not answer as a Dask scheduler within 60 s`, {
          hint: to.secure ? 'is it a Dask scheduler?' : otherForms(to),
        }),
      );
      socket.destroy();
    }, limitMs);
    try {
      if (helloFirst) comm.send(HELLO_TO_ANYBODY);
      const hello = await comm.read();
      if (typeof hello !== 'object' || hello === null || !('compression' in hello)) throw notDask(to.text);
      // Dask says hello first: nothing is sent to who is not Dask
      if (!helloFirst) comm.send(HELLO);
    } catch (error) {
      comm.close();
      // with TLS 1.3 a scheduler refuses a certificate after the connection is made
      const cause = error instanceof Fault ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
      if (cause?.code?.startsWith('ERR_SSL_')) throw cannotConnect(to.text, cause, to.secure);
      if (error instanceof Fault && error.message.endsWith('closed the connection')) {
        throw new HungUp(`${to.text} closed the connection before it said hello`, {
          hint: to.secure
            ? 'does it take this certificate? --tls-ca, --tls-cert and --tls-key name the files'
            : 'one with TLS is named tls://HOST:PORT, with --tls-ca, --tls-cert and --tls-key',
          cause: error,
        });
      }
      throw error;
    } finally {
      clearTimeout(silent);
      clearTimeout(waiting);
    }
    return comm;
  }

  send(message: Packed): void {
    const body = pack(message);
    const head = Buffer.alloc(24);
    head.writeBigUInt64LE(BigInt(16 + body.length), 0);
    head.writeBigUInt64LE(1n, 8);
    head.writeBigUInt64LE(BigInt(body.length), 16);
    this.socket.write(Buffer.concat([head, body]));
  }

  /** The next message; rejects once the connection is over. */
  read(): Promise<Packed> {
    if (this.messages.length > 0) return Promise.resolve(this.messages.shift()!);
    if (this.failure !== undefined) return Promise.reject(this.failure);
    return new Promise((resolve, reject) => this.readers.push({ resolve, reject }));
  }

  /** Asks, and waits for the answer. */
  ask(op: string, more: Message = {}): Promise<Packed> {
    this.send({ op, reply: true, ...more });
    return this.read();
  }

  close(): void {
    this.socket.destroy();
  }

  private take(chunk: Buffer): void {
    this.chunks.push(chunk);
    this.held += chunk.length;
    try {
      while (this.held >= this.needed) {
        const bytes = this.chunks.length === 1 ? this.chunks[0]! : Buffer.concat(this.chunks, this.held);
        const length = this.message(bytes);
        this.chunks = [length === 0 ? bytes : bytes.subarray(length)];
        this.held -= length;
        if (length === 0) return;
        this.needed = 8;
      }
    } catch (error) {
      this.fail(error instanceof NotPacked || error instanceof RangeError ? notDask(this.address) : (error as Error));
      this.socket.destroy();
    }
  }

  /** Takes one message from the start of the bytes; returns its length, 0 while it is not whole. */
  private message(bytes: Buffer): number {
    // the total leaves out trailing frames in newer versions: the lengths of the frames are what counts
    if (bytes.length < 16) return this.wait(16);
    if (bytes.subarray(0, 5).toString('latin1') === 'HTTP/') throw new WebServer(this.address);
    const frames = Number(bytes.readBigUInt64LE(8));
    if (frames > MOST_FRAMES) throw notDask(this.address);
    const head = 16 + 8 * frames;
    if (bytes.length < head) return this.wait(head);
    const lengths = Array.from({ length: frames }, (_, i) => Number(bytes.readBigUInt64LE(16 + 8 * i)));
    const whole = lengths.reduce((sum, each) => sum + each, head);
    if (whole > MOST_BYTES) throw notDask(this.address);
    if (bytes.length < whole) return this.wait(whole);
    const first = bytes.subarray(head, head + (lengths[0] ?? 0));
    this.give(frames === 0 ? null : unpack(first));
    return whole;
  }

  private wait(bytes: number): 0 {
    this.needed = bytes;
    return 0;
  }

  private give(message: Packed): void {
    const reader = this.readers.shift();
    if (reader === undefined) this.messages.push(message);
    else reader.resolve(message);
  }

  private fail(error: Error): void {
    this.failure ??= error;
    for (const { reject } of this.readers.splice(0)) reject(this.failure);
  }
}

/** Who is silent may want something else to be said to it. */
function otherForms({ text }: SchedulerAddress): string {
  const where = text.slice('tcp://'.length);
  return `a dashboard is named http://${where}, a scheduler with TLS tls://${where}`;
}

function connect(to: SchedulerAddress, certificates: Certificates): Promise<net.Socket> {
  const { host, port, secure, text } = to;
  return new Promise((resolve, reject) => {
    const socket = secure
      ? tls.connect({ host, port, ...read(certificates), checkServerIdentity: () => undefined })
      : net.connect({ host, port });
    socket.setNoDelay(true);
    const timer = setTimeout(() => socket.destroy(new Error('no answer within 10 s')), CONNECT_MS);
    socket.once(secure ? 'secureConnect' : 'connect', () => {
      clearTimeout(timer);
      resolve(socket);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(cannotConnect(text, error, secure));
    });
  });
}

/** What a scheduler answers to a certificate, by OpenSSL's code. */
const REFUSED: { readonly [code: string]: string } = {
  TLSV13_ALERT_CERTIFICATE_REQUIRED: 'it wants a certificate, and got none',
  SSLV3_ALERT_HANDSHAKE_FAILURE: 'it refuses the connection: it may want a certificate',
  TLSV1_ALERT_UNKNOWN_CA: 'it does not know the authority of this certificate',
  SSLV3_ALERT_BAD_CERTIFICATE: 'it refuses this certificate',
  SSLV3_ALERT_CERTIFICATE_EXPIRED: 'this certificate has expired',
};

function cannotConnect(address: string, error: NodeJS.ErrnoException, secure: boolean): Fault {
  const { code = '' } = error;
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return new Fault(`cannot reach the Dask scheduler ${address}: it does not speak TLS`, {
      hint: `a scheduler without TLS is named ${address.replace('tls', 'tcp')}`,
      cause: error,
    });
  const why =
    code === 'ECONNREFUSED'
      ? 'nobody listens there'
      : code === 'ENOTFOUND' || code === 'EAI_AGAIN'
        ? 'there is no such host'
        : (REFUSED[code.replace(/^ERR_SSL_/, '')] ??
          // the words of OpenSSL and Node, without the place in their sources and advice for their own users
          ((error as { reason?: string }).reason ?? reason(error)).split('; ')[0]!);
  const certificate = secure && !['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH'].includes(code);
  const hint = certificate
    ? 'name the files of the cluster’s TLS with --tls-ca, --tls-cert and --tls-key'
    : 'is the scheduler running? its log and its dashboard say its address';
  return new Fault(`cannot reach the Dask scheduler ${address}: ${why}`, { hint, cause: error });
}

/** As Dask does it: the authority counts, not the host's name. */
function read({ ca, cert, key }: Certificates): tls.ConnectionOptions {
  const file = (name: string): Buffer => {
    try {
      return fs.readFileSync(name);
    } catch (error) {
      throw new Fault(`cannot read ${name}: ${reason(error)}`, { cause: error });
    }
  };
  return {
    ...(ca === undefined ? {} : { ca: file(ca) }),
    ...(cert === undefined ? {} : { cert: file(cert) }),
    ...((key ?? cert) === undefined ? {} : { key: file((key ?? cert)!) }),
  };
}

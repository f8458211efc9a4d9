const END_OF_HEAD = '\r\n\r\n';
const LONGEST_HEAD = 64 << 10;
const HTTP = Buffer.from('HTTP/');
const headerOf = (name: string): RegExp => new RegExp(`\r\n${name}:[ \t]*([^\r]*?)[ \t]*\r\n`, 'i');
const HEADERS = {
  connection: headerOf('connection'),
  length: headerOf('content-length'),
  encoding: headerOf('transfer-encoding'),
  date: headerOf('date'),
};
const NOTHING: Buffer = Buffer.alloc(0);

/** What came is no answer of HTTP/1.x. */
export class NotHttp extends Error {}

/** Reads one answer of HTTP/1.x as its bytes come; those of its body go to `body`. */
export class ResponseReader {
  status = 0;
  /** The answer is whole. */
  done = false;
  /** The connection cannot be used again. */
  last = false;
  private head = '';
  private readonly body: (bytes: Buffer) => void;
  /** How to read what comes next; returns how many bytes were used, 0: more has to come. */
  private read: (bytes: Buffer) => number = this.readHead;
  private kept = NOTHING;
  private left = 0;

  constructor(body: (bytes: Buffer) => void) {
    this.body = body;
  }

  /** Takes what was received. Throws an Error when it is no answer. */
  take(received: Buffer): void {
    let bytes = this.kept.length === 0 ? received : Buffer.concat([this.kept, received]);
    while (!this.done && bytes.length > 0) {
      const used = this.read(bytes);
      if (used === 0) break;
      bytes = bytes.subarray(used);
    }
    this.kept = bytes;
    // nobody asked for more
    if (this.done && bytes.length > 0) this.last = true;
  }

  /** Nothing more will come: an answer without a length ends here. */
  end(): void {
    if (this.read !== this.readToEnd) return;
    this.done = true;
    this.last = true;
  }

  header(name: keyof typeof HEADERS): string | undefined {
    return HEADERS[name].exec(this.head)?.[1];
  }

  private readHead(bytes: Buffer): number {
    if (!bytes.subarray(0, 5).equals(HTTP.subarray(0, bytes.length))) throw notHttp();
    const end = bytes.indexOf(END_OF_HEAD);
    if (end < 0) {
      if (bytes.length > LONGEST_HEAD) throw notHttp();
      return 0;
    }
    this.head = bytes.toString('latin1', 0, end + 2);
    this.status = Number(/^HTTP\/1\.[01] (\d{3})[ \r]/.exec(this.head)?.[1]);
    if (Number.isNaN(this.status)) throw notHttp();
    // what is said meanwhile is not the answer
    if (this.status >= 200) this.beginBody();
    return end + END_OF_HEAD.length;
  }

  private beginBody(): void {
    this.last = this.header('connection')?.toLowerCase() === 'close' || this.head.startsWith('HTTP/1.0');
    const stated = this.header('length');
    const hasNone = this.status === 204 || this.status === 304;
    if (this.header('encoding')?.toLowerCase() === 'chunked') this.read = this.readSize;
    else if (stated === undefined && !hasNone) this.read = this.readToEnd;
    else {
      this.left = hasNone ? 0 : Number(stated);
      if (!Number.isSafeInteger(this.left) || this.left < 0) throw notHttp();
      this.read = this.readBody;
      this.done = this.left === 0;
    }
  }

  private readBody(bytes: Buffer): number {
    const used = this.give(bytes);
    this.done = this.left === 0;
    return used;
  }

  private readToEnd(bytes: Buffer): number {
    this.body(bytes);
    return bytes.length;
  }

  private readSize(bytes: Buffer): number {
    const line = bytes.indexOf('\r\n');
    if (line < 0 && bytes.length < LONGEST_HEAD) return 0;
    const digits = /^[0-9a-f]{1,8}/i.exec(bytes.toString('latin1', 0, Math.max(line, 0)))?.[0];
    if (digits === undefined) throw notHttp();
    this.left = Number.parseInt(digits, 16);
    this.read = this.left === 0 ? this.readTrailer : this.readChunk;
    // the newline stays: after the last chunk come trailers, if any, and an empty line
    return this.left === 0 ? line : line + 2;
  }

  private readChunk(bytes: Buffer): number {
    if (this.left > 0) return this.give(bytes);
    if (bytes.length < 2) return 0;
    this.read = this.readSize;
    return 2;
  }

  private readTrailer(bytes: Buffer): number {
    const end = bytes.indexOf(END_OF_HEAD);
    if (end < 0 && bytes.length > LONGEST_HEAD) throw notHttp();
    this.done = end >= 0;
    return end < 0 ? 0 : end + END_OF_HEAD.length;
  }

  private give(bytes: Buffer): number {
    const used = Math.min(bytes.length, this.left);
    this.left -= used;
    this.body(bytes.length === used ? bytes : bytes.subarray(0, used));
    return used;
  }
}

const notHttp = (): NotHttp => new NotHttp('what answers there is no HTTP server');

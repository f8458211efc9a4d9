import { Fault } from '../../base/fault.ts';

const BLOCK = 512;
/** Names and attributes that do not fit into a header come as members of their own; nobody has names of a megabyte. */
const LONGEST_NAME = 1 << 20;
/** Said of what has no name of its own. */
const HEADER = 'a header';

/** What a tar archive holds of the files that were asked for, by name without a leading `./`. */
export interface TarOptions {
  /** The archive's name, for messages. */
  archive: string;
  wanted: (name: string) => boolean;
  /** All members together may have so many bytes. */
  mostBytes: number;
}

/** Bytes of nearly every job's largest file. */
const ENOUGH = 1 << 28;

interface Member {
  name: string;
  /** Bytes still to come, and zeros behind them. */
  left: number;
  padding: number;
  /** file: is kept; skip: is not wanted; name, attributes: describe the next member. */
  use: 'file' | 'skip' | 'name' | 'attributes' | 'defaults';
  /** Its content so far. */
  bytes: Buffer;
  length: number;
}

/**
 * Reads a tar archive piece by piece (ustar, GNU and pax forms), straight into memory: nothing is unpacked to the disk.
 * What could write outside of a folder (absolute paths, `..`, links, devices) is refused all the same: nobody who
 * packed a job meant it.
 */
export class TarReader {
  readonly files = new Map<string, Buffer>();
  private readonly options: TarOptions;
  private readonly header = Buffer.alloc(BLOCK);
  private headerLength = 0;
  private member: Member | undefined;
  private nextName: string | undefined;
  private attributes = new Map<string, string>();
  private defaults = new Map<string, string>();
  private total = 0;
  private ended = false;
  private begun = false;

  constructor(options: TarOptions) {
    this.options = options;
  }

  /** The next bytes of the archive. */
  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && !this.ended) {
      const { member } = this;
      if (member === undefined) {
        const count = Math.min(BLOCK - this.headerLength, bytes.length - at);
        bytes.copy(this.header, this.headerLength, at, at + count);
        this.headerLength += count;
        at += count;
        if (this.headerLength === BLOCK) this.begin();
      } else if (member.left > 0) {
        const count = Math.min(member.left, bytes.length - at);
        if (member.use !== 'skip') keep(member, bytes.subarray(at, at + count));
        member.left -= count;
        at += count;
      } else {
        const count = Math.min(member.padding, bytes.length - at);
        member.padding -= count;
        at += count;
      }
      if (this.member !== undefined && this.member.left === 0 && this.member.padding === 0) this.finish(this.member);
    }
  }

  /** There is no more. */
  end(): void {
    const { member } = this;
    if (member !== undefined && (member.left > 0 || member.use !== 'skip')) {
      throw this.fault(`it is cut off in the middle of ${member.name}`);
    }
    if (member === undefined && this.headerLength > 0)
      throw this.fault(this.begun ? 'it is cut off' : 'it is neither a gzip nor a tar archive');
    if (this.nextName !== undefined || this.attributes.size > 0) throw this.fault('it is cut off');
  }

  private begin(): void {
    this.headerLength = 0;
    this.begun = true;
    const { header } = this;
    if (header.every((byte) => byte === 0)) {
      this.ended = true;
      return;
    }
    this.checkSum();
    const type = String.fromCharCode(header[156]!);
    const describes = type === 'L' ? 'name' : type === 'x' ? 'attributes' : type === 'g' ? 'defaults' : undefined;
    const attribute = (key: string): string | undefined => this.attributes.get(key) ?? this.defaults.get(key);
    const name = describes === undefined ? (this.nextName ?? attribute('path') ?? this.headerName()) : HEADER;
    const given = describes === undefined ? attribute('size') : undefined;
    const size = given === undefined ? this.number(124, 12, 'size', name) : Number(given);
    if (!Number.isSafeInteger(size) || size < 0) throw this.fault(`the size of ${show(name)} is damaged`);
    if (describes === undefined) this.checkMember(name, type);
    if (describes !== undefined && size > LONGEST_NAME) throw this.fault('a name in it is longer than 1 MiB');
    this.total += size;
    if (this.total > this.options.mostBytes) {
      const limit = `${Math.round(this.options.mostBytes / 1048576)} MiB`;
      throw this.fault(`${show(name)} claims ${size} bytes; a job's files may have ${limit} in all`);
    }
    const plain = name.replace(/^(?:\.\/+)+/, '');
    const isFile = describes === undefined && type !== '5';
    const wanted = isFile && this.options.wanted(plain);
    if (wanted && this.files.has(plain)) throw this.fault(`${show(name)} is in it twice`);
    this.member = {
      name: plain,
      left: size,
      padding: (BLOCK - (size % BLOCK)) % BLOCK,
      use: describes ?? (wanted ? 'file' : 'skip'),
      bytes: Buffer.alloc(0),
      length: 0,
    };
    if (describes === undefined) {
      this.nextName = undefined;
      this.attributes = new Map();
    }
  }

  private finish({ name, use, bytes: space, length }: Member): void {
    this.member = undefined;
    if (use === 'skip') return;
    const bytes = space.subarray(0, length);
    if (use === 'file') this.files.set(name, bytes);
    else if (use === 'name') this.nextName = cut(bytes);
    else if (use === 'attributes') this.attributes = this.pax(bytes);
    else this.defaults = new Map([...this.defaults, ...this.pax(bytes)]);
  }

  private checkMember(name: string, type: string): void {
    if (name === '' || name.includes('\0')) throw this.fault('a file in it has no name');
    if (name.startsWith('/')) throw this.fault(`it holds the absolute path ${show(name)}`);
    if (name.split('/').includes('..')) throw this.fault(`it holds ${show(name)}, a path that leads out of it`);
    if (type === '1' || type === '2') throw this.fault(`it holds ${show(name)}, a link`);
    // '\0' is what the oldest programs write for a file, 7 a file that shall lie in one piece
    if (!['0', '\0', '5', '7'].includes(type)) throw this.fault(`it holds ${show(name)}, which is no plain file`);
  }

  private headerName(): string {
    const { header } = this;
    const name = cut(header.subarray(0, 100));
    const prefix = header.toString('latin1', 257, 263) === 'ustar\0' ? cut(header.subarray(345, 500)) : '';
    return prefix === '' ? name : `${prefix}/${name}`;
  }

  private checkSum(): void {
    const { header } = this;
    let sum = 8 * 32;
    for (let i = 0; i < BLOCK; i++) if (i < 148 || i >= 156) sum += header[i]!;
    if (this.number(148, 8, 'check sum', HEADER) !== sum) throw this.fault('it is no tar archive, or damaged');
  }

  /** Octal digits, or (GNU, for what is larger) a binary number behind a byte with its highest bit set. */
  private number(from: number, length: number, what: string, name: string): number {
    const { header } = this;
    if ((header[from]! & 0x80) !== 0) {
      let value = header[from]! & 0x7f;
      for (let i = 1; i < length; i++) value = value * 256 + header[from + i]!;
      return value;
    }
    const text = header
      .toString('latin1', from, from + length)
      .replace(/^ +/, '')
      .replace(/[ \0].*$/s, '');
    if (!/^[0-7]*$/.test(text))
      throw this.fault(`it is no tar archive, or damaged (${what} of ${name === HEADER ? name : show(name)})`);
    return Number.parseInt(text || '0', 8);
  }

  /** Records of the form `30 mtime=1560604784.25\n`, the number being the record's length. */
  private pax(bytes: Buffer): Map<string, string> {
    const headerFields = new Map<string, string>();
    for (let at = 0; at < bytes.length; ) {
      const space = bytes.indexOf(32, at);
      const length = Number(bytes.toString('latin1', at, space));
      const end = at + length;
      const equals = bytes.indexOf(61, space);
      if (space < 0 || !(length > 0) || end > bytes.length || equals < 0 || equals >= end || bytes[end - 1] !== 10) {
        throw this.fault('it is damaged (attributes of a file)');
      }
      const key = bytes.toString('utf8', space + 1, equals);
      if (key.startsWith('GNU.sparse')) throw this.fault('it holds a sparse file');
      headerFields.set(key, bytes.toString('utf8', equals + 1, end - 1));
      at = end;
    }
    return headerFields;
  }

  private fault(what: string): Fault {
    return new Fault(`${this.options.archive} cannot be imported: ${what}`);
  }
}

/** Bytes that came whole are kept as they are. */
function keep(member: Member, bytes: Buffer): void {
  if (bytes.length === member.left && member.length === 0) member.bytes = bytes;
  else bytes.copy(roomFor(member, bytes.length), member.length);
  member.length += bytes.length;
}

/** Memory is taken when it is written to. What claims very much gets as much as came so far, and as much again. */
function roomFor(member: Member, more: number): Buffer {
  const { bytes, length, left } = member;
  if (length + more <= bytes.length) return bytes;
  const larger = Buffer.allocUnsafeSlow(Math.min(length + left, Math.max(ENOUGH, length * 2, length + more)));
  bytes.copy(larger, 0, 0, length);
  member.bytes = larger;
  return larger;
}

const cut = (bytes: Buffer): string => {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
};

const show = (name: string): string => JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}…` : name);

import { gzipSync } from 'node:zlib';

/** Archives as EPMT, papiex and Python write them, made for tests. */

export interface MadeThread {
  tid: number;
  start: number;
  end: number;
  metrics: Record<string, number>;
}

export interface MadeProcess {
  tags: string;
  hostname: string;
  exename: string;
  path: string;
  args: string;
  exitcode: number;
  exitsignal: number;
  pid: number;
  ppid: number;
  start: number;
  end: number;
  threads: MadeThread[];
}

const listOf = (text: string): string[] => text.split(',');
const HEAD = listOf('tags,hostname,exename,path,args,exitcode,pid,generation,ppid,pgid,sid,numtids,tid,start,end');
const USAGE = listOf('usertime,systemtime,rssmax,minflt,majflt,inblock,outblock,vol_ctxsw,invol_ctxsw');
const CHILDREN = listOf('cminflt,cmajflt,cutime,cstime');
const REST = listOf(
  'num_threads,starttime,processor,delayacct_blkio_time,guest_time,rchar,wchar,syscr,syscw,read_bytes,write_bytes,' +
    'cancelled_write_bytes,time_oncpu,time_waiting,timeslices,rdtsc_duration,PERF_COUNT_SW_CPU_CLOCK',
);
const behind = (list: readonly string[], column: string, more: readonly string[]): string[] =>
  list.flatMap((each) => (each === column ? [each, ...more] : [each]));

/** Columns of the versions of papiex, by their number. */
const MIDDLE = behind(HEAD, 'exitcode', ['exitsignal']);
export const CSV_COLUMNS: Record<41 | 46 | 48, string[]> = {
  41: [...HEAD, ...USAGE, ...REST],
  46: [...MIDDLE, ...USAGE, ...CHILDREN, ...REST],
  48: [...behind(behind(MIDDLE, 'numtids', ['mpinumranks']), 'tid', ['mpirank']), ...USAGE, ...CHILDREN, ...REST],
};
export const METRICS: readonly string[] = [...USAGE, ...CHILDREN, ...REST];

const ESCAPED: Record<string, string> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};
const escapedTsv = (text: string): string => text.replace(/[\x07-\r]/g, (c) => ESCAPED[c]!);
const escapedCsv = (text: string): string => escapedTsv(text.replace(/[\\,]/g, (c) => `\\${c}`));

function cell(process: MadeProcess, thread: MadeThread, column: string, first: boolean): string {
  if (column === 'tid' || column === 'start' || column === 'end') return String(thread[column]);
  if (column === 'mpirank') return '-1';
  if (METRICS.includes(column)) return String(thread.metrics[column] ?? 0);
  return first ? processCell(process, column) : '';
}

function processCell(process: MadeProcess, column: string): string {
  if (column === 'numtids') return String(process.threads.length);
  if (column === 'generation' || column === 'mpinumranks') return '0';
  if (column === 'pgid' || column === 'sid') return String(process.ppid);
  return String(process[column as keyof MadeProcess]);
}

export function csvText(processes: readonly MadeProcess[], columns: readonly string[]): string {
  const lines = [columns.join(',')];
  for (const process of processes) {
    process.threads.forEach((thread, i) => {
      lines.push(columns.map((column) => escapedCsv(cell(process, thread, column, i === 0))).join(','));
    });
  }
  return `${lines.join('\n')}\n`;
}

/** As papiex writes it, or as `epmt convert` does: sorted metrics, quotes, the end called finish. */
export function tsvTexts(processes: readonly MadeProcess[], converted = false): { header: string; data: string } {
  const metrics = converted
    ? METRICS.filter((name) => name !== 'num_threads' && name !== 'starttime').sort()
    : [...METRICS];
  const columns = listOf(
    'tags,hostname,exename,path,exitcode,exitsignal,pid,generation,ppid,pgid,sid,numtids,start,end,args',
  );
  const quoted = (text: string): string => (/["\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const lines = processes.map((process) => {
    const values = process.threads.flatMap(({ metrics: m }) => metrics.map((name) => m[name] ?? 0));
    const cells = columns.map((column) => processCell(process, column)).map(converted ? quoted : escapedTsv);
    return [`{${values.join(converted ? ', ' : ',')}}`, ...cells].join('\t') + (converted ? '\r\n' : '\n');
  });
  const header = [`{${metrics.join(',')}}`, ...columns].join('\t');
  return { header: converted ? header.replace('\tend\t', '\tfinish\t') : `${header}\n`, data: lines.join('') };
}

export interface TarEntry {
  name: string;
  bytes?: Buffer | string;
  type?: string;
  /** What the header claims, where that is not the truth. */
  size?: number;
}

/** A tar archive; sizes beyond eight gigabytes are written as GNU tar does. */
export function tarOf(entries: readonly TarEntry[]): Buffer {
  const blocks: Buffer[] = [];
  for (const { name, bytes = '', type = '0', size } of entries) {
    const content = Buffer.from(bytes);
    const header = Buffer.alloc(512);
    header.write(name, 0, 100);
    header.write('0000644\0', 100);
    const claimed = size ?? content.length;
    if (claimed < 8 ** 11) header.write(`${claimed.toString(8).padStart(11, '0')}\0`, 124);
    else {
      header[124] = 0x80;
      header.writeBigUInt64BE(BigInt(claimed), 128);
    }
    header.write('        ', 148);
    header.write(type, 156);
    header.write('ustar\x0000', 257);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    blocks.push(header, content, Buffer.alloc((512 - (content.length % 512)) % 512));
  }
  return Buffer.concat([...blocks, Buffer.alloc(1024)]);
}

export const tgzOf = (entries: readonly TarEntry[]): Buffer => gzipSync(tarOf(entries));

export type Picklable = string | number | null | boolean | PickledMoment | { [key: string]: Picklable };

export class PickledMoment {
  readonly iso: string;
  readonly microsecond: number;
  readonly offsetSeconds: number | undefined;

  /** "2019-06-15T07:52:04" */
  constructor(iso: string, microsecond = 0, offsetSeconds?: number) {
    this.iso = iso;
    this.microsecond = microsecond;
    this.offsetSeconds = offsetSeconds;
  }

  bytes(): Buffer {
    const at = new Date(`${this.iso}Z`);
    const { microsecond: us } = this;
    const year = at.getUTCFullYear();
    const bytesOfMoment = [
      year >> 8,
      year & 255,
      at.getUTCMonth() + 1,
      at.getUTCDate(),
      at.getUTCHours(),
      at.getUTCMinutes(),
    ];
    return Buffer.from([...bytesOfMoment, at.getUTCSeconds(), us >> 16, (us >> 8) & 255, us & 255]);
  }
}

const length4 = (bytes: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(bytes.length);
  return Buffer.concat([length, bytes]);
};

/** As Python 3 writes it with protocol 3. */
export function pickle3(value: Picklable): Buffer {
  const body = (each: Picklable): Buffer => {
    if (each === null) return Buffer.from('N');
    if (typeof each === 'boolean') return Buffer.from([each ? 0x88 : 0x89]);
    if (typeof each === 'string') return Buffer.concat([Buffer.from('X'), length4(Buffer.from(each))]);
    if (typeof each === 'number') {
      const number = Buffer.from([0x4a, 0, 0, 0, 0]);
      number.writeInt32LE(each, 1);
      return number;
    }
    if (each instanceof PickledMoment) {
      const state = Buffer.concat([Buffer.from('cdatetime\ndatetime\nC\n'), each.bytes()]);
      if (each.offsetSeconds === undefined) return Buffer.concat([state, Buffer.from([0x85, 0x52])]);
      const zone = Buffer.concat([
        Buffer.from('cdatetime\ntimezone\ncdatetime\ntimedelta\nK\0'),
        body(each.offsetSeconds),
        Buffer.from([0x4b, 0, 0x87, 0x52, 0x85, 0x52]),
      ]);
      return Buffer.concat([state, zone, Buffer.from([0x86, 0x52])]);
    }
    const pairs = Object.entries(each).flatMap(([key, inner]) => [body(key), body(inner)]);
    return Buffer.concat([Buffer.from('}('), ...pairs, Buffer.from('u')]);
  };
  return Buffer.concat([Buffer.from([0x80, 3]), body(value), Buffer.from('.')]);
}

/** As Python 2 writes it, with protocol 0: texts are bytes in quotes. */
export function pickle0(value: Picklable): Buffer {
  const quoted = (bytes: Buffer): string => {
    let out = '';
    for (const byte of bytes) {
      if (byte === 0x27 || byte === 0x5c) out += `\\${String.fromCharCode(byte)}`;
      else if (byte >= 32 && byte < 127) out += String.fromCharCode(byte);
      else if (byte === 10) out += '\\n';
      else out += `\\x${byte.toString(16).padStart(2, '0')}`;
    }
    return `S'${out}'\n`;
  };
  let memo = 0;
  const put = (): string => `p${memo++}\n`;
  const body = (each: Picklable): string => {
    if (each === null) return 'N';
    if (typeof each === 'boolean') return each ? 'I01\n' : 'I00\n';
    if (typeof each === 'string') return quoted(Buffer.from(each)) + put();
    if (typeof each === 'number') return `I${each}\n`;
    if (each instanceof PickledMoment)
      return `cdatetime\ndatetime\n${put()}(${quoted(each.bytes())}${put()}t${put()}R${put()}`;
    const pairs = Object.entries(each).map(([key, inner]) => `${body(key)}${body(inner)}s`);
    return `(d${put()}${pairs.join('')}`;
  };
  return Buffer.from(`${body(value)}.`);
}

export interface MadeJob {
  id?: string;
  start?: PickledMoment;
  stop?: PickledMoment;
  environment?: Record<string, string>;
  more?: Record<string, Picklable>;
}

/** job_metadata of a job that ran from 2023-11-14 22:13:20 for an hour. */
export function metadataOf(job: MadeJob = {}): { [key: string]: Picklable } {
  const start = job.start ?? new PickledMoment('2023-11-14T22:13:20', 0, 0);
  const stop = job.stop ?? new PickledMoment('2023-11-14T23:13:20', 0, 0);
  const env = { USER: 'ada', HOME: '/home/ada', SECRET: 'x', ...job.environment };
  return {
    job_pl_id: job.id ?? '4711',
    job_pl_submit_ts: start,
    job_pl_start_ts: start,
    job_pl_env: env,
    job_el_stop_ts: stop,
    job_el_exitcode: 0,
    job_el_reason: 'none',
    job_el_env: env,
    ...job.more,
  };
}

/** A whole archive with TSV of a process 200 that had three threads, and of nine others of the same program with one each. */
export function threadedTsv(): Buffer {
  const alike = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((k) => madeProcess(300 + k));
  const [first] = madeProcess(200).threads;
  const thread = (usertime: number): MadeThread => ({ ...first!, metrics: { ...first!.metrics, usertime } });
  const { header, data } = tsvTexts([madeProcess(200, { threads: [thread(10), thread(12), thread(9e9)] }), ...alike]);
  return tgzOf([
    { name: './job_metadata', bytes: pickle3(metadataOf()) },
    { name: './c1-papiex.tsv', bytes: data },
    { name: './c1-papiex-header.tsv', bytes: header },
  ]);
}

/** Epoch microseconds of that job's start. */
export const JOB_START = 1_700_000_000_000_000;

export function madeProcess(pid: number, more: Partial<MadeProcess> = {}): MadeProcess {
  const start = more.start ?? JOB_START + pid * 1000;
  const end = more.end ?? start + 5000;
  const metrics = Object.fromEntries(METRICS.map((name, i) => [name, (pid % 97) + i]));
  return {
    tags: '',
    hostname: 'c1',
    exename: 'sh',
    path: '/bin/sh',
    args: '-c true',
    exitcode: 0,
    exitsignal: 0,
    pid,
    ppid: 1,
    start,
    end,
    threads: [{ tid: pid, start, end, metrics: { ...metrics, num_threads: 0, starttime: 4096 * pid * 10_000 } }],
    ...more,
  };
}

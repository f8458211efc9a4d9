import { splitLine } from '../../base/csv.ts';
import { decodeLoad } from './base45.ts';
import { sonarMoment } from './moment.ts';
import type { SonarCard, SonarData, SonarProcess, SonarUse } from './sample.ts';

/** Columns of Sonar until 0.6, which has no names in its lines. */
const POSITIONS = [
  'time',
  'host',
  'cores',
  'user',
  'job',
  'cmd',
  'cpu%',
  'cpukib',
  'gpus',
  'gpu%',
  'gpumem%',
  'gpukib',
];

/** A line of CSV: with names from 0.7 on, without before. Whatever cannot be read is counted, and the rest is used. */
export function readCsvLine(line: string, data: SonarData): void {
  const cells = splitLine(line);
  const isNamed = cells.every((cell) => /^[\w%]+=/.test(cell));
  if (!isNamed && cells.length !== POSITIONS.length) return void data.drop('no record of Sonar');
  const fields = new Map(
    cells.map((cell, i) => {
      const at = cell.indexOf('=');
      return isNamed ? [cell.slice(0, at), cell.slice(at + 1)] : [POSITIONS[i]!, cell];
    }),
  );
  data.versions.add(fields.get('v') ?? '0.6');
  if (fields.has('JobID')) return void data.slurm.push(fields);
  if (fields.has('error')) return void data.drop('an error that Sonar reported');
  readProcess(fields, isNamed, data);
}

function readProcess(fields: ReadonlyMap<string, string>, isNamed: boolean, data: SonarData): void {
  const time = sonarMoment(fields.get('time'));
  const node = fields.get('host');
  const command = fields.get('cmd');
  if (time === undefined || !node || command === undefined)
    return void data.drop('without a time, a node or a command');
  let isBroken = false;
  const number = (name: string): number | undefined => {
    const text = fields.get(name);
    if (text === undefined || text === '') return undefined;
    const value = Number(text);
    // inf and NaN come from a process that began at that moment: none of its figures can be trusted
    if (!Number.isFinite(value) || value < 0) isBroken = true;
    return value;
  };
  const cards = isNamed ? namedCards(fields.get('gpus')) : maskCards(fields.get('gpus'));
  const [percent = 0, memoryPercent = 0, memory = 0] = [number('gpu%'), number('gpumem%'), number('gpukib')];
  const gpus = cards.map(
    (gpu): SonarUse => ({
      gpu,
      percent: percent / cards.length,
      memory_percent: memoryPercent / cards.length,
      memory_kib: memory / cards.length,
    }),
  );
  const [cpu_percent, cpu_seconds, ppid] = [number('cpu%'), number('cputime_sec'), number('ppid')];
  const [virtual_kib, resident_kib] = [number('cpukib'), number('rssanonkib')];
  const process: SonarProcess = {
    job: fields.get('job') || '0',
    user: fields.get('user') ?? '',
    epoch: number('epoch') ?? 0,
    pid: number('pid') ?? 0,
    command,
    rolled: number('rolledup') ?? 0,
    gpus,
    ...(ppid === undefined ? {} : { ppid }),
    ...(cpu_percent === undefined ? {} : { cpu_percent }),
    // what is 0 is left out of a line
    ...(isNamed ? { cpu_seconds: cpu_seconds ?? 0 } : {}),
    ...(virtual_kib === undefined ? {} : { virtual_kib }),
    ...(resident_kib === undefined ? {} : { resident_kib }),
  };
  const [cpus, total] = [number('cores'), number('memtotalkib')];
  if (isBroken) return void data.drop('with a figure that is no number');
  const sample = data.sample(time, '', node);
  if (fields.get('gpufail') !== undefined && fields.get('gpufail') !== '0') sample.failing = true;
  if (cpus) sample.cpus = cpus;
  if (total) sample.memory_kib = total;
  const busy = decodeLoad(fields.get('load') ?? '');
  if (busy !== undefined) sample.cpu_seconds = busy;
  const info = fields.get('gpuinfo');
  if (info !== undefined) sample.cards = cardsOf(info);
  // a node without work says that it is there
  if (command !== '_heartbeat_') sample.processes.push(process);
}

/** `none`, `unknown`, `3`, `4,5,6` */
const namedCards = (text = ''): string[] => text.split(',').filter((gpu) => /^\d+$/.test(gpu));

/** Until 0.6 a number in binary: 1000 is card 3. */
const maskCards = (text = ''): string[] =>
  /^[01]+$/.test(text) ? [...text].reverse().flatMap((bit, gpu) => (bit === '1' ? String(gpu) : [])) : [];

const NAMES = {
  'fan%': 'fan',
  musekib: 'memory_kib',
  'cutil%': 'percent',
  'mutil%': 'memory_percent',
  tempc: 'temperature',
  poww: 'power',
  powlimw: 'power_limit',
  cez: 'clock',
  memz: 'memory_clock',
} as const satisfies Record<string, keyof SonarCard>;

/** `fan%=35|31,musekib=…|…`: a list of the cards for each name; what is empty is 0. */
function cardsOf(text: string): SonarCard[] {
  const cards: SonarCard[] = [];
  for (const pair of text.split(',')) {
    const [name, values = ''] = pair.split('=', 2) as [string, string?];
    values.split('|').forEach((value, i) => {
      cards[i] ??= { gpu: String(i) };
      const cardField = NAMES[name as keyof typeof NAMES];
      const number = Number(value);
      if (cardField !== undefined && Number.isFinite(number)) cards[i][cardField] = number;
    });
  }
  return cards;
}

import { isHeld } from '../../base/held-number.ts';
import { CustomFailure } from './custom.ts';
import type { LooseSample } from './table.ts';

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})?\s+(\S+)(?:\s+-?\d+)?(?:\s+#.*)?$/;
const LABEL = /\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)/y;
const NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** Prometheus' text format (and OpenMetrics): one `name{label="value"} number` a line; timestamps are not used. */
export function parsePrometheus(text: string, note: (why: string) => void = () => {}): LooseSample[] {
  const types = new Map<string, string>();
  const helps = new Map<string, string>();
  const samples: LooseSample[] = [];
  for (const [i, raw] of text.split('\n').entries()) {
    const line = raw.trim();
    if (line === '') continue;
    if (line.startsWith('#')) {
      const comment = /^#\s+(HELP|TYPE)\s+(\S+)\s+(.*)$/.exec(line);
      if (comment !== null) (comment[1] === 'HELP' ? helps : types).set(comment[2]!, comment[3]!);
      continue;
    }
    const sampleMatch = SAMPLE.exec(line);
    const value = sampleMatch && numberOf(sampleMatch[3]!);
    if (sampleMatch === null || value === undefined)
      throw new CustomFailure(`line ${i + 1} is not Prometheus text: ${shown(line)}`);
    const metric = sampleMatch[1]!;
    const family = metric.replace(/_(total|sum|count|bucket)$/, '');
    const type = types.get(metric) ?? types.get(family);
    const counts = type === 'counter' || (metric !== family && (type === 'histogram' || type === 'summary'));
    samples.push({
      metric: metric.replaceAll(':', '_'),
      labels: labelsOf(sampleMatch[2] ?? '', i),
      value: Number.isNaN(value) ? value! : held(metric, sampleMatch[3]!, value!, note),
      kind: counts || (type === undefined && metric.endsWith('_total')) ? 'counter' : 'gauge',
      help: helps.get(metric) ?? helps.get(family) ?? '',
    });
  }
  return samples;
}

function labelsOf(braces: string, line: number): Record<string, string> {
  const labels: Record<string, string> = {};
  const inside = braces.slice(1, -1).trim();
  LABEL.lastIndex = 0;
  while (LABEL.lastIndex < inside.length) {
    const labelMatch = LABEL.exec(inside);
    if (labelMatch === null)
      throw new CustomFailure(`line ${line + 1} has labels that cannot be read: ${shown(braces)}`);
    labels[labelMatch[1]!] = labelMatch[2]!.replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
  }
  return labels;
}

function numberOf(word: string): number | undefined {
  if (word === 'NaN') return Number.NaN;
  const infinite = /^([+-]?)Inf(inity)?$/i.exec(word);
  // a table has no infinity: it is missing
  if (infinite !== null) return Number.NaN;
  const value = Number(word);
  return Number.isNaN(value) ? undefined : value;
}

/** A value that was printed is kept as it is, or is missing, which is said. */
function held(name: string, text: string, value: number, note: (why: string) => void): number {
  if (isHeld(text, value)) return value;
  note(notHeld(name));
  return Number.NaN;
}

/** Without the value: a counter would be said anew at every read. */
export const notHeld = (name: string): string =>
  `${name} has a value that a number of 64 bits does not keep: it is missing`;

type Reviver = (this: unknown, name: string, value: unknown, context?: { source?: string }) => unknown;

/** Numbers in lists are not kept. */
const reviverOf = (note: (why: string) => void): Reviver =>
  function (name, value, { source } = {}) {
    if (typeof value !== 'number' || source === undefined || Array.isArray(this)) return value;
    return held(name, source, value, note);
  };

/** JSON: an object or a list of objects (a row each), or one object a line. Numbers are metrics, texts are labels. */
export function parseJson(text: string, note: (why: string) => void = () => {}): LooseSample[] {
  return rowsOf(text, reviverOf(note)).flatMap((row, i) => {
    if (typeof row !== 'object' || row === null || Array.isArray(row)) {
      throw new CustomFailure(`row ${i + 1} is not an object: ${shown(JSON.stringify(row))}`);
    }
    const flat = Object.entries(flatten(row));
    const labels: Record<string, string> = {};
    for (const [name, value] of flat) if (typeof value === 'string') labels[nameOf(name)] = value;
    return flat.flatMap(([name, value]): LooseSample[] => {
      if (typeof value !== 'number' && typeof value !== 'boolean') return [];
      const metric = nameOf(name);
      return [
        { metric, labels, value: Number(value), kind: metric.endsWith('_total') ? 'counter' : 'gauge', help: '' },
      ];
    });
  });
}

function rowsOf(text: string, reviver: Reviver): unknown[] {
  try {
    const whole: unknown = JSON.parse(text, reviver);
    return Array.isArray(whole) ? whole : [whole];
  } catch (error) {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    if (lines.length < 2) throw new CustomFailure(`printed no JSON: ${(error as Error).message}`);
    return lines.map((line, i) => {
      try {
        return JSON.parse(line, reviver) as unknown;
      } catch {
        throw new CustomFailure(`line ${i + 1} is not JSON: ${shown(line)}`);
      }
    });
  }
}

/** {fan: {rpm: 1}} is fan_rpm; lists are left out, as nothing says what their places mean. */
function flatten(row: object, before = '', depth = 0): Record<string, unknown> {
  const flat: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(row)) {
    if (typeof value !== 'object') flat[before + name] = value;
    else if (value !== null && !Array.isArray(value) && depth < 4)
      Object.assign(flat, flatten(value, `${before}${name}_`, depth + 1));
  }
  return flat;
}

function nameOf(word: string): string {
  const name = word.replace(/[^a-zA-Z0-9_]+/g, '_');
  return NAME.test(name) ? name : `_${name}`;
}

const shown = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

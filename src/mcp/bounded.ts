import { commandLine } from '../base/quote.ts';

/** An answer is no longer than this: it takes its place in what an assistant can keep in mind. */
export const MOST_CHARACTERS = 30_000;

/** Shortens lists until the answer fits; what was left out is said where it was. */
export function bounded(fullAnswer: unknown, most = MOST_CHARACTERS): string {
  for (let longest = 400; ; longest = Math.floor(longest / 2)) {
    const text = JSON.stringify(shortened(fullAnswer, longest), undefined, 1);
    if (text.length <= most) return text;
    if (longest <= 1) return JSON.stringify({ too_long: true, beginning: text.slice(0, most / 2) });
  }
}

/** Fields that hold moments, as epoch microseconds. */
const MOMENT = /(?:^|_)(?:time|start|end|from|to|since|first|sample|made|taken)$/;
const [YEAR_2000, YEAR_2100] = [946_684_800e6, 4_102_444_800e6];

const isMoment = (value: unknown, name: string): value is number =>
  typeof value === 'number' && MOMENT.test(name) && value > YEAR_2000 && value < YEAR_2100;

function shortened(value: unknown, longest: number, name = ''): unknown {
  // an assistant cannot count microseconds since 1970
  if (isMoment(value, name)) return new Date(value / 1000).toISOString();
  if (name === 'command' && Array.isArray(value)) return shortened(commandLine(value.map(String)), longest);
  if (typeof value === 'number' && !Number.isFinite(value)) return undefined;
  if (typeof value === 'number' && !Number.isInteger(value)) return Number(value.toPrecision(6));
  if (typeof value === 'string') return value.length > 2000 ? `${value.slice(0, 2000)}…` : value;
  if (value instanceof Map) return shortened(Object.fromEntries(value), longest);
  if (ArrayBuffer.isView(value)) return shortened(Array.from(value as unknown as ArrayLike<number>), longest);
  if (Array.isArray(value)) {
    const kept = value.slice(0, longest).map((each) => shortened(each, longest, name) ?? null);
    return value.length > longest ? [...kept, `${value.length - longest} more were left out`] : kept;
  }
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shortened(each, longest, name)]));
}

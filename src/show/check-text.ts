import type { CheckItem, CheckState, MachineCheck } from '../check/check.ts';
import { type Paint, paint } from './terminal/paint.ts';
import { ascii, printable, wrap } from './terminal/text-table.ts';

const AREAS: Record<CheckItem['area'], string> = {
  program: 'Tacho',
  sources: 'What can be recorded',
  job: 'Jobs',
  recordings: 'Recordings',
};

interface Page {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** The check for people, a line a thing and what to do below it; on a terminal in lines that fit. */
export function checkText({ records, items }: MachineCheck, stream: Page): string {
  const colours = paint(stream);
  const width = stream.isTTY ? Math.max(60, stream.columns ?? 80) : Number.MAX_SAFE_INTEGER;
  const names = Math.max(...items.map(({ name }) => name.length));
  const lines: string[] = [];
  for (const [area, title] of Object.entries(AREAS)) {
    lines.push(colours.bold(title));
    for (const item of items) if (item.area === area) lines.push(...itemLines(item, names, width, colours));
    lines.push('');
  }
  const failed = items.filter(({ state }) => state === 'failed').map(({ name }) => name);
  lines.push(records ? 'A job can be recorded here.' : `A job cannot be recorded here: ${failed.join(', ')} failed.`);
  const text = `${lines.join('\n')}\n`;
  return stream.isTTY ? text : ascii(text);
}

function itemLines({ name, state, text, hint }: CheckItem, names: number, width: number, colours: Paint): string[] {
  const stroke: Record<CheckState, (word: string) => string> = {
    ok: colours.green,
    absent: colours.dim,
    limited: colours.yellow,
    failed: colours.red,
  };
  const start = `  ${stroke[state](state.padEnd(7))}  ${name.padEnd(names)}  `;
  const margin = 2 + 7 + 2 + names + 2;
  const [first = '', ...rest] = wrap(printable(text), width - margin);
  const advice = hint === undefined ? [] : wrap(printable(hint), width - margin - 2);
  return [
    start + first,
    ...rest.map((line) => ' '.repeat(margin) + line),
    ...advice.map((line, i) => `${' '.repeat(margin)}${i === 0 ? '→' : ' '} ${line}`),
  ];
}

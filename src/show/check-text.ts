import type { CheckItem, CheckState, MachineCheck } from '../agent/check.ts';
import { type Paint, paint } from './paint.ts';

const AREAS: Record<CheckItem['area'], string> = {
  program: 'Tacho',
  sources: 'What can be recorded',
  job: 'Jobs',
  recordings: 'Recordings',
};

/** The check for people, a line a thing and what to do below it. */
export function checkText({ records, items }: MachineCheck, stream: { readonly isTTY?: boolean | undefined }): string {
  const colours = paint(stream);
  const lines: string[] = [];
  for (const [area, title] of Object.entries(AREAS)) {
    lines.push(colours.bold(title));
    for (const item of items) if (item.area === area) lines.push(...itemLines(item, colours));
    lines.push('');
  }
  const failed = items.filter(({ state }) => state === 'failed').map(({ name }) => name);
  lines.push(records ? 'A job can be recorded here.' : `A job cannot be recorded here: ${failed.join(', ')} failed.`);
  return `${lines.join('\n')}\n`;
}

function itemLines({ name, state, text, hint }: CheckItem, colours: Paint): string[] {
  const stroke: Record<CheckState, (word: string) => string> = {
    ok: colours.green,
    absent: colours.dim,
    limited: colours.yellow,
    failed: colours.red,
  };
  const line = `  ${stroke[state](state.padEnd(8))} ${name.padEnd(12)} ${text}`;
  return hint === undefined ? [line] : [line, `${' '.repeat(24)}→ ${hint}`];
}

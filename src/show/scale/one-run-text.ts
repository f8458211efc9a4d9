import { formatDuration } from '../../base/duration.ts';
import { count, cpusFigure, figure, listed, percent } from '../../base/readable.ts';
import type { Gain, OneRun } from '../../judge/scale/one-run.ts';
import type { Profile } from '../../judge/scale/profile.ts';
import { objectCsv } from '../object-csv.ts';
import { paint } from '../terminal/paint.ts';
import { ascii, pad, printable, textWidth, wrap } from '../terminal/text-table.ts';
import type { ScaleTextOptions } from './study-text.ts';

const STATES = { saturated: 'at its end', partly: 'partly', free: 'free', unknown: 'not known', none: 'none' } as const;

/** What one run tells, for people. */
export function oneRunText(run: OneRun, options: ScaleTextOptions = {}): string {
  const { stream = {} } = options;
  const width = Math.min(options.width ?? 80, 100);
  const pen = paint(stream);
  const cpus = run.cpus === undefined ? '' : `, ${count(run.cpus, 'CPU')}`;
  const busy = run.cpus_busy === undefined ? '' : ` (${cpusFigure(run.cpus_busy)} busy)`;
  const lines = [pen.bold(`${printable(run.program)}: one run of ${formatDuration(run.wall_seconds)}${cpus}${busy}`)];
  lines.push(...wrap(verdictOf(run), width));
  if (run.profile?.levels !== undefined) lines.push('', pen.dim('CPUs wanted at once'), ...profileLines(run.profile));
  lines.push('', pen.dim('What holds it up'));
  for (const { what, state, text, hint } of run.limits) {
    const colour = state === 'saturated' ? pen.red : state === 'partly' ? pen.yellow : (plain: string) => plain;
    lines.push(
      ...row(what, colour(pad(STATES[state], STATE)), `${text}${hint === undefined ? '' : ` (${hint})`}`, width),
    );
  }
  lines.push('', pen.dim('What more would bring'));
  for (const gain of run.gains) lines.push(...row(gain.what, pad(gainWord(gain), STATE), gain.text, width));
  lines.push(
    '',
    ...wrap('Bounds from one run are upper bounds. tacho scale run --cores 1,2,4 -- COMMAND measures it.', width).map(
      pen.dim,
    ),
  );
  const text = `${lines.join('\n')}\n`;
  return stream.isTTY ? text : ascii(text);
}

const NAMES = 16;
const STATE = 12;
const INDENT = 2 + NAMES + 2 + STATE;

function row(name: string, state: string, text: string, width: number): string[] {
  const [first = '', ...rest] = wrap(text, Math.max(30, width - INDENT));
  return [`  ${pad(name, NAMES)}  ${state}${first}`.trimEnd(), ...rest.map((line) => ' '.repeat(INDENT) + line)];
}

function gainWord({ helps, at_most: most }: Gain): string {
  if (helps === 'no') return 'nothing';
  if (helps === 'unknown') return 'not known';
  return most === undefined ? 'helps' : `<= ${figure(most)} x`;
}

function verdictOf({ saturated, limits, profile }: OneRun): string {
  if (saturated.length > 0) return `It is held up by: ${listed([...saturated], 4)}.`;
  if (profile === undefined && limits.every(({ state }) => state === 'unknown' || state === 'none'))
    return 'Nothing that could hold it up was measured.';
  return 'Nothing that was measured is at its end: it waits for something else, or is short.';
}

const BAR = 40;

function profileLines({ levels, seconds, cpus }: Profile): string[] {
  const { idle, one, some, all } = levels!;
  const rows: [string, number][] = [
    ['none', idle],
    ['one', one],
    ['some', some],
    [`all ${figure(cpus)}`, all],
  ];
  const left = Math.max(...rows.map(([name]) => textWidth(name)));
  return rows.map(([name, time]) => {
    const share = time / seconds;
    return `  ${pad(name, left)}  ${pad(percent(share), 6, 'right')}  ${'#'.repeat(Math.round(share * BAR))}`.trimEnd();
  });
}

export const oneRunJson = (run: OneRun): string => `${JSON.stringify({ format: 1, of: 'run', ...run }, null, 1)}\n`;

export const oneRunCsv = ({ limits }: OneRun): string => objectCsv(['what', 'state', 'use', 'text', 'hint'], limits);

import * as fs from 'node:fs';
import * as path from 'node:path';
import type { Figure } from '../test/truth/ground.ts';
import { countedVerdicts, isWithin, ratioText } from './truth-verdict.ts';

/** What `npm run truth -- --publish` keeps. */
export interface PublishedTruth {
  machine: string;
  /** The day of the run. */
  date: string;
  /** The least and the greatest while it ran. */
  load: string;
  left: string[];
  figures: Figure[];
}

const FILE = path.join(import.meta.dirname, '../docs/truth.json');

/** The part of docs/truth.md that says what one run of all jobs gave. */
export function truthReference(): string {
  return truthTable(JSON.parse(fs.readFileSync(FILE, 'utf8')) as PublishedTruth);
}

export function truthTable({ machine, date, load, left, figures }: PublishedTruth): string {
  const byHead = Map.groupBy(figures, ({ what, by }) => `${what} | ${by}`);
  const rows = [...byHead].map(([head, own]) => `| ${head} | ${own.map(ratioOfJob).join('; ')} |`);
  const leftOut = left.length === 0 ? [] : [`Left out, as the machine lacked what they need: ${left.join('; ')}.`, ''];
  return [
    `All jobs on ${date}. The machine had ${machine}; its load was ${load}.`,
    `${figures.length} figures: ${countedVerdicts(figures)}.`,
    '',
    ...leftOut,
    '| figure | measured by | Tacho ÷ truth |',
    '| --- | --- | --- |',
    ...rows,
  ].join('\n');
}

const ratioOfJob = (figure: Figure): string =>
  `${figure.job} ${ratioText(figure)}${isWithin(figure) ? '' : ' **beyond its bound**'}`;

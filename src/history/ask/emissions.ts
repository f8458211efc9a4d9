import * as fs from 'node:fs';
import { Fault, reason } from '../../base/fault.ts';
import { parseMoment } from '../../base/moment.ts';

/** How much CO2 a kWh stands for, in g: always the same, or by the hour. */
export interface Emissions {
  /** g/kWh; of hourly ones their mean, which counts where the file has none. */
  factor: number;
  /** By the hour since 1970, UTC. */
  hourly?: ReadonlyMap<number, number>;
  at(moment: number): number;
}

const HOUR_US = 3_600_000_000;

export const constantEmissions = (factor: number): Emissions => ({ factor, at: () => factor });

/** Lines `time,g_per_kwh` (or with a semicolon or tab), the time of each hour as in --from; a first line of words is skipped. */
export function readEmissions(file: string): Emissions {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault(`cannot read ${file}: ${reason(error)}`, { cause: error });
  }
  const hourly = new Map<number, number>();
  let number = 0;
  for (const line of text.split('\n')) {
    number++;
    if (line.trim() === '') continue;
    const [time, value] = line.split(/[,;\t]/).map((cell) => cell.trim().replaceAll('"', ''));
    const factor = Number(value);
    if (value === undefined || value === '' || !(factor >= 0) || !Number.isFinite(factor)) {
      if (number === 1) continue;
      throw new Fault(`${file}, line ${number}: "${line.slice(0, 60)}" is no time and factor`, {
        exit: 2,
        hint: 'write it like 2026-03-02T13:00:00Z,312.5 (g/kWh)',
      });
    }
    hourly.set(Math.floor(parseMoment(time!) / HOUR_US), factor);
  }
  if (hourly.size === 0) throw new Fault(`${file} has no factors`, { exit: 2 });
  const factor = [...hourly.values()].reduce((sum, one) => sum + one, 0) / hourly.size;
  return { factor, hourly, at: (moment) => hourly.get(Math.floor(moment / HOUR_US)) ?? factor };
}

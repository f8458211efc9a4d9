/** Where the axes of charts have their numbers. */

const SECONDS = [
  ...[0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200],
  ...[10_800, 21_600, 43_200, 86_400, 172_800, 432_000, 864_000, 2_592_000, 7_776_000, 31_536_000],
];

/** About so many moments from `from` to `to` (microseconds), a round time after `start`. */
export function timeTicks(from: number, to: number, start: number, wanted = 6): number[] {
  const rough = (to - from) / 1e6 / wanted;
  const step = (SECONDS.find((seconds) => seconds >= rough) ?? SECONDS.at(-1)!) * 1e6;
  const ticks: number[] = [];
  for (let i = Math.ceil((from - start) / step); start + i * step <= to && ticks.length < 100; i++)
    ticks.push(start + i * step);
  return ticks;
}

/** There is no half of one. */
const WHOLE: ReadonlySet<string> = new Set(['threads', 'jobs']);

/** The end of an axis from 0 that holds `most`, and the distance of its numbers: bytes are counted in powers of 1024. */
export function valueTicks(most: number, unit: string): { max: number; interval: number } {
  if (!(most > 0)) return { max: 1, interval: 1 };
  const isBytes = unit.startsWith('bytes');
  const scale = isBytes ? 1024 ** Math.max(0, Math.floor(Math.log(most) / Math.log(1024))) : 1;
  const rough = Math.max(most / scale / 3, WHOLE.has(unit) ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(rough));
  const nice = [1, 2, 2.5, 5, 10]
    .map((each) => each * power)
    .find((each) => each >= rough * 0.999 && (!WHOLE.has(unit) || Number.isInteger(each)))!;
  const interval = nice * scale;
  return { max: Math.ceil((most / interval) * 0.999) * interval, interval };
}

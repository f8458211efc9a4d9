import { usage } from '../../base/fault.ts';

/** Plain numbers, also 50%, 2h, 4GiB, in the unit of a column; `text` is the whole of what was written. */
export function parseAmount(text: string, value: string, unit: string): number {
  const scaled = /^([\d.]+(?:e[+-]?\d+)?)\s*(%|[a-zA-Z]+)?$/.exec(value);
  const factor = scaled?.[2] === undefined ? 1 : FACTORS[unit]?.[scaled[2]];
  const amount = Number(scaled?.[1]) * (factor ?? Number.NaN);
  if (Number.isNaN(amount)) {
    const units = Object.keys(FACTORS[unit] ?? {});
    throw usage(
      `"${text}": "${value}" is no amount`,
      units.length === 0 ? 'write a number' : `write a number, or one with ${units.join(', ')}`,
    );
  }
  return amount;
}

const BYTES = {
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  K: 2 ** 10,
  M: 2 ** 20,
  G: 2 ** 30,
  T: 2 ** 40,
};
const FACTORS: Record<string, Record<string, number>> = {
  seconds: { s: 1, m: 60, min: 60, h: 3600, d: 86_400 },
  bytes: BYTES,
  share: { '%': 0.01 },
  hours: { h: 1, d: 24 },
  byte_hours: { GiBh: 2 ** 30, TiBh: 2 ** 40 },
  joules: { kWh: 3.6e6, Wh: 3600, J: 1 },
};

/** Numbers as people read them, in findings and in every form of the report. Missing values are a dash. */

import { figure } from './figure.ts';

export { count, figure } from './figure.ts';

const MISSING = '-';

/** A share as a percentage: 0.873 → '87 %', 0.004 → '0.4 %'. */
export function percent(share: number | undefined): string {
  if (share === undefined || !Number.isFinite(share)) return MISSING;
  const value = share * 100;
  if (value !== 0 && Math.abs(value) < 0.1) return '< 0.1 %';
  return `${Math.abs(value) < 9.95 && !Number.isInteger(value) ? value.toFixed(1) : figure(Math.round(value))} %`;
}

/** Busy CPUs, to a hundredth: less says nothing. */
export function cpusFigure(cpus: number): string {
  return cpus > 0 && cpus < 0.01 ? '< 0.01' : figure(Number(cpus.toFixed(2)));
}

/** Joules in the unit that fits: '41.2 kWh', '512 Wh', '73 J'. */
export function energy(joules: number | undefined): string {
  if (joules === undefined || !Number.isFinite(joules)) return MISSING;
  const wattHours = joules / 3600;
  if (wattHours >= 1e6) return `${figure(wattHours / 1e6)} MWh`;
  if (wattHours >= 1000) return `${figure(wattHours / 1000)} kWh`;
  if (wattHours >= 1) return `${figure(wattHours)} Wh`;
  return `${figure(joules)} J`;
}

/** 'c1', 'c1 and c2', 'c1, c2 and 5 more'. */
export function listed(names: readonly string[], most = 3): string {
  if (names.length > most) return `${names.slice(0, most - 1).join(', ')} and ${names.length - most + 1} more`;
  if (names.length < 2) return names.join('');
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

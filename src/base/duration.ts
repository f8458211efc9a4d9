import { usage } from './fault.ts';

const SECONDS: Record<string, number> = { us: 1e-6, ms: 1e-3, s: 1, m: 60, min: 60, h: 3600, d: 86_400, w: 604_800 };
const PART = /(\d+(?:\.\d+)?)(us|ms|s|min|m|h|d|w)/gy;

/** Seconds from "500ms", "1s", "10" (seconds), "2h30m" or "1d". */
export function parseDuration(text: string): number {
  const compact = text.trim().replaceAll(' ', '');
  if (/^\d+(\.\d+)?$/.test(compact)) return Number(compact);
  let seconds = 0;
  let at = 0;
  PART.lastIndex = 0;
  for (let amount = PART.exec(compact); amount !== null; amount = PART.exec(compact)) {
    seconds += Number(amount[1]) * SECONDS[amount[2]!]!;
    at = PART.lastIndex;
  }
  if (compact === '' || at !== compact.length) {
    throw usage(`"${text}" is not a duration`, 'write it like 500ms, 1s, 10 (seconds), 2h30m or 1d');
  }
  return Number(seconds.toPrecision(15));
}

const two = (n: number): string => String(n).padStart(2, '0');

/** For people: "52 ms", "5.0 s", "12 min 05 s", "2 h 03 min", "3 d 04 h 10 min". */
export function formatDuration(seconds: number): string {
  if (!Number.isFinite(seconds)) return 'unknown';
  if (seconds < 0) return `-${formatDuration(-seconds)}`;
  if (seconds === 0) return '0 s';
  if (seconds < 0.0095) return `${Number((seconds * 1e3).toPrecision(1))} ms`;
  if (seconds < 0.9995) return `${Math.round(seconds * 1e3)} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  return `${Math.floor(minutes / 1440)} d ${two(Math.floor(minutes / 60) % 24)} h ${two(minutes % 60)} min`;
}

/**
 * Units of columns. Files hold the unit that keeps values whole numbers where the kernel gives whole numbers;
 * `base` and `factor` say what Prometheus and people see (1500 milliseconds are 1.5 seconds).
 */
export interface UnitFacts {
  /** Column names end with this word ('' = none needed). */
  readonly suffix: string;
  /** The base unit by Prometheus conventions ('' = a plain number). */
  readonly base: string;
  /** value in base unit = value × factor */
  readonly factor: number;
}

export const units = {
  bytes: { suffix: 'bytes', base: 'bytes', factor: 1 },
  kibibytes: { suffix: 'kb', base: 'bytes', factor: 1024 },
  seconds: { suffix: 'seconds', base: 'seconds', factor: 1 },
  milliseconds: { suffix: 'ms', base: 'seconds', factor: 1e-3 },
  microseconds: { suffix: 'us', base: 'seconds', factor: 1e-6 },
  nanoseconds: { suffix: 'ns', base: 'seconds', factor: 1e-9 },
  /** A moment: microseconds since 1970, UTC. */
  epoch: { suffix: 'time', base: 'timestamp_seconds', factor: 1e-6 },
  hours: { suffix: 'hours', base: 'seconds', factor: 3600 },
  /** Bytes that were held, times the hours. */
  byte_hours: { suffix: 'byte_hours', base: 'byte_hours', factor: 1 },
  /** 0 to 1. */
  share: { suffix: '', base: 'ratio', factor: 1 },
  percent: { suffix: 'percent', base: 'ratio', factor: 1e-2 },
  watts: { suffix: 'watts', base: 'watts', factor: 1 },
  joules: { suffix: 'joules', base: 'joules', factor: 1 },
  millijoules: { suffix: 'mj', base: 'joules', factor: 1e-3 },
  volts: { suffix: 'volts', base: 'volts', factor: 1 },
  amperes: { suffix: 'amperes', base: 'amperes', factor: 1 },
  celsius: { suffix: 'celsius', base: 'celsius', factor: 1 },
  megahertz: { suffix: 'mhz', base: 'hertz', factor: 1e6 },
  rpm: { suffix: 'rpm', base: 'rpm', factor: 1 },
  /** A number of things; also states and flags. */
  count: { suffix: '', base: '', factor: 1 },
  /** Text columns. */
  none: { suffix: '', base: '', factor: 1 },
} as const satisfies Record<string, UnitFacts>;

export type Unit = keyof typeof units;

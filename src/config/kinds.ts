import { parseAddress } from '../base/address.ts';
import { parseDuration } from '../base/duration.ts';
import { usage } from '../base/fault.ts';
import { parseBytes } from '../base/size.ts';

/** How a kind of value is written: in a configuration file (any of `types`), in the environment and as a flag (text). */
interface Kind<T> {
  /** What to write, for messages and the reference. */
  readonly say: string;
  /** Stands for the value in `--help`; none: the flag has no value. */
  readonly placeholder?: string;
  /** Types that a TOML value may have. */
  readonly types: readonly ('string' | 'number' | 'boolean' | 'array')[];
  parse(value: string | number | boolean | readonly string[]): T;
}

const TRUE = ['1', 'true', 'yes', 'on'];
const FALSE = ['0', 'false', 'no', 'off', ''];

function positive(value: number, text: unknown): number {
  if (value > 0) return value;
  throw usage(`"${text}" is not more than zero`);
}

export const kinds = {
  duration: {
    say: 'a duration such as "500ms", "1s" or "10min"',
    placeholder: 'duration',
    types: ['string', 'number'],
    parse: (value): number => positive(parseDuration(String(value)), value),
  },
  /** How often to sample: not more often than can be kept. */
  interval: {
    say: 'a duration of at least 100 ms, such as "1s"',
    placeholder: 'duration',
    types: ['string', 'number'],
    parse(value): number {
      const seconds = parseDuration(String(value));
      if (seconds >= 0.1 && seconds <= 86_400) return seconds;
      throw usage(`"${value}" is not between 100ms and 1d`, 'an interval of 1s suits most jobs');
    },
  },
  /** How long something may wait. */
  pause: {
    say: 'a duration from 0 to 60 s, such as "5s"',
    placeholder: 'duration',
    types: ['string', 'number'],
    parse(value): number {
      const seconds = parseDuration(String(value));
      if (seconds >= 0 && seconds <= 60) return seconds;
      throw usage(`"${value}" is not between 0s and 60s`);
    },
  },
  size: {
    say: 'a size such as "64MiB"',
    placeholder: 'size',
    types: ['string', 'number'],
    parse: (value): number => positive(parseBytes(String(value)), value),
  },
  flag: {
    say: 'true or false',
    types: ['boolean'],
    parse(value): boolean {
      if (typeof value === 'boolean') return value;
      const word = String(value).toLowerCase();
      if (TRUE.includes(word)) return true;
      if (FALSE.includes(word)) return false;
      throw usage(`"${value}" is neither true nor false`);
    },
  },
  list: {
    say: 'a list such as ["one", "two"]',
    placeholder: 'names',
    types: ['array'],
    parse: (value): readonly string[] =>
      Array.isArray(value)
        ? value
        : String(value)
            .split(',')
            .map((word) => word.trim())
            .filter((word) => word !== ''),
  },
  folder: {
    say: 'the path of a folder',
    placeholder: 'folder',
    types: ['string'],
    parse(value): string {
      if (value === '') throw usage('a path is needed');
      return String(value);
    },
  },
  file: {
    say: 'the path of a file',
    placeholder: 'file',
    types: ['string'],
    parse(value): string {
      if (value === '') throw usage('a path is needed');
      return String(value);
    },
  },
  text: {
    say: 'a text',
    placeholder: 'text',
    types: ['string'],
    parse: (value): string => String(value),
  },
  database: {
    say: 'an address such as "postgres://user@host/name"',
    placeholder: 'address',
    types: ['string'],
    parse: (value): string => parseAddress(String(value)),
  },
  sasl: {
    say: '"PLAIN", "SCRAM-SHA-256" or "SCRAM-SHA-512"',
    placeholder: 'mechanism',
    types: ['string'],
    parse(value): 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' {
      if (value === 'PLAIN' || value === 'SCRAM-SHA-256' || value === 'SCRAM-SHA-512') return value;
      throw usage(`"${value}" is none of PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512`);
    },
  },
  url: {
    say: 'an address such as "http://host:8428"',
    placeholder: 'url',
    types: ['string'],
    parse(value): string {
      if (/^https?:\/\/[^/]/.test(String(value)) && URL.canParse(String(value))) return String(value);
      throw usage(`"${value}" is no address`, 'it looks like http://host:8428');
    },
  },
  trust: {
    say: '"none", "munge" or "token"',
    placeholder: 'method',
    types: ['string'],
    parse(value): 'none' | 'munge' | 'token' {
      if (value === 'none' || value === 'munge' || value === 'token') return value;
      throw usage(`"${value}" is none of none, munge and token`);
    },
  },
  access: {
    say: '"token", "header" or "oidc"',
    placeholder: 'way',
    types: ['string'],
    parse(value): 'token' | 'header' | 'oidc' {
      if (value === 'token' || value === 'header' || value === 'oidc') return value;
      throw usage(`"${value}" is none of token, header and oidc`);
    },
  },
} as const satisfies Record<string, Kind<unknown>>;

export type KindName = keyof typeof kinds;
export type ValueOf<K extends KindName> = ReturnType<(typeof kinds)[K]['parse']>;

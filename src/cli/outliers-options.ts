import { usage } from '../base/fault.ts';
import { suggest } from '../base/suggest.ts';
import { METHODS } from '../judge/outliers/votes.ts';
import { tellOld } from './flag-table.ts';

/** A method as it is named on the command line. */
export const slug = (method: string): string => method.replaceAll(' ', '-');

/** `--tag KEY`, without a value, named the operations' tag before. */
export function takeOldTag(options: { tag?: string[]; opTag?: string[] }): void {
  const old = options.tag?.filter((word) => !word.includes(':')) ?? [];
  if (old.length === 0) return;
  tellOld(`--tag ${old.join(', ')}`, '--op-tag');
  options.opTag = [...(options.opTag ?? []), ...old];
  options.tag = options.tag!.filter((word) => word.includes(':'));
}

/** As others call them. */
const ALIASES: Readonly<Record<string, string>> = {
  mad: 'modified-z-score',
  iqr: 'interquartile-range',
  mcd: 'robust-covariance',
  pca: 'principal-components',
};

/** `z-score=4`: the method, and the score above which it votes. */
export function threshold(word: string, all: Map<string, number> = new Map()): Map<string, number> {
  const [, method, score] = /^([^=]+)=(.+)$/.exec(word) ?? [];
  if (method === undefined || !(Number(score) > 0))
    throw usage(`"${word}" is no threshold of a method`, 'write it like --threshold z-score=4');
  return new Map([...all, [methodNamed(method), Number(score)]]);
}

export function methodNamed(word: string): string {
  const asked = word.toLowerCase().replaceAll(/[ _]/g, '-');
  const name = METHODS.find((method) => slug(method) === (ALIASES[asked] ?? asked));
  if (name !== undefined) return name;
  const near = suggest(word, METHODS.map(slug));
  throw usage(
    `there is no method "${word}"`,
    near === undefined ? `there are ${METHODS.map(slug).join(', ')}` : `did you mean ${near}?`,
  );
}

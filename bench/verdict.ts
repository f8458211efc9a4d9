import type { Row } from './row.ts';

/** Does a row keep to its limit? One in × is about the ratio, any other about what was measured; without one there is no verdict. */
export function verdict({ must, measured, ratio }: Pick<Row, 'must' | 'measured' | 'ratio'>): 'pass' | 'miss' | '' {
  const boundMatch = /^([≤≥])\s*([\d.]+)\s*(×)?/.exec(must);
  if (boundMatch === null) return '';
  const [, sign, limit, times] = boundMatch;
  const value = times === undefined ? measured : ratio;
  return (sign === '≤' ? value <= Number(limit) : value >= Number(limit)) ? 'pass' : 'miss';
}

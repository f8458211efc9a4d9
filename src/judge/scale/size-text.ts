import { count, figure } from '../../base/readable.ts';
import type { SizeBy } from './run.ts';

/** "4 cores", "2 GPUs", "ranks 8". */
export function sizeText(size: number, by: SizeBy): string {
  if (by.startsWith('tag:')) return `${by.slice('tag:'.length)} ${figure(size)}`;
  const one = { cores: 'core', nodes: 'node', gpus: 'GPU' }[by as 'cores'];
  return count(size, one);
}

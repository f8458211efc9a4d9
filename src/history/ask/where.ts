import type { JobNumber } from '../tables/summary.ts';
import type { Dialect } from './dialect.ts';
import { type JobFilter, LISTED } from './filter.ts';

const hasGlob = (text: string): boolean => /[*?]/.test(text);

/** A pattern of file names for `like`. */
const likeOf = (glob: string): string => glob.replaceAll(/[%_!]/g, '!$&').replaceAll('*', '%').replaceAll('?', '_');

/** A column is one of these. */
export function isOneOf(sql: Dialect, column: string, globs: readonly string[]): string {
  const plain = globs.filter((glob) => !hasGlob(glob));
  const alternatives = globs.filter(hasGlob).map((glob) => `${column} like ${sql.text(likeOf(glob))} escape '!'`);
  if (plain.length > 0) alternatives.unshift(`${column} in (${plain.map(sql.text).join(', ')})`);
  return alternatives.length === 0 ? 'false' : `(${alternatives.join(' or ')})`;
}

/** One of the names in a list that is separated by commas is one of these. */
function hasOneOf(sql: Dialect, column: string, globs: readonly string[]): string {
  const patterns = globs.map((glob) =>
    glob
      .replaceAll(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '[^,]*')
      .replaceAll('?', '[^,]'),
  );
  return sql.matches(`coalesce(${column}, '')`, `(^|,)(${patterns.join('|')})(,|$)`);
}

/** The end of a job as the questions take it: one that runs has run until then. */
export const endOf = (sql: Dialect): string =>
  `coalesce(j.end_time, ${sql.micros('j.time')} + coalesce(j.wall_seconds, 0) * 1000000)`;

/**
 * The conditions that a filter means, without its window. The table of jobs is `j`: some engines have words of their own
 * that are called like columns.
 */
export function conditionsOf(sql: Dialect, filter: JobFilter): string[] {
  const conditions: string[] = [];
  for (const name of Object.keys(LISTED) as (keyof typeof LISTED)[]) {
    const column = `coalesce(j.${LISTED[name]}, '')`;
    if (filter[name] !== undefined) conditions.push(isOneOf(sql, column, filter[name]));
    const without = (filter.not as JobFilter | undefined)?.[name];
    if (without !== undefined) conditions.push(`not ${isOneOf(sql, column, without)}`);
  }
  const named = (ids: readonly string[]): string =>
    `(${isOneOf(sql, 'j.job', ids)} or ${isOneOf(sql, `coalesce(j.array, '')`, ids)})`;
  if (filter.jobs !== undefined) conditions.push(named(filter.jobs));
  if (filter.not?.jobs !== undefined) conditions.push(`not ${named(filter.not.jobs)}`);
  if (filter.nodes !== undefined) conditions.push(hasOneOf(sql, 'j.node_list', filter.nodes));
  if (filter.findings !== undefined) conditions.push(hasOneOf(sql, 'j.findings', filter.findings));
  for (const [key, value] of Object.entries(filter.tags ?? {}))
    conditions.push(`${sql.tag('j.tags', key)} = ${sql.text(value)}`);
  if (filter.gpu !== undefined) conditions.push(`coalesce(j.gpus, 0) ${filter.gpu ? '>' : '='} 0`);
  const ranges = Object.entries(filter.ranges ?? {}) as [JobNumber, { min?: number; max?: number }][];
  for (const [column, { min, max }] of ranges) {
    if (min !== undefined) conditions.push(`j.${column} >= ${min}`);
    if (max !== undefined) conditions.push(`j.${column} <= ${max}`);
    if (min === undefined && max === undefined) conditions.push(`j.${column} is not null`);
  }
  return conditions;
}

/** Jobs that ended in the window of the filter; one that runs is in every window that reaches until now. */
export function windowOf(sql: Dialect, { from, to }: JobFilter): string[] {
  const conditions: string[] = [];
  if (from !== undefined) conditions.push(`(j.end_time is null or j.end_time >= ${Math.round(from)})`);
  if (to !== undefined) conditions.push(`coalesce(j.end_time, ${sql.micros('j.time')}) < ${Math.round(to)}`);
  return conditions;
}

/** Jobs that ran at some time in the window. */
export function ranIn(sql: Dialect, from: number, to: number): string[] {
  return [`${endOf(sql)} > ${Math.round(from)}`, `${sql.micros('j.time')} < ${Math.round(to)}`];
}

export const where = (conditions: readonly string[]): string =>
  conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`;

import type { DaskPrefix, Report } from '../report-schema.ts';

/** Tasks of Dask of one prefix, in every job. */
export interface PrefixRow {
  prefix: string;
  /** undefined where it did not occur. */
  jobs: (DaskPrefix | undefined)[];
  /** Against the first job, in the job where that is largest: microseconds of computation more (or less). */
  difference: number;
}

/** The prefixes of all jobs, the largest difference first; none where no job has tasks. */
export function prefixRows(reports: readonly Report[]): PrefixRow[] {
  const all = reports.map(({ dask }) => new Map(dask?.prefixes.map((use) => [use.prefix, use])));
  const names = new Set(all.flatMap((prefixes) => [...prefixes.keys()]));
  const rows = [...names].map((prefix): PrefixRow => {
    const jobs = all.map((prefixes) => prefixes.get(prefix));
    const away = jobs.map((use) => Math.round(((use?.seconds ?? 0) - (jobs[0]?.seconds ?? 0)) * 1e6));
    return {
      prefix,
      jobs,
      difference: away.reduce((most, each) => (Math.abs(each) > Math.abs(most) ? each : most), 0),
    };
  });
  return rows.sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
}

/** What keeps tasks from being compared, where some job has them. */
export function prefixNotes(reports: readonly Report[]): string[] {
  const without = reports.filter(({ dask }) => dask === undefined).map(({ job }) => job.id);
  if (without.length === reports.length) return [];
  const cut = reports.filter(({ dask }) => dask?.more_prefixes !== undefined).map(({ job }) => job.id);
  return [
    ...(without.length > 0 ? [`no Dask tasks were recorded of ${without.join(', ')}`] : []),
    ...(cut.length > 0 ? [`only the 200 prefixes that took most time are compared of ${cut.join(', ')}`] : []),
  ];
}

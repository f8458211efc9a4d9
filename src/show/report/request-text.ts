import type { Report } from '../../judge/report-schema.ts';

/** Without anything that was asked for there is only what was used. */
export const requestText = ({ job }: Pick<Report, 'job'>): string =>
  Object.keys(job.asked).length > 0 ? 'Asked for and used' : 'Used';

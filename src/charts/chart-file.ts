/** What the file of a chart is called, whoever makes it: the job, the chart, the kind. */
export const chartFile = (job: string, chart: string, kind: string): string =>
  `${job}-${chart}.${kind}`.replaceAll(/[^\w.-]/g, '_');

/** Sonar's times have a zone, and up to nine digits of a second. Epoch microseconds, whole milliseconds. */
export function sonarMoment(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text)) return undefined;
  const milliseconds = Date.parse(text.replace(/(\.\d{3})\d+/, '$1'));
  return Number.isNaN(milliseconds) ? undefined : milliseconds * 1000;
}

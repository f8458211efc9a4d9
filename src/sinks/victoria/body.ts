/** The samples of one row's columns: all numbers of a disk, a GPU, a process. Columns mostly have the same times. */
export interface Group {
  /** `,"node":"c1","disk":"sda"`: the labels behind the name, as JSON. */
  readonly labels: string;
  rows: number;
  /** `,1700000000000,…` */
  times: string;
  /** For each metric its values in the same form, and its own times when it lacks some. */
  readonly values: string[];
  readonly own: (string | undefined)[];
}

/** A name as it begins a line, worked out once for each metric of a table. */
export const lineHead = (name: string): string => `{"metric":{"__name__":${JSON.stringify(name)}`;

export function newGroup(labels: string, metrics: number): Group {
  return { labels, rows: 0, times: '', values: new Array(metrics).fill(''), own: new Array(metrics).fill(undefined) };
}

/** Labels as JSON, to stand behind the name; an empty label is no label. */
export function labelJson(labels: Iterable<readonly [string, string]>): string {
  let text = '';
  for (const [name, value] of labels) if (value !== '') text += `,${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return text;
}

/**
 * What is sent to VictoriaMetrics' /api/v1/import: a line of JSON for each series, with all of its new samples.
 * Ten samples of 290 series: a third of the bytes on the wire, and three quarters of the work, that lines of the
 * Prometheus text format (one for each sample) are.
 */
export class ImportBody {
  samples = 0;
  /** About how long the text will be. */
  size = 0;
  private readonly filled: { heads: readonly string[]; group: Group }[] = [];
  private singles = '';

  /** Begins a row: `value` follows for each metric. */
  row(heads: readonly string[], group: Group, time: number): void {
    if (group.rows === 0) this.filled.push({ heads, group });
    group.rows++;
    group.times += `,${time}`;
    this.size += 14;
  }

  /** The value of a metric in the row that was begun; NaN is no sample. */
  value(group: Group, metric: number, value: number, time: number): void {
    if (Number.isNaN(value)) {
      // from now on it has times of its own: those before this row
      group.own[metric] ??= group.times.slice(0, group.times.lastIndexOf(','));
      return;
    }
    const text = `,${value}`;
    group.values[metric] += text;
    if (group.own[metric] !== undefined) group.own[metric] += `,${time}`;
    this.samples++;
    this.size += text.length + 14;
  }

  /** One sample of a series of its own. */
  single(name: string, labels: string, value: number, time: number): void {
    const line = `${lineHead(name)}${labels}},"values":[${value}],"timestamps":[${time}]}\n`;
    this.singles += line;
    this.samples++;
    this.size += line.length;
  }

  /** The text; the groups are empty afterwards. */
  take(): string {
    let text = this.singles;
    for (const { heads, group } of this.filled) {
      for (let m = 0; m < heads.length; m++) {
        const values = group.values[m]!;
        if (values === '') continue;
        const times = group.own[m] ?? group.times;
        text += `${heads[m]}${group.labels}},"values":[${values.slice(1)}],"timestamps":[${times.slice(1)}]}\n`;
      }
      group.values.fill('');
      group.own.fill(undefined);
      group.times = '';
      group.rows = 0;
    }
    this.filled.length = 0;
    this.singles = '';
    this.samples = 0;
    this.size = 0;
    return text;
  }
}

import { formatMoment } from '../../base/moment.ts';
import { count, figure, listed } from '../../base/readable.ts';
import { type Model, modelTables } from '../../judge/models/model.ts';
import { spreadOf } from '../../judge/outliers/spread.ts';
import { paint } from '../terminal/paint.ts';
import { printable, right, textTable, wrap } from '../terminal/text-table.ts';
import { featureCell } from './feature-cell.ts';

interface Page {
  stream?: { readonly isTTY?: boolean | undefined };
  width?: number;
}

const operationsOf = (model: Model): string[] => [...modelTables(model).keys()].filter((name) => name !== '');

/** What a model is, in one line. */
export function modelLine(models: readonly Model[]): string {
  return models
    .map((model) => {
      const features = modelTables(model).get('')!.features.size;
      const modelTexts = [
        count(model.jobs.length, 'job'),
        count(features, 'feature'),
        count(operationsOf(model).length, 'operation'),
      ];
      return `model ${model.name}: ${modelTexts.join(', ')}${model.enabled ? '' : ', disabled'}\n`;
    })
    .join('');
}

/** Models as a table. */
export function modelList(models: readonly Model[], page: Page = {}): string {
  const [heads, ...lines] = textTable(
    [
      { head: 'model', most: 30, shrinks: true },
      { head: 'state' },
      { head: 'jobs', align: 'right' },
      { head: 'operations', align: 'right', spare: 2 },
      { head: 'created', spare: 1 },
      { head: 'note', most: 40, spare: 3 },
    ],
    models.map((model) => [
      model.name,
      model.enabled ? 'enabled' : 'disabled',
      figure(model.jobs.length),
      figure(operationsOf(model).length),
      formatMoment(model.created),
      printable(model.note ?? ''),
    ]),
    page.width ?? 80,
  );
  return `${[paint(page.stream ?? {}).dim(heads ?? ''), ...lines].join('\n')}\n`;
}

/** A model with its jobs, and how its features spread. */
export function modelText(models: readonly Model[], page: Page = {}): string {
  const pen = paint(page.stream ?? {});
  const width = page.width ?? 80;
  return models
    .map((model) => {
      const lines = [`${pen.bold(`model ${model.name}`)}${model.enabled ? '' : ', disabled'}`];
      if (model.note !== undefined) lines.push(...wrap(printable(model.note), width));
      lines.push(`created ${formatMoment(model.created)}`);
      const ids = model.jobs.map(({ id }) => printable(id));
      lines.push(...wrap(`${count(ids.length, 'job')}: ${listed(ids, 20)}`, width));
      const operations = operationsOf(model).map(printable);
      if (operations.length > 0)
        lines.push(...wrap(`${count(operations.length, 'operation')}: ${listed(operations, 20)}`, width));
      const rows: string[][] = [];
      for (const [feature, values] of modelTables(model).get('')!.features) {
        const spread = spreadOf(values);
        if (spread === undefined) continue;
        const { median, median_distance, min, max } = spread;
        rows.push([feature, ...[median, median_distance, min, max].map((value) => featureCell(feature, value))]);
      }
      const [heads, ...table] = textTable(
        [{ head: 'feature', most: 30, shrinks: true }, right('median'), right('MAD'), right('least'), right('most')],
        rows,
        width,
      );
      return `${[...lines, '', pen.dim(heads ?? ''), ...table].join('\n')}\n`;
    })
    .join('\n');
}

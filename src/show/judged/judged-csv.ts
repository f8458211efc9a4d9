import type { Exploration } from '../../judge/explore/explore.ts';
import type { Cause, PartCause } from '../../judge/models/cause.ts';
import { type Model, modelTables } from '../../judge/models/model.ts';
import type { Outliers } from '../../judge/outliers/outliers.ts';
import { spreadOf } from '../../judge/outliers/spread.ts';
import type { Vote } from '../../judge/outliers/votes.ts';
import { threadName } from '../../query/processes/thread-name.ts';
import { objectCsv } from '../object-csv.ts';

const OUTLIER = ['of', 'group', 'job', 'node', 'pid', 'tid', 'start', 'command', 'outlier', 'excess'];
const VOTE = ['feature', 'value', 'median', 'apart', 'method', 'score', 'threshold', 'vote', 'cannot'];

/** A row a vote; methods that look at features together name none. */
export function outliersCsv(outliersFound: Outliers): string {
  const rows: object[] = [];
  for (const { name, outliers, others } of outliersFound.groups) {
    for (const one of [...outliers, ...others]) {
      const thread = one.tid === undefined ? {} : { tid: threadName(one.tid) };
      const about = { ...one, ...thread, of: outliersFound.of, group: name };
      const add = (votes: readonly Vote[], what: object): void => {
        for (const vote of votes) rows.push({ ...about, ...what, ...vote });
      };
      for (const { feature, value, median, apart, votes } of one.features)
        add(votes, { feature, value, median, apart });
      add(one.together, { apart: one.together_apart });
    }
  }
  return objectCsv([...OUTLIER, ...VOTE], rows);
}

/** A row a job or time segment of a component; segments that are missing have neither jobs nor a value. */
export function exploreCsv({ experiment, metric, components }: Exploration): string {
  return objectCsv(
    ['experiment', 'component', 'segment', 'jobs', 'metric', 'value', 'share', 'stars', 'votes', 'recordings'],
    components.flatMap(({ component, entries, missing }) => [
      ...entries.map((entry) => ({
        experiment,
        component,
        metric,
        ...entry,
        jobs: entry.jobs.join(' '),
        recordings: entry.recordings.join(' '),
      })),
      ...missing.map((segment) => ({ experiment, component, metric, segment })),
    ]),
  );
}

/** A row a feature, first of the whole job, then of each operation. */
export function causeCsv(cause: Cause): string {
  const rows = ({ name, features }: PartCause): object[] =>
    features.map((one) => ({
      job: cause.job,
      recording: cause.recording,
      model: cause.model,
      operation: name,
      ...one.reference,
      ...one,
    }));
  return objectCsv(
    [
      'job',
      'model',
      'operation',
      'feature',
      'value',
      'median',
      'min',
      'max',
      'largest_distance',
      'distance',
      'ratio',
      'recording',
    ],
    [cause.whole, ...cause.operations].flatMap(rows),
  );
}

export function modelListCsv(models: readonly Model[]): string {
  return objectCsv(
    ['model', 'enabled', 'created', 'jobs', 'operations', 'tag', 'note'],
    models.map((model) => ({
      ...model,
      model: model.name,
      jobs: model.jobs.length,
      operations: modelTables(model).size - 1,
    })),
  );
}

/** A row a feature, first of whole jobs, then of each operation. */
export function modelCsv(model: Model): string {
  const rows = [...modelTables(model)].flatMap(([operation, table]) =>
    [...table.features].map(([feature, values]) => ({ model: model.name, operation, feature, ...spreadOf(values) })),
  );
  const spread = ['count', 'min', 'q1', 'median', 'q3', 'max', 'mean', 'deviation', 'median_distance'];
  return objectCsv(['model', 'operation', 'feature', ...spread], rows);
}

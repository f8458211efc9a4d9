import { Fault, usage } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import type { FeatureTable } from '../outliers/feature-table.ts';
import { type Features, featureTable, jobFeatures } from '../outliers/features.ts';
import type { MeasuredJob } from '../outliers/measured-job.ts';
import { FEWEST_REFERENCES } from '../outliers/univariate.ts';

/** The version of a stored model. A reader refuses a higher one. */
export const MODEL_FORMAT = 1;

/** Jobs that say what is usual, with their features: nothing else of them is needed later. */
export interface Model {
  format: number;
  name: string;
  /** One that is disabled is kept, and not used. */
  enabled: boolean;
  /** Epoch microseconds. */
  created: number;
  note?: string;
  /** The tags that operations go by, separated by commas; without it the usual one. */
  tag?: string;
  /** Only these features count; without it all. */
  features?: string[];
  /** By method, the score above which it votes, where it is not the usual one. */
  thresholds?: Record<string, number>;
  jobs: ModelJob[];
}

export interface ModelJob {
  id: string;
  name: string;
  /** Epoch microseconds. */
  start: number;
  tags: Readonly<Record<string, string>>;
  features: Record<string, number>;
  /** By the operation's name. */
  operations: Record<string, Record<string, number>>;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Names are names of files, and are typed. */
export function checkModelName(name: string): void {
  if (NAME.test(name)) return;
  throw usage(
    `"${name.slice(0, 80)}" cannot be the name of a model`,
    'letters, digits, dots, dashes and underscores; 64 of them at most',
  );
}

export interface ModelOptions extends Pick<Model, 'features' | 'thresholds'> {
  note?: string;
  tag?: string;
  /** Epoch microseconds. */
  now: number;
  progress?: () => void;
}

/** Learns a model from jobs. */
export async function createModel(name: string, jobs: readonly MeasuredJob[], options: ModelOptions): Promise<Model> {
  checkModelName(name);
  if (jobs.length < FEWEST_REFERENCES) {
    const there = `${jobs.length} ${jobs.length === 1 ? 'was' : 'were'} given`;
    throw new Fault(`a model needs at least ${FEWEST_REFERENCES} jobs: ${there}`, {
      hint: 'fewer do not say how much is usual; ten or more say it well',
    });
  }
  const learned: ModelJob[] = [];
  for (const one of jobs) {
    const { job, operations } = await jobFeatures(one, stated({ tags: modelTags(options) }));
    const { id, name: title, start, tags } = one.job;
    learned.push({
      id,
      name: title,
      start,
      tags,
      features: Object.fromEntries(job),
      operations: Object.fromEntries([...operations].map(([key, features]) => [key, Object.fromEntries(features)])),
    });
    options.progress?.();
  }
  return {
    format: MODEL_FORMAT,
    name,
    enabled: true,
    created: options.now,
    ...stated({ note: options.note, tag: options.tag, features: options.features, thresholds: options.thresholds }),
    jobs: learned,
  };
}

/** The tags that operations of a model go by, as `operationsOf` takes them. */
export const modelTags = ({ tag }: Pick<Model, 'tag'>): string[] | undefined => tag?.split(',');

/** What is usual: '' for the job, "op:build" for an operation. */
export function modelTables(model: Model): Map<string, FeatureTable> {
  const rows = new Map<string, Features[]>([['', model.jobs.map(({ features }) => new Map(Object.entries(features)))]]);
  for (const { operations } of model.jobs) {
    for (const [name, features] of Object.entries(operations)) {
      const existingRows = rows.get(name);
      const row = new Map(Object.entries(features));
      if (existingRows === undefined) rows.set(name, [row]);
      else existingRows.push(row);
    }
  }
  return new Map([...rows].map(([name, all]) => [name, featureTable(all)]));
}

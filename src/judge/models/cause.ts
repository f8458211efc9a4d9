import type { FeatureTable } from '../outliers/feature-table.ts';
import { distinctFeatures, type Features, type JobFeatures } from '../outliers/features.ts';
import { type Spread, spreadOf } from '../outliers/spread.ts';
import { FEWEST_REFERENCES } from '../outliers/univariate.ts';
import { LEAST_PART } from '../outliers/votes.ts';
import { type Model, modelTables } from './model.ts';

/** How far one feature of a job lies outside the reference. */
export interface FeatureCause {
  feature: string;
  value: number;
  /** How its values lie in the reference. */
  reference: Spread;
  /** From the reference's median. */
  distance: number;
  /** The distance over the largest distance in the reference: above 1 is further out than any; Infinity when the reference does not vary. */
  ratio: number;
  /** Further out than any of the reference, and by enough to matter. */
  outside: boolean;
}

export interface PartCause {
  /** '' is the whole job, else the operation. */
  name: string;
  /** Reference jobs that have it. */
  reference: number;
  /** Furthest outside first; where the reference does not vary, by how much the value differs from it. */
  features: FeatureCause[];
}

export interface Cause {
  job: string;
  /** Where the job was recorded. */
  recording?: string;
  model: string;
  /** The job itself belongs to the baseline. */
  in_model?: true;
  whole: PartCause;
  /** Those that took longest beyond the usual first. */
  operations: PartCause[];
  /** In every reference job, and not in this one. */
  missing: string[];
  /** In this job, and in no reference job. */
  added: string[];
  /** In fewer reference jobs than it takes to say what is usual. */
  rare: string[];
}

/** Why a job differs from the reference: its features, and those of its operations, by how far outside they lie. */
export function causeOf(job: string, jobFeatures: JobFeatures, model: Model): Cause {
  const tables = modelTables(model);
  const operations: PartCause[] = [];
  const added: string[] = [];
  const rare: string[] = [];
  for (const [name, features] of jobFeatures.operations) {
    const table = tables.get(name);
    if (table === undefined) added.push(name);
    else if (table.rows < FEWEST_REFERENCES) rare.push(name);
    else operations.push(partCause(name, features, table, model.features));
  }
  const excess = ({ features }: PartCause): number => {
    const duration = features.find(({ feature }) => feature === 'duration');
    return duration === undefined ? 0 : duration.value - duration.reference.median;
  };
  return {
    job,
    model: model.name,
    whole: partCause('', jobFeatures.job, tables.get('')!, model.features),
    operations: operations.sort((a, b) => excess(b) - excess(a)),
    missing: [...tables]
      .filter(([name, table]) => name !== '' && table.rows === model.jobs.length && !jobFeatures.operations.has(name))
      .map(([name]) => name),
    added,
    rare,
  };
}

function partCause(name: string, features: Features, table: FeatureTable, only?: readonly string[]): PartCause {
  const featureCauses: FeatureCause[] = [];
  for (const feature of only ?? distinctFeatures(features.keys())) {
    const value = features.get(feature);
    if (value === undefined) continue;
    const values = table.features.get(feature);
    const reference = values === undefined ? undefined : spreadOf(values);
    if (reference === undefined || reference.count < FEWEST_REFERENCES) continue;
    const distance = Math.abs(value - reference.median);
    const ratio = distance === 0 ? 0 : distance / reference.largest_distance;
    const outside = ratio > 1 && distance >= LEAST_PART * Math.abs(reference.median);
    featureCauses.push({ feature, value, reference, distance, ratio, outside });
  }
  // what never varied has no measure of its own: after what has, by its relative difference
  const varies = ({ reference }: FeatureCause): number => (reference.largest_distance > 0 ? 0 : 1);
  const relative = ({ distance, reference }: FeatureCause): number => distance / Math.abs(reference.median);
  featureCauses.sort(
    (a, b) =>
      Number(b.outside) - Number(a.outside) ||
      varies(a) - varies(b) ||
      (varies(a) === 0 ? b.ratio - a.ratio : compare(relative(b), relative(a))),
  );
  return { name, reference: table.rows, features: featureCauses };
}

/** Infinity is as far as Infinity; NaN (0 of 0) comes last. */
const compare = (a: number, b: number): number => (a === b ? 0 : (a || 0) - (b || 0));

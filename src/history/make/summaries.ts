import { stated } from '../../base/stated.ts';
import { gather } from '../../judge/facts/gather.ts';
import { type Features, processFeaturesOfJob } from '../../judge/outliers/features.ts';
import { readKept } from '../../judge/outliers/features-file.ts';
import { isSampled, reportFeatures } from '../../judge/outliers/measured-features.ts';
import { report } from '../../judge/report.ts';
import type { Report } from '../../judge/report-schema.ts';
import type { RuleSettings } from '../../judge/rules/shared/settings.ts';
import type { Material } from '../../query/material.ts';
import { readColumns } from '../../query/processes/processes.ts';
import { isFleet } from '../../recording/folder/fleet.ts';
import type { Recording } from '../../recording/folder/open.ts';
import { silentEnd } from '../../recording/folder/silent-end.ts';
import type { RecordingSummaries } from '../tables/summary.ts';
import { summariesOfFindings, summariesOfNodes, summaryOfJob } from './job-summary.ts';
import { nodeHoursOf } from './node-hours.ts';

export interface SummariesOptions {
  /** Its path below the archive. */
  recording?: string;
  /** Epoch microseconds. */
  now?: number;
  /** Also what its nodes did in every hour, which reads the samples. */
  nodeHours?: boolean;
  /** The rules as the configuration has them. */
  rules?: RuleSettings;
}

/** What one recording adds to the history; a day of a node that records itself adds its hours alone. */
export function summariesOf(opened: Recording, options: SummariesOptions = {}): RecordingSummaries {
  const { recording = '', now = Date.now() * 1000 } = options;
  const ended = opened.job.end === undefined ? silentEnd(opened, now) : undefined;
  const whole = ended === undefined ? opened : { ...opened, job: ended };
  const material = gather(whole, { now });
  if (isFleet(whole.job))
    return { jobs: [], job_nodes: [], node_hours: nodeHoursOf(material, recording), findings: [] };
  const made = report(material, options.rules);
  return summariesFrom(made, material, recording, featuresOf(whole, made, material), options.nodeHours);
}

/** What the job is compared with others by: kept with the recording, or from what was just read. */
function featuresOf(whole: Recording, made: Report, { processes }: Material): Features {
  const kept = readKept(whole);
  if (kept !== undefined) return kept.job;
  const measured = isSampled(whole) ? reportFeatures(made) : new Map();
  return processFeaturesOfJob(processes ?? readColumns([whole]), measured);
}

/** The same of a job whose report is at hand. */
export function summariesFrom(
  made: Report,
  material: Material,
  recording: string,
  features: Features,
  nodeHours = true,
): RecordingSummaries {
  return {
    jobs: [{ ...summaryOfJob(made, material, recording), ...stated({ features: jsonOf(features) }) }],
    job_nodes: summariesOfNodes(made, recording),
    node_hours: nodeHours ? nodeHoursOf(material, recording) : [],
    findings: summariesOfFindings(made, recording),
  };
}

const jsonOf = (features: Features): string | undefined =>
  features.size === 0 ? undefined : JSON.stringify(Object.fromEntries(features));

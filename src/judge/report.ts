import { stated } from '../base/stated.ts';
import { largest, type Material, sum, wholeOf } from '../query/material.ts';
import type { Job } from '../recording/folder/job.ts';
import { costOf } from './facts/cost.ts';
import { curvesOf } from './facts/curves.ts';
import { daskReport } from './facts/dask.ts';
import { flowsOf } from './facts/flows.ts';
import { gpusOf } from './facts/gpus.ts';
import { nodesOf } from './facts/nodes.ts';
import { figuresOf, phasePartsOf } from './facts/phases.ts';
import { operationReports, recordsOf } from './facts/process-records.ts';
import { processesOf } from './facts/processes.ts';
import { programsOf } from './facts/programs.ts';
import { qualityOf } from './facts/quality.ts';
import { rankReports } from './facts/ranks.ts';
import { markStragglers } from './facts/stragglers.ts';
import { summaryOf, useOf } from './facts/summary.ts';
import { unmeasuredOf } from './facts/unmeasured.ts';
import { workOf } from './facts/work.ts';
import type { Facts, JobReport, PhaseReport, RecordsReport, Report, Unmeasured } from './report-schema.ts';
import { rules } from './rules/index.ts';
import { findingsOf } from './rules/shared/judge.ts';
import { questionsOf } from './rules/shared/questions.ts';
import type { RuleSettings } from './rules/shared/settings.ts';
import { failedSteps } from './rules/shared/steps.ts';
import { brieflySampledOf, sampledOnce, unsampledOf } from './use/unrecorded-time.ts';

/** The version of the report object; docs/report.schema.json describes it. */
export const REPORT_FORMAT = 1;

/** Judges one recording, with the rules as the configuration has them. */
export function report(material: Material, settings?: RuleSettings): Report {
  const { range } = material;
  const gpus = gpusOf(material);
  const nodes = nodesOf(material, gpus);
  markStragglers(nodes, gpus);
  const summary = summaryOf(material, nodes, gpus);
  const records = recordsOf(material, nodes);
  const operations = operationReports(material);
  const ranks = rankReports(material);
  const facts: Facts = {
    format: REPORT_FORMAT,
    recording: material.path,
    ...(range === undefined
      ? {}
      : {
          confined: {
            what: range.what,
            ...(range.from === undefined ? {} : { from: range.from }),
            ...(range.to === undefined ? {} : { to: range.to }),
          },
        }),
    job: jobOf(material),
    summary,
    nodes,
    gpus,
    processes: processesOf(material),
    programs: programsOf(material, summary.cpu_seconds),
    ...stated({ work: workOf(material, summary.cpu_seconds) }),
    ...(records === undefined ? {} : { records }),
    ...(operations === undefined ? {} : { operations }),
    ...(ranks === undefined ? {} : { ranks }),
    ...stated({ dask: daskReport(material) }),
    flows: flowsOf(material),
    ...stated({ curves: curvesOf(material, nodes) }),
    phases: measuredPhases(material),
    figures: figuresOf(material),
    quality: qualityOf(material, nodes, summary.wall_seconds),
    cost: costOf(material, summary.cpus),
  };
  const questions = questionsOf(material);
  const damaged = material.damage?.length;
  let judged = findingsOf(rules, { ...facts, ...questions }, settings);
  // threads are read when a rule asks for them: only then is it known that columns of them are damaged
  if (material.damage?.length !== damaged) {
    facts.quality = qualityOf(material, nodes, summary.wall_seconds);
    judged = findingsOf(rules, { ...facts, ...questions }, settings);
  }
  const { findings, checks } = judged;
  return {
    ...facts,
    findings,
    checks,
    unmeasured: [
      ...unsampledOf(material, nodes, summary.wall_seconds),
      ...brieflySampledOf(material, nodes, summary.wall_seconds),
      ...unmeasuredOf(material, checks),
      ...sampledOnce(material, nodes),
      ...unexplained(records),
    ],
  };
}

/** Records say what they explain only where somebody else counted, too. */
function unexplained(records: RecordsReport | undefined): Unmeasured[] {
  if (records === undefined || records.unexplained !== undefined) return [];
  return [
    {
      what: 'CPU time that no process record explains',
      why: 'neither a cgroup of its own nor wait4 counted the CPU time of the whole job',
    },
  ];
}

/** The phases, with what each one used when its tables were read. */
function measuredPhases(material: Material): PhaseReport[] {
  return phasePartsOf(material).map(({ phase, intervals }, i) => {
    const nodes = material.phaseTables?.[i];
    if (nodes === undefined) return phase;
    const step = material.range?.step;
    const [from, to] = [intervals[0]![0], intervals.at(-1)![1]];
    const several = intervals.length > 1 ? { intervals } : {};
    const own = step === undefined ? {} : { step: { ...step, whole: false } };
    const range = { what: phase.name, from, to, ...several, ...own };
    const phaseMaterial: Material = { ...material, nodes, range, whole: wholeOf(material) };
    const gpus = gpusOf(phaseMaterial);
    const recordedNodes = nodesOf(phaseMaterial, gpus, true);
    const used = useOf(phaseMaterial, recordedNodes, gpus);
    if (used.cpu_utilization !== undefined) phase.cpu_utilization = used.cpu_utilization;
    if (used.cpu_utilization !== undefined && used.cpu_source !== undefined) phase.cpu_source = used.cpu_source;
    if (used.gpu_utilization !== undefined) phase.gpu_utilization = used.gpu_utilization;
    const watts = sum(recordedNodes.map((n) => n.energy_joules! / n.recorded_seconds!));
    if (watts !== undefined) phase.power_watts = watts;
    return phase;
  });
}

/** What the report says of the job; job.json has more. */
const JOB_FIELDS = [
  'id',
  'name',
  'user',
  'scheduler',
  'cluster',
  'account',
  'partition',
  'command',
  'directory',
  'asked',
  'nodes',
  'interval_seconds',
  'submit',
  'start',
  'end',
  'state',
  'exit_code',
  'signal',
  'reason',
  'memory_kills',
  'tags',
  'annotations',
  'imported',
  'environment',
] as const;

function jobOf({ job, range }: Material): JobReport {
  const definedFields = JOB_FIELDS.filter((field) => job[field] !== undefined).map((field) => [field, job[field]]);
  const failed = failedSteps(job.steps ?? []);
  const steps = job.steps === undefined ? {} : { steps: job.steps.length };
  return {
    ...Object.fromEntries(definedFields),
    ...(job.restart ? { restart: job.restart } : {}),
    ...(range === undefined ? commandUse(job) : {}),
    ...steps,
    ...stated({ slurm_max_rss_bytes: largest((job.steps ?? []).map((step) => step.max_rss_bytes)) }),
    ...(failed.length === 0 ? {} : { failed_steps: failed }),
  } as JobReport;
}

function commandUse({ usage, nodes }: Job): Pick<JobReport, 'command_use'> {
  if (usage === undefined || (nodes.length <= 1 && usage.elsewhere !== true)) return {};
  const { user_seconds, system_seconds, max_rss_bytes } = usage;
  const most = max_rss_bytes === undefined ? {} : { max_rss_bytes };
  return { command_use: { cpu_seconds: user_seconds + system_seconds, ...most } };
}

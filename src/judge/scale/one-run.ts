import { count, cpusFigure, figure, percent } from '../../base/readable.ts';
import { formatBytes } from '../../base/size.ts';
import { stated } from '../../base/stated.ts';
import type { Material } from '../../query/material.ts';
import type { Report } from '../report-schema.ts';
import { type Limit, type LimitName, limitsOf } from './limits.ts';
import { type Profile, profileOf } from './profile.ts';

/** What more of something would bring, at most. */
export interface Gain {
  what: string;
  /** yes: it may. no: it would not. unknown: nobody can say. */
  helps: 'yes' | 'no' | 'unknown';
  /** How many times as fast, at most; not there: no bound can be given. */
  at_most?: number;
  text: string;
}

/** What one run says about how the program would scale. */
export interface OneRun {
  job: string;
  recording: string;
  name: string;
  program: string;
  wall_seconds: number;
  cpus?: number;
  cpus_busy?: number;
  profile?: Profile;
  limits: Limit[];
  /** What holds it up most, in the order of weight. */
  saturated: LimitName[];
  gains: Gain[];
}

export function oneRun(material: Material, report: Report, program: string): OneRun {
  const { job, summary, recording } = report;
  const profile = profileOf(material, report);
  const limits = limitsOf(material, report, profile);
  return {
    job: job.id,
    recording,
    name: job.name,
    program,
    wall_seconds: summary.wall_seconds,
    ...stated({ cpus: profile?.cpus ?? summary.cpus, cpus_busy: summary.cpus_busy, profile }),
    limits,
    saturated: limits.filter(({ state }) => state === 'saturated').map(({ what }) => what),
    gains: gainsOf(report, profile, limits),
  };
}

/** Speed-up by so many times as many, when this share of the time gains nothing. */
const amdahlGain = (fixed: number, times: number): number => 1 / (fixed + (1 - fixed) / times);

function gainsOf(report: Report, profile: Profile | undefined, limits: readonly Limit[]): Gain[] {
  const of = (what: LimitName): Limit => limits.find((limit) => limit.what === what)!;
  return [
    coresGain(report, profile, of('cores')),
    memoryGain(report, of('memory')),
    storageGain(of('disk')),
    networkGain(of('network')),
    ...gpuGain(report, of('GPU')),
  ];
}

/** Less is no gain. */
const WORTH = 1.05;
/** From here on cores stood idle most of the time: more of them would, too. */
const IDLE = 0.5;

function coresGain({ summary }: Report, profile: Profile | undefined, cores: Limit): Gain {
  const what = 'cores';
  if (profile === undefined) {
    const { cpu_utilization: use, cpus, cpus_busy: busy } = summary;
    if (use === undefined || cpus === undefined) return { what, helps: 'unknown', text: 'CPU time was not measured' };
    if (use < IDLE && cores.state === 'saturated')
      return { what, helps: 'unknown', text: 'its threads waited for the CPUs that it has: first let it have those' };
    if (cpus > 1 && use < IDLE)
      return {
        what,
        helps: 'no',
        text: `${cpusFigure(busy!)} of ${count(cpus, 'CPU')} were busy: more would be idle, too`,
      };
    return {
      what,
      helps: use >= IDLE ? 'unknown' : 'no',
      text:
        use < IDLE
          ? `its one CPU was busy ${percent(use)} of the time: it waits for something else`
          : cpus === 1
            ? 'one core was busy; whether the program can use more, a run on two cores tells'
            : 'they were busy; how much of that is serial is not known',
    };
  }
  const fixed = profile.serial.low;
  const twice = amdahlGain(fixed, 2);
  const ever = fixed > 0 ? 1 / fixed : undefined;
  const at = `${figure(profile.cpus * 2)} instead of ${figure(profile.cpus)}`;
  const all = profile.levels === undefined ? undefined : profile.levels.all / profile.seconds;
  if (all !== undefined && (cores.state === 'free' || (all < 0.1 && (summary.cpu_utilization ?? 0) < IDLE)))
    return {
      what,
      helps: 'no',
      text: `all of its CPUs were wanted in only ${percent(all)} of the time: more would be idle`,
    };
  if (twice < WORTH)
    return {
      what,
      helps: 'no',
      text: `no more than one thread ran in ${percent(fixed)} of the time: more would be idle`,
    };
  const end = ever === undefined ? 'no serial phase was found' : `any number: at most ${figure(ever)} times`;
  return {
    what,
    helps: 'yes',
    at_most: twice,
    text: `${at}: at most ${figure(twice)} times as fast; ${end}`,
  };
}

function memoryGain({ summary }: Report, memory: Limit): Gain {
  const what = 'memory';
  if (memory.state === 'unknown') return { what, helps: 'unknown', text: memory.text };
  if (memory.state === 'saturated')
    return { what, helps: 'yes', text: `${memory.text}: with more, or with larger problems, it needs more` };
  const peak = summary.memory_peak_bytes!;
  const room = Math.floor(summary.memory_limit_bytes! / peak);
  const times = room > 100 ? 'more than 100' : String(room);
  const more = room >= 2 ? `; a problem with ${times} times the memory would fit` : '';
  return { what, helps: 'no', text: `${formatBytes(peak)} were enough${more}` };
}

/** What waits for a resource in a share of the time can gain that share, however fast it gets. */
function waitingGain(what: string, limit: Limit): Gain {
  if (limit.state === 'unknown') return { what, helps: 'unknown', text: limit.text };
  const use = Math.min(0.99, limit.use ?? 0);
  if (limit.state === 'free') return { what, helps: 'no', text: limit.text };
  return {
    what,
    helps: 'yes',
    at_most: 1 / (1 - use),
    text: `${limit.text}: however fast, at most ${figure(1 / (1 - use))} times as fast`,
  };
}

const storageGain = (disk: Limit): Gain => waitingGain('faster storage', disk);
const networkGain = (network: Limit): Gain => waitingGain('faster network', network);

function gpuGain({ summary }: Report, gpu: Limit): Gain[] {
  const what = 'GPUs';
  if (gpu.state === 'none') return [];
  if (gpu.state === 'unknown') return [{ what, helps: 'unknown', text: gpu.text }];
  const use = gpu.use!;
  const cards = count(summary.gpus ?? summary.gpus_measured ?? 1, 'GPU');
  if (use < IDLE) return [{ what, helps: 'no', text: `${cards} ${percent(use)} busy: feed them first` }];
  const twice = amdahlGain(1 - use, 2);
  return [
    { what, helps: 'yes', at_most: twice, text: `twice as many: at most ${figure(twice)} times as fast (${gpu.text})` },
  ];
}

import { figure, percent } from '../../base/readable.ts';
import { median } from '../../query/material.ts';
import { outliers } from '../outliers/peers.ts';
import type { GpuReport, NodeReport } from '../report-schema.ts';
import { comparable, gpuMean, measuredSeconds } from '../use/recorded-time.ts';

/** Ten points of utilisation: less is ordinary variation between the ranks of one program. */
const UTILIZATION_APART = 0.1;

/** A tenth of the peers' power: cards of one model differ by a few per cent under the same load. */
const POWER_APART = 0.1;

/** A twentieth of the peers' clock: boost clocks of healthy cards differ by less. */
const CLOCK_APART = 0.05;

/** A card below this all the time did nothing; it is idle, not slow. */
export const IDLE_UTILIZATION = 0.01;

/** Whether a card did nothing: even its busiest twentieth of the time stayed below a hundredth. */
export function isIdle(gpu: GpuReport, idle = IDLE_UTILIZATION): boolean {
  const busiest = gpu.utilization_p95 ?? gpu.utilization_max;
  return busiest !== undefined && busiest < idle && (gpu.utilization_mean ?? 0) < idle;
}

/** Writes into nodes and GPUs why they are unlike their peers. */
export function markStragglers(all: NodeReport[], gpus: GpuReport[]): void {
  const nodes = comparable(all, measuredSeconds);
  const active = gpus.filter((g) => g.own !== false && !isIdle(g));
  const working = comparable(active, (g) => g.recorded_seconds);
  const middlePower = working.map((g) => g.power_mean_watts);
  const middleClock = working.map((g) => g.clock_mean_mhz);
  const apart = (
    values: readonly (number | undefined)[],
    floor: number,
    say: (value: number, peers: number) => string,
  ) => {
    for (const o of outliers(values, floor)) {
      const gpu = working[o.index]!;
      gpu.straggler = [...(gpu.straggler ?? []), say(o.value, o.median)];
    }
  };
  apart(
    working.map((g) => g.utilization_mean),
    UTILIZATION_APART,
    (v, m) => `utilisation ${percent(v)}, others ${percent(m)}`,
  );
  const typical = (values: readonly (number | undefined)[]): number => median(values) ?? 0;
  apart(middlePower, POWER_APART * typical(middlePower), (v, m) => `power ${figure(v)} W, others ${figure(m)} W`);
  apart(middleClock, CLOCK_APART * typical(middleClock), (v, m) => `clock ${figure(v)} MHz, others ${figure(m)} MHz`);

  const mark = (values: readonly (number | undefined)[], say: (value: number, peers: number) => string) => {
    for (const o of outliers(values, UTILIZATION_APART)) {
      const node = nodes[o.index]!;
      node.straggler = [...(node.straggler ?? []), say(o.value, o.median)];
    }
  };
  mark(
    nodes.map((n) => n.cpu_utilization),
    (v, m) => `CPU ${percent(v)}, others ${percent(m)}`,
  );
  mark(
    nodes.map((n) =>
      gpuMean(
        working.filter((g) => g.node === n.node),
        'utilization_mean',
      ),
    ),
    (v, m) => `GPU ${percent(v)}, others ${percent(m)}`,
  );
  mark(
    nodes.map((n) =>
      n.memory_peak_bytes === undefined || n.memory_limit_bytes === undefined
        ? undefined
        : n.memory_peak_bytes / n.memory_limit_bytes,
    ),
    (v, m) => `memory ${percent(v)}, others ${percent(m)}`,
  );
  for (const node of all) {
    const here = working.filter((g) => g.node === node.node);
    const slow = here.filter((g) => g.straggler !== undefined);
    if (slow.length > 0) node.unlike_gpus = slow.length;
    const idle = gpus.filter((g) => g.node === node.node && g.own !== false && isIdle(g)).length;
    if (idle > 0) node.idle_gpus = idle;
  }
}

/* Made by npm run docs from the files of this folder. */

import checkpointShare from './checkpoint-share.ts';
import clockSkew from './clock-skew.ts';
import coreIdle from './core-idle.ts';
import cpuBinding from './cpu-binding.ts';
import cpuOversubscribed from './cpu-oversubscribed.ts';
import cpuSerial from './cpu-serial.ts';
import cpuStarved from './cpu-starved.ts';
import cpuSteal from './cpu-steal.ts';
import cpuThermal from './cpu-thermal.ts';
import cpuThrottled from './cpu-throttled.ts';
import cpuUnderused from './cpu-underused.ts';
import daskGpuIdle from './dask-gpu-idle.ts';
import daskHugeGraph from './dask-huge-graph.ts';
import daskIdleWorkers from './dask-idle-workers.ts';
import daskRecomputed from './dask-recomputed.ts';
import daskSpilling from './dask-spilling.ts';
import daskStragglers from './dask-stragglers.ts';
import daskTinyTasks from './dask-tiny-tasks.ts';
import daskTransfers from './dask-transfers.ts';
import daskWorkersDied from './dask-workers-died.ts';
import failingChildren from './failing-children.ts';
import gpuErrors from './gpu-errors.ts';
import gpuIdleAfterUse from './gpu-idle-after-use.ts';
import gpuImbalance from './gpu-imbalance.ts';
import gpuLink from './gpu-link.ts';
import gpuLost from './gpu-lost.ts';
import gpuLow from './gpu-low.ts';
import gpuOverpowered from './gpu-overpowered.ts';
import gpuPartlyUsed from './gpu-partly-used.ts';
import gpuStarved from './gpu-starved.ts';
import gpuThrottled from './gpu-throttled.ts';
import gpuUnused from './gpu-unused.ts';
import ioWait from './io-wait.ts';
import jobFailed from './job-failed.ts';
import leftRunning from './left-running.ts';
import lockContention from './lock-contention.ts';
import memoryFigures from './memory-figures.ts';
import memoryGrowing from './memory-growing.ts';
import memoryNearLimit from './memory-near-limit.ts';
import memoryUnused from './memory-unused.ts';
import metadataStorm from './metadata-storm.ts';
import networkBound from './network-bound.ts';
import noProgress from './no-progress.ts';
import nodeIdle from './node-idle.ts';
import nodeImbalance from './node-imbalance.ts';
import nodeLost from './node-lost.ts';
import orphanedProcesses from './orphaned-processes.ts';
import outOfMemory from './out-of-memory.ts';
import phasesSlower from './phases-slower.ts';
import processImbalance from './process-imbalance.ts';
import processLimit from './process-limit.ts';
import rankBinding from './rank-binding.ts';
import rankDied from './rank-died.ts';
import rankImbalance from './rank-imbalance.ts';
import rankOversubscribed from './rank-oversubscribed.ts';
import recordingGaps from './recording-gaps.ts';
import recordingQuality from './recording-quality.ts';
import scatteredNodes from './scattered-nodes.ts';
import type { Rule } from './shared/rule.ts';
import shortProcesses from './short-processes.ts';
import slowEnd from './slow-end.ts';
import slowFileSystem from './slow-file-system.ts';
import slowStart from './slow-start.ts';
import slowWorker from './slow-worker.ts';
import smallIo from './small-io.ts';
import stepFailed from './step-failed.ts';
import swap from './swap.ts';
import threadImbalance from './thread-imbalance.ts';
import timeLimit from './time-limit.ts';
import zombies from './zombies.ts';

const all: readonly Rule[] = [
  checkpointShare,
  clockSkew,
  coreIdle,
  cpuBinding,
  cpuOversubscribed,
  cpuSerial,
  cpuStarved,
  cpuSteal,
  cpuThermal,
  cpuThrottled,
  cpuUnderused,
  daskGpuIdle,
  daskHugeGraph,
  daskIdleWorkers,
  daskRecomputed,
  daskSpilling,
  daskStragglers,
  daskTinyTasks,
  daskTransfers,
  daskWorkersDied,
  failingChildren,
  gpuErrors,
  gpuIdleAfterUse,
  gpuImbalance,
  gpuLink,
  gpuLost,
  gpuLow,
  gpuOverpowered,
  gpuPartlyUsed,
  gpuStarved,
  gpuThrottled,
  gpuUnused,
  ioWait,
  jobFailed,
  leftRunning,
  lockContention,
  memoryFigures,
  memoryGrowing,
  memoryNearLimit,
  memoryUnused,
  metadataStorm,
  networkBound,
  noProgress,
  nodeIdle,
  nodeImbalance,
  nodeLost,
  orphanedProcesses,
  outOfMemory,
  phasesSlower,
  processImbalance,
  processLimit,
  rankBinding,
  rankDied,
  rankImbalance,
  rankOversubscribed,
  recordingGaps,
  recordingQuality,
  scatteredNodes,
  shortProcesses,
  slowEnd,
  slowFileSystem,
  slowStart,
  slowWorker,
  smallIo,
  stepFailed,
  swap,
  threadImbalance,
  timeLimit,
  zombies,
];

/** Everything that the judge looks for, in the order of the reference. */
export const rules: readonly Rule[] = all.toSorted((a, b) => a.order - b.order);

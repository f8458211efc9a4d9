import { Fault, reason } from '../base/fault.ts';
import { type ClusterAddress, findCluster, inProcessText } from './address.ts';
import type { SamplerOptions } from './code/worker.ts';
import type { Certificates } from './comm.ts';
import type { Listener, Way } from './events.ts';
import { openCalls } from './ways/calls.ts';
import { openEventStream } from './ways/event-stream.ts';
import { NoFeed, openFeed } from './ways/feed.ts';

export interface WayOptions extends SamplerOptions {
  readonly certificates: Certificates;
  /** Run no code on the cluster. */
  readonly readOnly: boolean;
  readonly say?: (text: string) => void;
}

export interface OpenedWay {
  way: Way;
  cluster: ClusterAddress;
  /** Why better ways were not taken, in words. */
  passed: string[];
}

/** The best way into the cluster that it allows. */
export async function openWay(given: string, options: WayOptions, listener: Listener): Promise<OpenedWay> {
  const cluster = await findCluster(given);
  const passed: string[] = [];
  const { scheduler, dashboard, inProcess } = cluster;
  if (inProcess !== undefined) passed.push(inProcessText(inProcess));
  if (scheduler !== undefined) {
    try {
      if (options.readOnly) passed.push('--read-only: no code is run on the cluster');
      else {
        try {
          return { cluster, passed, way: await openFeed(scheduler, options, listener) };
        } catch (error) {
          if (!(error instanceof NoFeed)) throw error;
          passed.push(error.message);
        }
      }
      const way = await openCalls(scheduler, options, listener);
      return { cluster, passed, way };
    } catch (error) {
      if (dashboard === undefined || !(error instanceof Fault)) throw error;
      // which certificates to name, not whether it runs
      passed.push([reason(error), ...(scheduler.secure ? [error.hint ?? []].flat() : [])].join('; '));
    }
  }
  return { cluster, passed, way: await openEventStream(dashboard!, listener) };
}

import { z } from 'zod';
import { expandHostlist } from '../../base/hostlist.ts';
import { stated } from '../../base/stated.ts';
import { maySee, type Viewer } from '../access/viewer.ts';
import { type ListedJob, type NodeJob, type NodeList, nodeJob, nodeList } from '../api.ts';
import type { Server } from '../server.ts';

/** Of so many running jobs it is asked what their nodes do now. */
const MOST_RUNNING = 50;

/** Who runs where: own jobs by name, others only as load. */
export function nodeRoutes({ app, open, everybody, watch }: Server): void {
  app.get(
    '/api/nodes',
    { schema: { response: { 200: nodeList }, summary: 'Every node: who ran there when, and what it does now' } },
    async ({ viewer }): Promise<NodeList> => {
      const { jobs } = await everybody();
      const timed = jobs.flatMap((job) => nodeJobOf(viewer, job) ?? []);
      const nodes = [...new Set(timed.flatMap((job) => job.nodes))].sort(byNumber);
      const running = jobs.filter((job) => job.state === 'running' && nodeJobOf(viewer, job) !== undefined);
      return {
        nodes,
        jobs: timed,
        now: await nowOf(running.slice(0, MOST_RUNNING), watch.open),
        time: Date.now() * 1000,
      };
    },
  );
  app.get(
    '/api/jobs/:id/neighbours',
    {
      schema: {
        params: z.strictObject({ id: z.string() }),
        response: { 200: z.array(nodeJob) },
        summary: 'Other jobs on the nodes of a job while it ran',
      },
    },
    async ({ params: { id }, viewer }): Promise<NodeJob[]> => {
      const { recording, material } = await open(viewer, id);
      const { start, nodes, end = material.now } = recording.job;
      const own = new Set(nodes);
      const { jobs } = await everybody();
      return jobs.flatMap((job): NodeJob[] => {
        // one recording may be here twice, by a link: a job is not its own neighbour
        const isSame = job.id === id || (job.job === recording.job.id && job.start === start);
        const other = isSame ? undefined : nodeJobOf(viewer, job);
        if (other === undefined || other.from >= end || (other.to ?? material.now) <= start) return [];
        const shared = other.nodes.filter((node) => own.has(node));
        return shared.length === 0 ? [] : [{ ...other, nodes: shared }];
      });
    },
  );
}

/** c2 comes before c10. */
const byNumber = (a: string, b: string): number => a.localeCompare(b, 'en', { numeric: true });

function nodeJobOf(viewer: Viewer, job: ListedJob): NodeJob | undefined {
  const { start: from, end: to, hosts, cpus, cpu_use, gpu_use, nodes } = job;
  if (from === undefined || hosts === undefined) return undefined;
  const load = {
    nodes: expandHostlist(hosts),
    from,
    ...(job.state === 'running' ? {} : stated({ to })),
    ...stated({ cpus: cpus === undefined ? undefined : cpus / Math.max(1, nodes), cpu_use, gpu_use }),
  };
  // somebody who has but a link to a job learns nothing of others
  if (viewer.kind === 'guest' && !maySee(viewer, job)) return undefined;
  return maySee(viewer, job) ? { ...load, id: job.id, job: job.job, name: job.name, user: job.user } : load;
}

async function nowOf(running: readonly ListedJob[], open: Server['watch']['open']): Promise<NodeList['now']> {
  const now = new Map<string, NodeList['now'][number]>();
  for (const { id } of running) {
    const job = await open(id).catch(() => undefined);
    for (const node of job?.report().nodes ?? []) {
      const { last_sample: last, status, cpu_utilization: cpu_use, memory_peak_bytes: memory_bytes } = node;
      const before = now.get(node.node);
      if (before !== undefined && (before.last ?? 0) > (last ?? 0)) continue;
      const gpu_use = node.gpu_utilization;
      now.set(node.node, { node: node.node, status, ...stated({ last, cpu_use, memory_bytes, gpu_use }) });
    }
  }
  return [...now.values()];
}

import { count, listed } from '../../base/readable.ts';
import { high } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { rule, together } from './shared/rule.ts';

export default rule({
  id: 'left-running',
  title: 'processes that outlived the job',
  help: 'Processes of the job were still running when its recording ended (the service’s: after the job; `tacho run`: after the command): daemons, or what was put into the background. Of `tacho run` and `tacho start` only those that began after these are named.',
  kind: 'trouble',
  order: 600,
  isExact: true,
  needs: [
    {
      what: 'the table process',
      has: ({ nodes }) => nodes.some(({ left_running }) => left_running !== undefined),
      otherwise: { skipped: 'nobody looked for the job’s processes when its recording ended' },
    },
  ],
  thresholds: {},
  when({ nodes }) {
    return together(nodes.flatMap(({ node, left_running = [] }) => left_running.map((each) => ({ node, ...each }))));
  },
  severity: 'warning',
  say(left) {
    const names = [...new Set(left.map(({ command }) => command.split(' ')[0]!.replace(/.*\//, '')))];
    return `${count(left.length, 'process', 'processes')} still running when the recording ended: ${listed(names)}`;
  },
  evidence: (left) => [
    ...shown(left).map(({ node, pid, command, user }) => ({
      text: `${node}: ${command} (process ${pid} of ${user})`,
      from: 'agent.json',
      node,
      value: pid,
    })),
    { text: 'the job’s figures end there: what they use afterwards is not in them', from: 'job.json' },
  ],
  advise: 'Wait for it, or end it, before the job script ends: it takes CPUs and memory from whoever comes next.',
  confidence: high('found by the agent after its last sample'),
});

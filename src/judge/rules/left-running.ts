import { count, listed } from '../../base/words.ts';
import type { Check } from './finding.ts';

export const leftRunning: Check = {
  id: 'left-running',
  title: 'processes that outlived the job',
  help: 'Processes of the job were still running when its recording ended (the service’s: after the job; `tacho run`: after the command): daemons, or what was put into the background. Of `tacho run` and `tacho start` only those that began after these are named.',
  needs: 'the table process',
  kind: 'trouble',
  look(facts) {
    if (facts.nodes.every(({ left_running }) => left_running === undefined)) {
      return { skipped: 'nobody looked for the job’s processes when its recording ended' };
    }
    const left = facts.nodes.flatMap(({ node, left_running = [] }) => left_running.map((each) => ({ node, ...each })));
    if (left.length === 0) return [];
    const names = [...new Set(left.map(({ command }) => command.split(' ')[0]!.replace(/.*\//, '')))];
    return [
      {
        id: 'left-running',
        severity: 'warning',
        text: `${count(left.length, 'process', 'processes')} still running when the recording ended: ${listed(names)}`,
        evidence: [
          ...left.slice(0, 8).map(({ node, pid, command, user }) => ({
            text: `${node}: ${command} (process ${pid} of ${user})`,
            from: 'agent.json',
            node,
            value: pid,
          })),
          { text: 'the job’s figures end there: what they use afterwards is not in them', from: 'job.json' },
        ],
        advice: 'Wait for it, or end it, before the job script ends: it takes CPUs and memory from whoever comes next.',
        confidence: 'high',
        confidence_reason: 'seen by the agent after its last sample',
      },
    ];
  },
};

import * as os from 'node:os';
import { commandLine } from '../../base/quote.ts';
import { defined, type Environment } from './command.ts';
import type { Launcher, Scheduler } from './scheduler.ts';

/** No scheduler: this machine, or machines that ssh reaches. */
export const local: Scheduler = {
  name: 'none',
  detect: () => undefined,
  facts: async () => ({ id: '', nodes: [os.hostname()], asked: {} }),
  launch(plan) {
    const env = defined(plan.env);
    return plan.nodes.map((node) => (isHere(node) ? here : ssh)(plan.on(node), node, env));
  },
  stop: async () => 'signal the launcher',
  state: async () => undefined,
};

export function isHere(node: string): boolean {
  const name = os.hostname();
  return ['localhost', '127.0.0.1', '::1'].includes(node) || node === name || node === name.split('.')[0];
}

/** The node that this process is on, by whichever name the scheduler has for it. */
export const isThisNode = (node: string, env: Environment): boolean => isHere(node) || node === env.SLURMD_NODENAME;

function here(argv: string[], node: string, env: Launcher['env']): Launcher {
  return { command: argv[0]!, args: argv.slice(1), nodes: [node], env };
}

/** When ssh ends, for whatever reason, the far end's standard input ends, and with it the agent. */
function ssh(argv: string[], node: string, env: Launcher['env']): Launcher {
  const options = ['-T', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=10', '-o', 'ServerAliveInterval=15'];
  const far = commandLine([...argv, '--lifeline']);
  return {
    command: 'ssh',
    args: [...options, '--', node, `exec ${far}`],
    nodes: [node],
    env,
    lifeline: true,
  };
}

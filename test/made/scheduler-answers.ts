import * as fs from 'node:fs';
import * as path from 'node:path';
import type { CommandResult, Environment, Run } from '../../src/jobs/schedulers/command.ts';
import type { LaunchPlan } from '../../src/jobs/schedulers/scheduler.ts';

const FOLDER = path.join(import.meta.dirname, '../fixtures/scheduler-answers');

export const recorded = (name: string): string => fs.readFileSync(path.join(FOLDER, name), 'utf8');

/** For tests: commands answer with a recorded file (by name) or as given; one that is not listed is not installed. */
export function answers(outputs: Record<string, string | CommandResult>): { run: Run; asked: string[] } {
  const asked: string[] = [];
  const run: Run = async (command, args) => {
    const line = [command, ...args].join(' ');
    asked.push(line);
    const output = outputs[line];
    if (output === undefined) return { stdout: '', trouble: `${command} is not installed` };
    return typeof output === 'string' ? { stdout: recorded(output) } : output;
  };
  return { run, asked };
}

/** For tests: a plan whose commands say only what they are. */
export function planFor(nodes: readonly string[], env: Environment): LaunchPlan {
  return {
    nodes,
    jobNodes: nodes,
    on: (node) => [`on ${node}`],
    everywhere: (name) => [`everywhere ${name}`],
    env,
  };
}

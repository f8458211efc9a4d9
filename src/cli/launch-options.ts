import type { Command } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { usage } from '../base/fault.ts';

export interface LaunchOptions {
  hosts?: string[];
  allowMissing?: number;
  /** Seconds. */
  timeout?: number;
}

/** The flags of what starts agents on nodes: `start` and `run`. */
export function launchOptions(command: Command, usual: { missing: string; timeout: string }): Command {
  return command
    .option('--hosts <names>', 'record these machines, separated by commas (by ssh outside of a scheduler)', hosts)
    .option('--allow-missing <nodes>', `go on if up to N nodes do not record (default: ${usual.missing})`, nodes)
    .option(
      '--timeout <duration>',
      `how long to wait for the first samples (default: ${usual.timeout})`,
      parseDuration,
    );
}

/** Letters, digits and what else addresses and user@machine have: a name is part of a path and of ssh's arguments. */
const MACHINE = /^[\p{L}\p{N}_:][\p{L}\p{N}_.:@%-]*$/u;

/** An empty list is a variable that was not set: this machine is not what was meant. */
function hosts(text: string, all: readonly string[] = []): string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  if (names.length === 0) throw usage(`--hosts "${text}" names no machine`, 'it is a list such as --hosts c1,c2');
  const odd = names.find((name) => !MACHINE.test(name));
  if (odd !== undefined)
    throw usage(`--hosts: "${odd}" is not the name of a machine`, 'it is a list such as --hosts c1,c2');
  return [...all, ...names];
}

function nodes(text: string): number {
  if (!/^\d+$/.test(text)) throw usage(`"${text}" is not a number of nodes`);
  return Number(text);
}

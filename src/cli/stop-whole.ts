import * as fs from 'node:fs';
import * as path from 'node:path';

/** What is known of a recording once its agents have ended. */
export interface StoppedRecording {
  recording: string;
  /** No agent can be writing any more. */
  over: boolean;
  /** CPU seconds of this process that are counted among Tacho's commands in the job. */
  noted: number;
}

/** Says to the whole program that the part of it that came before, in this process, has ended the agents (scripts/start.cjs). */
const STOPPED = 'TACHO_STOPPED';

/** In the part of a release that runs inside jobs it stands for `finish` of stop-finish.ts (scripts/bundle.ts): the whole
 * program takes the place of this part, now that no agent beside it takes memory. */
export async function finish(stopped: StoppedRecording): Promise<never> {
  const { execPath, execArgv, argv, pid } = process;
  const environment = { ...firstEnvironment(), [STOPPED]: JSON.stringify({ ...stopped, pid }) };
  return process.execve!(execPath, [execPath, ...execArgv, path.resolve(argv[1]!), ...argv.slice(2)], environment);
}

/** What the part that came before has done. Undefined: there was none. */
export function takeStopped(): StoppedRecording | undefined {
  const text = process.env[STOPPED];
  delete process.env[STOPPED];
  if (text === undefined) return undefined;
  const { pid, ...stopped } = JSON.parse(text) as StoppedRecording & { pid: number };
  return pid === process.pid ? stopped : undefined;
}

/** The environment that this process was started with: some of it main.ts has taken away. */
function firstEnvironment(): NodeJS.ProcessEnv {
  try {
    const pairs = fs.readFileSync('/proc/self/environ', 'utf8').split('\0').filter(Boolean);
    return Object.fromEntries(
      pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
    );
  } catch {
    // a container may hide the file
    return process.env;
  }
}

import { spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../src/base/fault.ts';
import type { HubProcess } from './hub.ts';

const ROOT = path.join(import.meta.dirname, '../..');

export interface ShortJob {
  /** Seconds from the beginning of the prolog to the first row. */
  first: number;
  /** Seconds to when the row was in the hub's archive. */
  arrived: number;
  /** Rows between the job's begin and its end, one a second expected. */
  samples: number;
}

/** A job of so many seconds with the hooks of Slurm, a real agent service and a real hub. */
export async function measureShortJob(folder: string, hub: HubProcess, seconds: number): Promise<ShortJob> {
  // an agent wants folders of its own, and another one records this machine already
  const own = fs.mkdtempSync(path.join(folder, 'short-job-'));
  const spool = path.join(own, 'spool');
  const jobs = path.join(own, 'jobs');
  const env = { ...process.env, TACHO_SERVICE_JOBS: jobs };
  const agentOptions = ['--spool', spool, '--jobs', jobs, '--hooks-only', '--node', 'c1', '--hub', hub.address];
  const agent = spawn(path.join(ROOT, 'tacho'), ['agent', ...agentOptions], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    for (let i = 0; i < 200 && !fs.existsSync(path.join(spool, '.agent.json')); i++) await pause(50);
    await pause(1000);
    if (agent.exitCode !== null) throw new Fault(`the agent of the short job ended with ${agent.exitCode}`);
    const { username, uid } = os.userInfo();
    const facts = { SLURM_JOB_ID: '30', SLURM_JOB_UID: `${uid}`, SLURM_JOB_USER: username, SLURM_NODELIST: 'c1' };
    const hook = (name: string, more: Record<string, string>): unknown =>
      spawnSync('/bin/sh', [path.join(ROOT, 'packaging/slurm', name)], { env: { ...env, ...more } });
    const begun = Date.now();
    hook('prolog.sh', facts);
    const file = path.join(hub.archive, `user=${username}/job=30/node=c1/meminfo.csv`);
    const run = new Promise((resolve) =>
      spawn('sleep', [String(seconds)], { env: { ...env, SLURM_JOB_ID: '30' } }).once('exit', resolve),
    );
    let arrived = Number.NaN;
    for (let i = 0; i < 500 && Number.isNaN(arrived); i++) {
      if (timesIn(file).length > 0) arrived = (Date.now() - begun) / 1000;
      else await pause(20);
    }
    await run;
    const over = Date.now();
    // before the recording is sealed, and after the last tick has come
    await pause(700);
    const times = timesIn(file).filter((time) => time <= over * 1000 + 500_000);
    hook('epilog.sh', { SLURM_JOB_ID: '30', SLURM_JOB_EXIT_CODE2: '0:0' });
    return { first: ((times[0] ?? Number.NaN) - begun * 1000) / 1e6, arrived, samples: times.length };
  } finally {
    const ended = new Promise((resolve) => agent.once('exit', resolve));
    agent.kill('SIGTERM');
    await Promise.race([ended, pause(10_000)]);
    agent.kill('SIGKILL');
  }
}

function timesIn(file: string): number[] {
  let text: string;
  try {
    text = fs.readFileSync(file, 'latin1');
  } catch {
    // not there yet
    return [];
  }
  return [...text.matchAll(/^(\d+),/gm)].map(([, time]) => Number(time));
}

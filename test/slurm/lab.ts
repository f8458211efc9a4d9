import { execFile, execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Job } from '../../src/recording/folder/job.ts';
import { eventually } from '../made/eventually.ts';

const CLUSTER = path.join(import.meta.dirname, 'cluster');
const execute = promisify(execFile);

/** Slurm's words for a job that has not ended. */
const UNFINISHED = ['PENDING', 'RUNNING', 'COMPLETING', 'CONFIGURING', 'SUSPENDED', 'REQUEUED'];

export type User = 'tacho-a' | 'tacho-b' | 'tacho-c';

/** Why there can be no cluster on this machine; false: there can. */
export function whyNot(): string | false {
  if (process.platform !== 'linux') return 'Slurm needs Linux';
  if (process.getuid!() !== 0) return 'a Slurm of its own needs root';
  if (spawnSync('dpkg-query', ['--version']).status !== 0) return "Slurm is installed from Debian's packages";
  if (spawnSync('unshare', ['--uts', '--mount', '--pid', '--net', '--fork', 'true']).status !== 0) {
    return 'this machine does not allow namespaces';
  }
  const installed = spawnSync(CLUSTER, ['packages'], { encoding: 'utf8' });
  if (installed.status !== 0)
    return `Slurm's packages cannot be installed: ${installed.stderr.trim().split('\n').at(-1)}`;
  return false;
}

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

/** A running cluster of the given number of nodes. */
export class Lab {
  folder = '';

  /** `options`: see cluster. */
  up(nodes: number, ...options: ('cgroup' | 'hooks' | 'french')[]): void {
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-slurm-'));
    // a test that ends badly, or before its time, leaves no cluster behind
    process.once('exit', () => this.down());
    this.cluster('up', String(nodes), ...options);
  }

  private cluster(command: string, ...args: string[]): void {
    execFileSync(CLUSTER, [command, this.folder, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  }

  /** What a node and the hub send each other vanishes. */
  cut(node: string): void {
    this.cluster('cut', node);
  }

  mend(node: string): void {
    this.cluster('mend', node);
  }

  /** Tacho's hub on the login node. Returns when it receives. */
  hub(...options: string[]): void {
    this.cluster('hub', ...options);
  }

  /** Tacho's agent on a node. Returns when it records. */
  agent(node: string, ...options: string[]): void {
    this.cluster('agent', node, ...options);
  }

  /** Ends a node's agent, or the hub (node login). */
  signal(node: string, signal: 'KILL' | 'TERM'): void {
    this.cluster('signal', node, signal);
  }

  down(): void {
    if (this.folder === '') return;
    execFileSync(CLUSTER, ['down', this.folder], { stdio: 'inherit' });
    fs.rmSync(this.folder, { recursive: true, force: true });
    this.folder = '';
  }

  /** A command of bash in an allocation of all three nodes. */
  salloc(user: User, command: string): Promise<Ran> {
    return this.on('login', user, 'salloc', '-Q', '-N3', '-n3', '-t5', 'bash', '-c', command);
  }

  /** Runs a command on a node; never throws for its exit code. */
  async on(node: string, user: User | 'root', command: string, ...args: string[]): Promise<Ran> {
    const init = read(this.folder, 'run', `${node}.init`).trim();
    if (init === '') throw new Error(`${node} is not up`);
    // what `cluster run` does, without a dozen processes for each
    const enter = ['--target', init, '--uts', '--mount', '--ipc', '--pid', '--net', '--'];
    const asUser = [path.join(this.folder, 'etc/as-user'), this.folder, user];
    const env = { PATH: process.env.PATH, LANG: read(this.folder, 'etc/locale').trim() || 'C.UTF-8' };
    try {
      const { stdout, stderr } = await execute('nsenter', [...enter, ...asUser, command, ...args], { env });
      return { code: 0, stdout, stderr };
    } catch (error) {
      const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
      return { code, stdout, stderr };
    }
  }

  /** What an agent that is told of jobs by Slurm's hooks has of a job's table on its node, unless it is sent by now. */
  spooled(node: string, id: string, table: string): string {
    return read(this.folder, 'spool', node, 'var/tacho', `job-${id}`, `node=${node}`, `${table}.csv`);
  }

  /** A folder of its own for a test, in the user's home. */
  async workFolder(user: User, name: string): Promise<string> {
    const workFolder = path.join(this.folder, 'home', user, name);
    await this.on('login', user, 'mkdir', workFolder);
    return workFolder;
  }

  /** Submits a batch script and returns the job's id; its output is in `out` in the folder. */
  async submit(user: User, workFolder: string, script: string, ...options: string[]): Promise<string> {
    const file = path.join(workFolder, 'job.sh');
    fs.writeFileSync(file, `#!/bin/bash\n${script}\n`, { mode: 0o755 });
    const { stdout, stderr } = await this.on(
      'login',
      user,
      'sbatch',
      '--parsable',
      `--chdir=${workFolder}`,
      '--output=out',
      ...options,
      file,
    );
    if (!/^\d+/.test(stdout)) throw new Error(`sbatch: ${stderr}`);
    return stdout.trim();
  }

  private asking: Promise<Ran> | undefined;

  /** What Slurm says of all jobs, four times a second, however many wait for the end of theirs. */
  private jobs(): Promise<Ran> {
    this.asking ??= sleep(250).then(() => {
      this.asking = undefined;
      return this.on('login', 'root', 'scontrol', '--oneliner', 'show', 'jobs');
    });
    return this.asking;
  }

  /** Waits until the job, a task of an array (12_1) or all of its tasks have ended, and returns Slurm's word for how. */
  async ended(id: string): Promise<string> {
    let last = '';
    const task = id.replace('_', ' ArrayTaskId=');
    const ofJob = new RegExp(`^JobId=(?:${id}|\\d+ ArrayJobId=${task}) .*`, 'gm');
    const state = async (): Promise<string | undefined> => {
      // Slurm with much to do may give no answer
      const { stdout, stderr } = await this.jobs();
      last = [...(stdout.match(ofJob) ?? []), stderr].join('\n');
      const states = Array.from(last.matchAll(/ JobState=(\w+)/g), ([, word]) => word!);
      return states.some((word) => UNFINISHED.includes(word)) ? undefined : states[0];
    };
    return eventually(() => `the end of job ${id}: ${last}`, state, 600);
  }

  crash(node: string): void {
    this.cluster('crash', node);
  }

  boot(node: string): void {
    this.cluster('boot', node);
  }

  /** A recording in the hub's archive. */
  archived(user: User, name: string): string {
    return path.join(this.folder, 'archive', `user=${user}`, `job=${name}`);
  }

  /** Of a node, in the network of the cluster. */
  address(node: string): string {
    return new RegExp(`^(\\S+) ${node}$`, 'm').exec(read(this.folder, 'etc/hosts'))![1]!;
  }

  /** Every process of a user on a node. */
  async processes(node: string, user: User): Promise<string[]> {
    const { stdout } = await this.on(node, 'root', 'ps', '-o', 'args=', '-u', user);
    return stdout.split('\n').filter(Boolean);
  }
}

let shared: Lab | undefined;

/**
 * The cluster of this process, with the nodes c1 to c5, which ends with it: test files that share a process share it
 * (scripts/test.ts), and have folders of their own in the homes of its users.
 */
export function sharedLab(): Lab {
  if (shared === undefined) {
    shared = new Lab();
    shared.up(5);
  }
  return shared;
}

export const readJob = (recording: string): Job =>
  JSON.parse(fs.readFileSync(path.join(recording, 'job.json'), 'utf8')) as Job;

export const read = (...names: string[]): string => {
  try {
    return fs.readFileSync(path.join(...names), 'utf8');
  } catch {
    return '';
  }
};

import { execFile, execFileSync, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { promisify } from 'node:util';
import type { Report } from '../../src/judge/report-schema.ts';
import { eventually } from '../made/eventually.ts';
import { Lab, read } from '../slurm/lab.ts';
import { TACHO } from '../tacho.ts';
import { has } from '../truth/ground.ts';
import type { Cause, Recording } from './cause.ts';
import { cgroupWith } from './cgroup.ts';
import { SHORTEST_SECONDS } from './shortest.ts';

const LONG_SECONDS = SHORTEST_SECONDS + 1;
/** A case that takes longer hangs. */
const LIMIT_SECONDS = 300;
const NODES = 4;
const USER = 'tacho-a';
const HERE = import.meta.dirname;
const execute = promisify(execFile);

/** Where cases are recorded: a folder, the programs that they run, and a Slurm as soon as one is needed. */
export class Stage {
  readonly folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-causes-'));
  private readonly bin = path.join(this.folder, 'bin');
  private lab: Lab | undefined;
  private cluster: Promise<Lab> | undefined;
  private readonly running = new Set<number>();

  constructor() {
    fs.chmodSync(this.folder, 0o755);
    fs.mkdirSync(this.bin);
    const sources = [path.join(HERE, '../truth/job.c'), ...fs.globSync(path.join(HERE, 'programs/*'))];
    if (has('cc')) for (const source of sources) this.provide(source);
    fs.writeFileSync(path.join(this.bin, 'tacho'), `#!/bin/sh\nexec '${TACHO}' "$@"\n`, { mode: 0o755 });
    this.provideLibrary('libnvml.so', '../fake-gpu/fake_nvml.c');
    this.provideLibrary('libclock.so', '../clock/set_clock.c');
  }

  private provideLibrary(name: string, source: string): void {
    const args = ['-shared', '-fPIC', '-O1', '-w', '-o', path.join(this.bin, name), path.join(HERE, source)];
    spawnSync('cc', args, { stdio: 'inherit' });
  }

  private provide(source: string): void {
    const { name, ext } = path.parse(source);
    const program = path.join(this.bin, name);
    if (ext === '.c') spawnSync('cc', ['-O1', '-pthread', '-o', program, source, '-lm'], { stdio: 'inherit' });
    else {
      fs.copyFileSync(source, program);
      fs.chmodSync(program, 0o755);
    }
  }

  /** Records a case for real, and returns what Tacho reports of it. `cpu`: the one that it is bound to, if it is. */
  async record(cause: Cause, cpu = 0): Promise<Report> {
    return cause.recorded?.slurm === undefined ? this.recordHere(cause, cpu) : this.recordInSlurm(cause);
  }

  private async recordHere({ name, script, recorded = {} }: Cause, cpu: number): Promise<Report> {
    const own = path.join(this.folder, fileName(name));
    fs.mkdirSync(own);
    fs.writeFileSync(path.join(own, 'case.sh'), script);
    const cpus = recorded.cpus === undefined ? {} : { cpu };
    const cgroup = cgroupWith({ ...recorded, ...cpus });
    const inner = cgroupWith({ memory: recorded.inner, swap: recorded.swap });
    const env = {
      ...cleanEnvironment(),
      ...this.settingsOf(own, this.bin, recorded),
      PATH: this.pathOf(this.bin),
      INNER: inner.folders.join(' '),
    };
    const swap = recorded.swap === undefined ? undefined : addSwap(this.folder, recorded.swap);
    const on = recorded.cpus === undefined ? [] : ['taskset', '-c', String(cpu)];
    const beside =
      recorded.beside === undefined
        ? undefined
        : this.start([...cgroup.command, ...on, 'bash', '-c', recorded.beside], { cwd: own, env });
    try {
      const command = [TACHO, ...runOptions(script, recorded), '--', 'bash', 'case.sh'];
      const within = recorded.within === undefined ? [] : recorded.within.split(' ');
      await this.finished(this.start([...cgroup.command, ...on, ...within, ...command], { cwd: own, env }));
    } finally {
      if (beside !== undefined) this.end(beside.pid!);
      inner.remove();
      cgroup.remove();
      swap?.remove();
    }
    const { stdout } = await execute(TACHO, ['report', path.join(own, 'rec'), '--format', 'json'], {
      env,
      maxBuffer: 1 << 28,
    });
    return JSON.parse(stdout) as Report;
  }

  private async recordInSlurm({ name, script, recorded = {} }: Cause): Promise<Report> {
    const lab = await this.slurm();
    const own = await lab.workFolder(USER, fileName(name));
    fs.writeFileSync(path.join(own, 'case.sh'), script);
    const bin = path.join(lab.folder, 'home/bin');
    const set = Object.entries({ ...this.settingsOf(own, bin, recorded), PATH: `${bin}:$PATH` });
    const record = `tacho ${runOptions(script, recorded).join(' ')} --timeout 60s --`;
    const batch = [
      ...set.map(([key, value]) => `export ${key}="${value}"`),
      `RECORD="${record}"`,
      recorded.batch ?? `${record} bash case.sh`,
    ].join('\n');
    const id = await lab.submit(USER, own, batch, ...recorded.slurm!);
    if (recorded.crash !== undefined) {
      const { node } = recorded.crash;
      const samples = (): number => read(own, `rec/node=${node}/loadavg.csv`).split('\n').length;
      await eventually(`samples of ${node}`, () => samples() > 8);
      lab.crash(node);
    }
    await lab.ended(id);
    if (recorded.crash !== undefined) lab.boot(recorded.crash.node);
    const agents = (): string[] => fs.globSync(path.join(own, 'rec/node=*/agent.json'));
    const isOver = (file: string): boolean =>
      file.includes(`node=${recorded.crash?.node}/`) || read(file).includes('"end"');
    await eventually(`the end of the agents of ${name}: ${read(own, 'out')}`, () => agents().every(isOver), 60).catch(
      () => {},
    );
    const { stdout, stderr } = await lab.on(
      'login',
      USER,
      'tacho',
      'report',
      `${own}/rec`,
      '--config',
      `${own}/tacho.toml`,
      '--format',
      'json',
    );
    if (stdout === '') throw new Error(`${stderr}${read(own, 'out')}`);
    return JSON.parse(stdout) as Report;
  }

  /** The cluster, started when somebody asks first. That takes the CPUs for some seconds: not while a case is recorded. */
  slurm(): Promise<Lab> {
    this.cluster ??= this.startSlurm();
    return this.cluster;
  }

  private async startSlurm(): Promise<Lab> {
    this.lab = new Lab();
    this.lab.up(NODES);
    fs.cpSync(this.bin, path.join(this.lab.folder, 'home/bin'), { recursive: true });
    // the first start on a node takes longest
    for (let i = 1; i <= NODES; i++)
      await this.lab.on(`c${i}`, USER, 'tacho', 'run', '--no-report', '-o', '/tmp/first', '--', 'true');
    return this.lab;
  }

  private pathOf(bin: string): string {
    return `${bin}:${process.env.PATH}:/usr/sbin:/sbin`;
  }

  /** What a job finds in its environment, and Tacho beside it. */
  private settingsOf(own: string, bin: string, { gpus, env, rules = '' }: Recording): Record<string, string> {
    const configuration = path.join(own, 'tacho.toml');
    fs.writeFileSync(configuration, `[rules]\nshortest = "${SHORTEST_SECONDS}s"\n${rules}`);
    const settings: Record<string, string> = {
      LONG: String(LONG_SECONDS),
      TACHO,
      TACHO_CONFIG: configuration,
      ...env,
    };
    if (gpus === undefined) return settings;
    fs.writeFileSync(path.join(own, 'cards'), gpus);
    const cards = Number(/^cards (\d+)$/m.exec(gpus)?.[1] ?? 1);
    return {
      // the job's are all of them, unless it says otherwise
      CUDA_VISIBLE_DEVICES: Array.from({ length: cards }, (_, i) => i).join(','),
      ...settings,
      TACHO_NVML: `${bin}/libnvml.so`,
      FAKE_GPU_NVML: path.join(own, 'cards'),
    };
  }

  /** In a session of its own, so that all of it can be ended. */
  private start(command: readonly string[], options: SpawnOptions): ReturnType<typeof spawn> {
    const child = spawn(command[0]!, command.slice(1), { ...options, stdio: 'ignore', detached: true });
    if (child.pid !== undefined) this.running.add(child.pid);
    return child;
  }

  private async finished(child: ReturnType<typeof spawn>): Promise<void> {
    const over = setTimeout(() => this.end(child.pid!), LIMIT_SECONDS * 1000);
    try {
      await new Promise<void>((resolve, reject) => {
        child.once('error', reject);
        child.once('exit', () => resolve());
      });
    } finally {
      clearTimeout(over);
      // what the job left behind, too
      this.end(child.pid!);
    }
  }

  private end(pid: number): void {
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // all of it has gone
    }
    this.running.delete(pid);
  }

  close(isKept = false): void {
    for (const pid of [...this.running]) this.end(pid);
    this.lab?.down();
    if (!isKept) fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A file that the machine swaps to. */
function addSwap(folder: string, mib: number): { remove(): void } {
  const file = path.join(folder, 'swap');
  const run = (program: string, ...args: string[]): void => void execFileSync(program, args, { stdio: 'ignore' });
  run('dd', 'if=/dev/zero', `of=${file}`, 'bs=1M', `count=${mib}`);
  fs.chmodSync(file, 0o600);
  run('mkswap', file);
  run('swapon', file);
  return {
    remove() {
      run('swapoff', file);
      fs.rmSync(file);
    },
  };
}

const fileName = (name: string): string => name.replaceAll(/[^\w.-]+/g, '-');

/** Long jobs need not be sampled so often. */
const runOptions = (
  script: string,
  { interval = script.includes('$LONG') ? '0.5s' : '0.2s', flags = [] }: Recording,
) => ['run', '-i', interval, '--no-report', '-o', 'rec', ...flags];

/** Neither a scheduler's variables nor settings of Tacho's or Python's. */
const cleanEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SLURM_|PBS_|FLUX_|TACHO_|npm_|PYTHON)/.test(name)),
  );

import { type Command, Option } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { Fault, reason, usage } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import { configFlags, configOf } from '../config/flags.ts';
import { authorities, CLIENT_TRUST, trustOptions } from '../config/trust.ts';
import { NodeFollower } from '../query/now/node-now.ts';
import { openRecording, type Recording } from '../recording/folder/open.ts';
import {
  isSilent,
  shownRows,
  sortsOf,
  type TopLook,
  type TopState,
  type TopView,
  type Totals,
  topFrame,
  totalsOf,
} from '../show/top/frame.ts';
import { pathNamed } from './named-recordings.ts';

interface Options extends Record<string, unknown> {
  hub?: string;
  interval: number;
  once?: boolean;
  ascii?: boolean;
  format: 'text' | 'json';
}

const MOST_HISTORY = 600;
/** Findings take all samples: they are looked for again when that has cost this share of the time, and not more often than that. */
const FINDINGS = { share: 0.02, least: 60 };
/** Seconds between two looks for new nodes. */
const OPEN_AGAIN = 10;

export function define(command: Command): void {
  command
    .usage('[JOB|RECORDING] [options]')
    .argument('[recording]', 'a recording or the id of a job that runs (default: the one of this job or session)')
    .option('--hub <url>', 'a job that a hub receives now; its id comes first')
    .addOption(
      new Option('-i, --interval <duration>', 'time between looks, from 0.5s')
        .argParser(parseDuration)
        .default(2, '2s'),
    )
    .option('--once', 'print one page and end; also where the output is no terminal')
    .option('--ascii', 'ASCII instead of block characters')
    .addOption(
      new Option('-f, --format <format>', 'output format; json prints one look')
        .choices(['text', 'json'])
        .default('text'),
    );
  configFlags(command, CLIENT_TRUST)
    .addHelpText(
      'after',
      `
Keys: n nodes, g GPUs, p processes, f findings, arrows select, Enter opens a node,
Esc goes back, s sorts by the next column, / filters, q ends.

Examples:
  tacho top                      the job that this script records
  tacho top 4711
  tacho top tacho-4711 --once --format json
  tacho top 4711 --hub hub.site:8471
`,
    )
    .action(top);
}

/** Where the recording is, and what makes it new. */
interface Watched {
  folder: string;
  renew?: () => Promise<unknown>;
  close(): void;
}

async function watched(name: string | undefined, options: Options): Promise<Watched> {
  if (options.hub === undefined) {
    if (name !== undefined) return { folder: await pathNamed(name), close: () => {} };
    const { needActive } = await import('../control/active.ts');
    return { folder: needActive(process.env, 'there is nothing to show').recording, close: () => {} };
  }
  if (name === undefined)
    throw usage('tacho top --hub needs the id of a job', 'for example tacho top 4711 --hub hub.site:8471');
  const config = await configOf(options, CLIENT_TRUST);
  const [{ parseHubAddress }, { openCredentials }, { HubMirror }] = await Promise.all([
    import('../sinks/hub/address.ts'),
    import('../trust/gatekeeper.ts'),
    import('../hub/mirror.ts'),
  ]);
  const ca = authorities(config);
  const credentials = await openCredentials(await trustOptions(config));
  const mirror = new HubMirror(parseHubAddress(options.hub, ca !== undefined), { credentials, ...stated({ ca }) });
  const hubRecording = (await mirror.recordings()).find(({ job }) => job === name);
  if (hubRecording === undefined) {
    mirror.close();
    throw new Fault(`the hub receives no job ${name} that you may see`, {
      hint: `tacho nodes --hub ${options.hub} shows what it receives`,
    });
  }
  const { key } = hubRecording;
  await mirror.renew(key);
  return { folder: mirror.folderOf(key), renew: () => mirror.renew(key), close: () => mirror.close() };
}

async function top(name: string | undefined, options: Options): Promise<void> {
  if (!(options.interval >= 0.5 && options.interval <= 3600)) throw usage('--interval must be from 0.5s to 1h');
  const source = await watched(name, options);
  try {
    const job = new TopJob(source.folder, options.hub);
    if (options.format === 'json' || options.once === true || !process.stdout.isTTY || !process.stdin.isTTY)
      await once(job, options);
    else await follow(job, source, options);
    job.close();
  } finally {
    source.close();
  }
}

/** A job that is followed. */
class TopJob {
  readonly folder: string;
  recording: Recording;
  history: Totals[] = [];
  findings: TopState['findings'] = [];
  private followers = new Map<string, NodeFollower>();
  private opened = 0;
  private judged = Number.NEGATIVE_INFINITY;
  private cost = 0;

  constructor(folder: string, hub?: string) {
    this.folder = folder;
    this.recording = openRecording(folder);
    const { job } = this.recording;
    if (job.end !== undefined)
      throw new Fault(`job ${job.id} has ended: there is nothing to follow`, {
        // what a hub sends is gone with this command
        hint:
          hub === undefined
            ? `tacho report ${folder} says what it did`
            : `tacho report in the archive of the hub says what it did`,
      });
  }

  look(): TopState {
    const seconds = performance.now() / 1000;
    if (seconds - this.opened > OPEN_AGAIN) {
      this.opened = seconds;
      this.recording = openRecording(this.folder);
    }
    for (const node of this.recording.nodes)
      if (!this.followers.has(node.name)) this.followers.set(node.name, new NodeFollower(node));
    const nodes = [...this.followers.values()].map((follower) => follower.look());
    const now = Date.now() * 1000;
    // what a silent node did last is not what it does now
    const heard = nodes.filter((each) => !isSilent(each, now));
    this.history = [...this.history, totalsOf(heard)].slice(-MOST_HISTORY);
    const { id, name, user, start, state } = this.recording.job;
    return {
      job: { id, name, user, start, state },
      now,
      nodes,
      history: this.history,
      findings: this.findings,
    };
  }

  /** Whether it is time to look for findings again. */
  get isDue(): boolean {
    const passed = performance.now() / 1000 - this.judged;
    return passed > Math.max(FINDINGS.least, this.cost / FINDINGS.share);
  }

  async judge(): Promise<void> {
    const [{ gather }, { report }] = await Promise.all([
      import('../judge/facts/gather.ts'),
      import('../judge/report.ts'),
    ]);
    const begin = performance.now();
    this.findings = report(gather(openRecording(this.folder))).findings.map(({ severity, text }) => ({
      severity,
      text,
    }));
    this.judged = performance.now() / 1000;
    this.cost = this.judged - begin / 1000;
  }

  close(): void {
    for (const follower of this.followers.values()) follower.close();
  }
}

const isUtf8 = (): boolean => /utf-?8/i.test(process.env.LC_ALL || process.env.LC_CTYPE || process.env.LANG || '');
const START: TopLook = { view: 'nodes', filter: '', isTyping: false, sort: 0, selected: 0 };

async function once(job: TopJob, options: Options): Promise<void> {
  job.look();
  await job.judge();
  const state = job.look();
  if (options.format === 'json') {
    const { history: _, ...rest } = state;
    process.stdout.write(`${JSON.stringify({ ...rest, totals: totalsOf(state.nodes) }, null, 2)}\n`);
    return;
  }
  const { paint } = await import('../show/terminal/paint.ts');
  const { pageWidth } = await import('../base/page-width.ts');
  const page = {
    width: pageWidth(),
    height: state.nodes.length + 12,
    pen: paint({}),
    isUnicode: options.ascii !== true && isUtf8(),
  };
  const lines = topFrame(state, START, page).slice(0, -1);
  while (lines.at(-1) === '') lines.pop();
  process.stdout.write(`${lines.map((line) => line.trimEnd()).join('\n')}\n`);
}

async function follow(job: TopJob, source: Watched, options: Options): Promise<void> {
  const [{ fullScreen }, { paint }] = await Promise.all([
    import('../show/terminal/full-screen.ts'),
    import('../show/terminal/paint.ts'),
  ]);
  const pen = paint(process.stdout);
  const isUnicode = options.ascii !== true && isUtf8();
  let look = START;
  let state = job.look();
  let trouble: unknown;
  let timer: NodeJS.Timeout | undefined;
  let finish: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const end = (why?: unknown): void => {
    trouble ??= why;
    finish();
  };
  const draw = (): void => {
    const { width, height } = screen;
    screen.draw(topFrame(state, look, { width, height, pen, isUnicode }));
  };
  const screen = fullScreen(process.stdin, process.stdout, {
    key(key) {
      if (key === 'interrupt' || (key === 'q' && !look.isTyping)) return end();
      look = pressed(look, key, state);
      draw();
    },
    resized: draw,
    ended(signal) {
      process.exitCode =
        signal === 'SIGINT' ? 0 : 128 + ({ SIGHUP: 1, SIGQUIT: 3, SIGTERM: 15 }[signal as 'SIGTERM'] ?? 0);
      end();
    },
  });
  const tick = async (): Promise<void> => {
    try {
      await source.renew?.();
      state = job.look();
      draw();
      if (job.isDue) {
        await job.judge();
        state = { ...state, findings: job.findings };
        draw();
      }
      timer = setTimeout(() => void tick(), options.interval * 1000);
    } catch (error) {
      end(error);
    }
  };
  try {
    draw();
    void tick();
    await done;
  } finally {
    clearTimeout(timer);
    screen.close();
  }
  if (trouble !== undefined)
    throw trouble instanceof Fault ? trouble : new Fault(`cannot follow the job any more: ${reason(trouble)}`);
}

const VIEW_KEYS: Readonly<Record<string, TopView>> = { n: 'nodes', g: 'gpus', p: 'processes', f: 'findings' };

/** What is looked at after a key. */
function pressed(look: TopLook, key: string, state: TopState): TopLook {
  if (look.isTyping) {
    if (key === 'enter') return { ...look, isTyping: false };
    if (key === 'escape') return { ...look, isTyping: false, filter: '' };
    if (key === 'backspace') return { ...look, filter: look.filter.slice(0, -1) };
    return key.length === 1 && key >= ' ' ? { ...look, filter: look.filter + key, selected: 0 } : look;
  }
  const view = VIEW_KEYS[key];
  // the busiest first where there is something to sort by
  if (view !== undefined)
    return { ...look, view, selected: 0, sort: view === 'processes' ? 4 : view === 'gpus' ? 2 : 0 };
  const last = Math.max(0, shownRows(state, look).length - 1);
  const selected = Math.min(look.selected, last);
  switch (key) {
    case 'up':
    case 'k':
      return { ...look, selected: Math.max(0, selected - 1) };
    case 'down':
    case 'j':
      return { ...look, selected: Math.min(last, selected + 1) };
    case 'page up':
      return { ...look, selected: Math.max(0, selected - 10) };
    case 'page down':
      return { ...look, selected: Math.min(last, selected + 10) };
    case 's':
      return { ...look, sort: (look.sort + 1) % Math.max(1, sortsOf(state, look)) };
    case '/':
      return { ...look, isTyping: true, filter: '' };
    case 'enter': {
      const row = shownRows(state, look)[selected];
      return row === undefined ? look : { ...look, view: 'processes', node: row.id, selected: 0, sort: 4 };
    }
    case 'escape': {
      const { node: _, ...rest } = look;
      return { ...rest, view: 'nodes', filter: '', selected: 0, sort: 0 };
    }
    default:
      return look;
  }
}

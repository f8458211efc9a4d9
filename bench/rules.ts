import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { build, type Plugin } from 'esbuild';
import { writeDemo } from '../src/demo/demo.ts';
import { rules } from '../src/judge/rules/index.ts';
import type { Row } from './row.ts';

export interface RulesBenchOptions {
  /** Runs of each, alternating; the median counts. */
  runs?: number;
  /** Length of the demo's job. */
  seconds?: number;
}

const HERE = path.join(import.meta.dirname, '..');

/** Reports one recording and prints the CPU time of its whole process, in microseconds. */
const PROGRAM = `
import { openRecording } from './src/recording/folder/open.ts';
import { gather } from './src/judge/facts/gather.ts';
import { report } from './src/judge/report.ts';
report(gather(openRecording(process.argv[2])));
const { user, system } = process.cpuUsage();
console.log(user + system);
`;

/** Starts a bundle as scripts/start.cjs does: V8's compiled code, kept by an earlier run, lies beside it. */
const STARTER = `
const fs = require('node:fs');
const vm = require('node:vm');
const [file, recording] = process.argv.slice(2);
const compiled = file + '.compiled';
const cachedData = fs.existsSync(compiled) ? fs.readFileSync(compiled) : undefined;
const text = '(function (exports, require, module, __filename, __dirname, process) {' + fs.readFileSync(file, 'utf8') + '})';
const script = new vm.Script(text, { filename: file, cachedData });
const own = Object.create(process, { argv: { value: [process.execPath, file, recording] } });
script.runInThisContext()(exports, require, module, file, __dirname, own);
if (cachedData === undefined) fs.writeFileSync(compiled, script.createCachedData());
`;

/** Without rules neither their files are loaded nor the columns read that only they need. */
const noRules: Plugin = {
  name: 'no rules',
  setup(bundler) {
    bundler.onLoad({ filter: /\/judge\/rules\/index\.ts$/ }, () => ({ contents: 'export const rules = [];' }));
  },
};

/** What all rules cost on the demo job: the report with them, and without, each in a process of its own that starts as `tacho report` does. */
export async function bench({ runs = 11, seconds = 7200 }: RulesBenchOptions = {}): Promise<Row[]> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-bench-'));
  try {
    const sealed = await writeDemo({ folder: path.join(folder, 'sealed'), seconds });
    const live = await writeDemo({ folder: path.join(folder, 'live'), seconds, live: true });
    const starter = path.join(folder, 'start.cjs');
    fs.writeFileSync(starter, STARTER);
    const milliseconds = (file: string, recording: string): number =>
      Number(execFileSync(process.execPath, [starter, file, recording], { encoding: 'utf8' })) / 1000;
    const withRules = await program(path.join(folder, 'with.cjs'), []);
    const without = await program(path.join(folder, 'without.cjs'), [noRules]);
    return [sealed, live].map((recording, i) => {
      const times = { withRules: [] as number[], without: [] as number[] };
      // the first run of each keeps its compiled code
      for (const file of [without, withRules]) {
        fs.rmSync(`${file}.compiled`, { force: true });
        milliseconds(file, recording);
      }
      for (let run = 0; run < runs; run++) {
        times.without.push(milliseconds(without, recording));
        times.withRules.push(milliseconds(withRules, recording));
      }
      const [bare, whole] = [median(times.without), median(times.withRules)];
      return {
        what: `all ${rules.length} rules on the demo job, ${i === 0 ? 'sealed' : 'unsealed'}, CPU time`,
        must: i === 0 ? '≤ 30 ms' : '',
        measured: whole - bare,
        unit: 'ms',
        peer: `report without rules ${bare.toFixed(0)} ms`,
        ratio: whole / bare,
      };
    });
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

async function program(outfile: string, plugins: Plugin[]): Promise<string> {
  await build({
    stdin: { contents: PROGRAM, resolveDir: HERE },
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    define: { 'import.meta.url': 'ownUrl', 'import.meta.dirname': '__dirname' },
    banner: { js: 'const ownUrl = require("node:url").pathToFileURL(__filename).href;' },
    external: ['koffi', '@platformatic/kafka', 'pg', 'pg-copy-streams'],
    plugins,
    logLevel: 'error',
  });
  return outfile;
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

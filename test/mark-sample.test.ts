import assert from 'node:assert/strict';
import * as path from 'node:path';
import { test } from 'node:test';
import { TACHO, tacho, temporaryFolder } from './tacho.ts';

test('a mark takes a sample: a phase has its CPU time, however long the interval is', (t) => {
  const cwd = temporaryFolder(t);
  // uses so much CPU time before, in and after the phase, whatever else the machine does
  const program = `
    const { execFileSync } = require('child_process');
    const spin = (seconds) => { const from = process.cpuUsage(); const used = () => { const { user, system } = process.cpuUsage(from); return (user + system) / 1e6; }; while (used() < seconds); };
    const mark = (...args) => execFileSync('tacho', ['mark', ...args]);
    spin(1.6); mark('begin', 'phase'); spin(0.8); mark('end', 'phase'); spin(1.6);`;
  const env = { ...process.env, PATH: `${path.dirname(TACHO)}:${process.env.PATH}` };
  const run = [
    'run',
    '--no-report',
    '--no-processes',
    '--interval',
    '60s',
    '-o',
    'r',
    '--',
    process.execPath,
    '-e',
    program,
  ];
  const { code, err } = tacho(run, { cwd, env });
  assert.equal(code, 0, err);
  const { out } = tacho(['report', 'r', '--marker', 'phase', '--format', 'json'], { cwd });
  const { cpu_seconds } = (JSON.parse(out) as { summary: { cpu_seconds: number } }).summary;
  // without them it would be a share of all by time; starting tacho mark is Node's own work
  assert.ok(cpu_seconds > 0.72 && cpu_seconds < 1.1, `${cpu_seconds} s`);
});

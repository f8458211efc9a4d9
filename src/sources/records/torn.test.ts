import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import fc from 'fast-check';
import { fixture, openOn, sample } from '../../../test/frozen.ts';
import { Frame } from '../../table/frame.ts';
import { Host } from '../host.ts';
import { sources } from '../index.ts';

/** The file that each source lives on. */
const FILES: Record<string, string> = {
  loadavg: '/proc/loadavg',
  meminfo: '/proc/meminfo',
  vmstat: '/proc/vmstat',
  cpu: '/proc/stat',
  interrupts: '/proc/interrupts',
  disk: '/proc/diskstats',
  network: '/proc/net/dev',
  nfs: '/proc/self/mountstats',
  lustre: '/proc/fs/lustre/llite/scratch-ffff9bc043537800/stats',
  pressure: '/proc/pressure/io',
  power: '/sys/class/powercap/intel-rapl:0/energy_uj',
};

for (const [name, path] of Object.entries(FILES)) {
  test(`${name}: a file that is cut off or damaged anywhere is no reason to fail, and does not harm the next read`, (t) => {
    const root = mkdtempSync(join(tmpdir(), 'tacho-torn-'));
    t.after(() => rmSync(root, { recursive: true, force: true }));
    cpSync(fixture('host-gpu-node').root, root, { recursive: true, verbatimSymlinks: true });
    const whole = readFileSync(root + path);
    const source = openOn(sources.find((kind) => kind.table.name === name)!, new Host(root));
    const frame = new Frame(source.table);
    const right = sample(source, frame);
    fc.assert(
      fc.property(fc.nat(whole.length), fc.array(fc.nat(255), { maxLength: 40 }), (cut, noise) => {
        writeFileSync(root + path, whole.subarray(0, cut));
        sample(source, frame);
        writeFileSync(root + path, Buffer.concat([whole.subarray(0, cut), Buffer.from(noise), whole.subarray(cut)]));
        sample(source, frame);
        writeFileSync(root + path, whole);
        const again = sample(source, frame);
        // a damaged energy counter may look like one that started again
        if (name !== 'power') assert.deepEqual(again, right);
      }),
      { numRuns: 60 },
    );
    source.close();
  });
}

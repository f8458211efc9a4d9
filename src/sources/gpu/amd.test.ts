import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { fakeGpu, hasCompiler } from '../../../test/fake-gpu/build.ts';
import { readRows } from '../../../test/fake-gpu/table-of.ts';
import { Host } from '../host.ts';
import type { Scope } from '../scope.ts';
import { energyQuestion } from './amd-library.ts';
import { metricsReader } from './amd-metrics.ts';
import { newReading } from './card.ts';
import { gpu } from './gpu.ts';
import { gpuProcess } from './process.ts';

await gpu.load();
await gpuProcess.load();

const scope: Scope = { members: { by: 'node' }, exclude: [], redact: false };
const fixture = path.join(import.meta.dirname, '../../../test/fixtures/gpu-amd');
const GIB = 2 ** 30;

/** The values that are there: empty ones are left out. */
const present = (row: Record<string, number | string>) =>
  Object.fromEntries(Object.entries(row).filter(([, value]) => value !== '' && !Number.isNaN(value)));

test('AMD cards from the files of amdgpu, in the order of their PCI addresses', () => {
  const host = new Host(fixture);
  const source = gpu.open(host, scope);
  const rows = readRows(source);
  source.close();
  assert.deepEqual(rows.map(present), [
    {
      gpu: '0',
      utilization_percent: 5,
      memory_busy_percent: 2,
      memory_used_bytes: 32 * GIB,
      memory_total_bytes: 68702699520,
      power_watts: 140,
      power_limit_watts: 750,
      energy_mj: 777_000,
      temperature_hotspot_celsius: 63,
      temperature_memory_celsius: 58,
      clock_mhz: 2100,
      memory_clock_mhz: 1300,
      pcie_replays: 3,
      link_rx_bytes: 7021 * 1024,
      link_tx_bytes: 70 * 1024,
      vendor: 'AMD',
      model: 'AMD 0x74a1',
      uuid: 'GPU-1122334455667788',
    },
    {
      gpu: '1',
      utilization_percent: 97,
      memory_busy_percent: 42,
      memory_used_bytes: 32 * GIB,
      memory_total_bytes: 68702699520,
      power_watts: 287.5,
      power_limit_watts: 300,
      energy_mj: 5_000_000,
      temperature_celsius: 51,
      temperature_hotspot_celsius: 63,
      temperature_memory_celsius: 58,
      clock_mhz: 1700,
      memory_clock_mhz: 1600,
      throttle: 2 ** 36 + 1,
      throttled_thermal: 1,
      throttled_power: 1,
      ecc_corrected: 14,
      ecc_uncorrected: 1,
      pcie_replays: 3,
      decoder_percent: 7,
      vendor: 'AMD',
      model: 'AMD Instinct MI210',
      uuid: 'GPU-9d7c2ea1f4b31c05',
      throttle_reasons: 'ppt0 temp_hotspot',
    },
  ]);
  assert.deepEqual(
    host.notes
      .filter((n) => n.why.startsWith('AMD 0x74a1'))
      .map((n) => n.what)
      .sort(),
    ['fan_percent', 'temperature_celsius'],
  );
});

test('processes on AMD cards, from the files of the kernel', () => {
  const source = gpuProcess.open(new Host(fixture), scope);
  const rows = readRows(source);
  source.close();
  assert.deepEqual(rows.map(present), [
    { gpu: '0', pid: '4300', memory_bytes: GIB, type: 'compute' },
    { gpu: '1', pid: '4242', memory_bytes: 16 * GIB, percent: 50, type: 'compute' },
  ]);
});

test('residency counters of gpu_metrics 1.6 say whether a limit held since the last read', () => {
  const bytes = Buffer.alloc(600);
  bytes.writeUInt16LE(600, 0);
  bytes[2] = 1;
  bytes[3] = 6;
  bytes.writeUInt16LE(77, 12);
  const reader = metricsReader();
  const flags = [0, 0, 5].map((ppt) => {
    bytes.writeUInt32LE(ppt, 40);
    const reading = newReading();
    assert.equal(reader.fill(bytes, 600, reading), true);
    assert.equal(reading.utilization_percent, 77);
    return [reading.throttled_power, reading.throttled_thermal, reading.throttle_reasons];
  });
  assert.deepEqual(flags, [
    [Number.NaN, Number.NaN, ''],
    [0, 0, ''],
    [1, 0, 'ppt'],
  ]);
});

test('whatever gpu_metrics holds, reading it does not fail, and an unknown version says nothing', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 700 }), (noise) => {
      const reading = newReading();
      const isKnown = metricsReader().fill(Buffer.from(noise), noise.length, reading);
      if (!isKnown) assert.deepEqual(reading, newReading());
    }),
  );
  const future = Buffer.alloc(400);
  future.set([0x90, 1, 1, 9]);
  assert.equal(metricsReader().fill(future, 400, newReading()), false);
});

test('a card whose files have gone is lost', (t) => {
  const root = fs.mkdtempSync(path.join(os.tmpdir(), 'tacho-amd-'));
  t.after(() => fs.rmSync(root, { recursive: true }));
  fs.cpSync(fixture, root, { recursive: true });
  const host = new Host(root);
  const keep = host.tryKeep.bind(host);
  let gone = false;
  host.tryKeep = (file, single) => {
    const kept = keep(file, single);
    return (
      kept && {
        path: file,
        fd: kept.fd,
        close: kept.close,
        read: () => (gone ? -1 : kept.read()),
        get bytes() {
          return kept.bytes;
        },
      }
    );
  };
  const source = gpu.open(host, scope);
  assert.equal(readRows(source).length, 2);
  gone = true;
  assert.deepEqual(readRows(source), []);
  gone = false;
  assert.deepEqual(readRows(source), [], 'what is lost stays lost');
  source.close();
  assert.ok(host.notes.some((n) => n.what === 'GPU 0' && /0000:c1:00.0 is gone from the bus/.test(n.why)));
});

describe('AMD cards through the libraries', { skip: hasCompiler() ? false : 'no C compiler' }, () => {
  const expected = {
    utilization_percent: 1,
    memory_busy_percent: 0,
    memory_used_bytes: GIB,
    memory_total_bytes: 80 * GIB,
    power_limit_watts: 560,
    energy_mj: 999,
    temperature_celsius: 40,
    temperature_hotspot_celsius: 50,
    temperature_memory_celsius: 60,
    fan_percent: 40,
    ecc_corrected: 4,
    ecc_uncorrected: 2,
    pcie_replays: 6,
    vendor: 'AMD',
    model: 'AMD Instinct Fake',
  };

  for (const generation of [24, 26]) {
    test(`AMD SMI of generation ${generation}`, (t) => {
      fakeGpu(t, 'amdsmi', `cards 2\ngeneration ${generation}\nset 0 lanes 8\nset 0 generation 5\nset 0 links 3\n`);
      const source = gpu.open(new Host('/nonexistent'), scope);
      const [first, second] = readRows(source);
      source.close();
      assert.deepEqual(present(first!), {
        ...expected,
        gpu: '0',
        power_watts: 100,
        clock_mhz: 2100,
        memory_clock_mhz: 1300,
        uuid: 'fake-amd-0',
        pcie_generation: 5,
        pcie_generation_max: 4,
        pcie_width: 8,
        pcie_width_max: 16,
        links_up: 3,
        links: 4,
        ...(generation === 26 && { link_rx_bytes: 1024 * 1024, link_tx_bytes: 128 * 1024 }),
      });
      assert.equal(second!.power_watts, 77, 'the average, where there is no current power');
    });
  }

  test('AMD SMI from before ROCm 6.0 is refused with its reason', (t) => {
    fakeGpu(t, 'amdsmi', 'generation 23\n');
    assert.throws(() => gpu.open(new Host('/nonexistent'), scope), /older than ROCm 6.0/);
  });

  test('ROCm SMI', (t) => {
    fakeGpu(t, 'rocm_smi', 'cards 1\n');
    const source = gpu.open(new Host('/nonexistent'), scope);
    const rows = readRows(source);
    source.close();
    assert.deepEqual(rows.map(present), [
      { ...expected, gpu: '0', power_watts: 100.501, uuid: 'GPU-00000000abcdef00' },
    ]);
  });

  test("what the library leaves open is taken from the driver's gpu_metrics", (t) => {
    fakeGpu(t, 'rocm_smi', 'cards 1\nlacks 0 edge\n');
    const host = new Host(fixture);
    const source = gpu.open(host, scope);
    const [row] = readRows(source);
    source.close();
    assert.deepEqual(
      [row!.clock_mhz, row!.link_tx_bytes, row!.uuid, row!.power_watts],
      [2100, 71680, 'GPU-1122334455667788', 100.501],
    );
    assert.equal(row!.temperature_celsius, Number.NaN);
    assert.deepEqual(host.notes, [
      {
        table: 'gpu',
        what: 'temperature_celsius',
        why: 'AMD Instinct Fake: RSMI_STATUS_NOT_SUPPORTED: This function is not supported',
      },
    ]);
  });

  for (const library of ['amdsmi', 'rocm_smi'] as const) {
    test(`a card that falls off the bus (${library})`, (t) => {
      fakeGpu(t, library, 'cards 2\nlost 0 2\n');
      const host = new Host('/nonexistent');
      const source = gpu.open(host, scope);
      assert.deepEqual(
        readRows(source).map((row) => row.gpu),
        ['0', '1'],
      );
      assert.deepEqual(
        readRows(source).map((row) => row.gpu),
        ['1'],
      );
      source.close();
      assert.match(host.notes[0]!.why, /^lost at .*NOT_FOUND/);
    });
  }

  test('a node with cards of both vendors has a name for each', (t) => {
    fakeGpu(t, 'nvml', 'cards 1\n');
    fakeGpu(t, 'rocm_smi', 'cards 2\n');
    const host = new Host('/nonexistent');
    const source = gpu.open(host, scope);
    const rows = readRows(source);
    source.close();
    assert.deepEqual(
      rows.map((row) => [row.gpu, row.vendor, row.memory_used_bytes]),
      [
        ['0', 'NVIDIA', GIB],
        ['amd-0', 'AMD', GIB],
        ['amd-1', 'AMD', 2 * GIB],
      ],
    );
  });
});

test('a counter of energy that says 0 is none', () => {
  const counted = (value: bigint): number => {
    const reading = newReading();
    const question = energyQuestion((_card, _out, resolution) => {
      (resolution as Buffer).writeFloatLE(1000, 0);
      return 0;
    }, 0n)!;
    const out = Buffer.alloc(8);
    out.writeBigUInt64LE(value);
    question.ask(out);
    question.take(out, reading);
    return reading.energy_mj;
  };
  assert.deepEqual([counted(0n), counted(5n), counted(0xffff_ffff_ffff_ffffn)], [Number.NaN, 5, Number.NaN]);
});

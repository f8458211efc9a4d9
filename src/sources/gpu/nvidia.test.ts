import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { describe, test } from 'node:test';
import { fakeGpu, hasCompiler } from '../../../test/fake-gpu/build.ts';
import { readRows } from '../../../test/fake-gpu/table-of.ts';
import { Host } from '../host.ts';
import type { Scope } from '../scope.ts';
import { Unavailable } from '../source.ts';
import { newReading } from './card.ts';
import { borrowCards, describe as facts } from './cards.ts';
import { gpu } from './gpu.ts';
import { gpuProcess } from './process.ts';

await gpu.load();
await gpuProcess.load();

const scope: Scope = { members: { by: 'node' }, exclude: [], redact: false };
const GIB = 2 ** 30;

test('the columns of the table gpu are the numbers and texts of a reading, in one order', () => {
  const names = gpu.table.columns.map((c) => c.name);
  assert.deepEqual(
    names.slice(0, names.indexOf('vendor')),
    Object.keys(newReading()).filter((n) => n !== 'throttle_reasons'),
  );
});

describe('NVIDIA cards through NVML', { skip: hasCompiler() ? false : 'no C compiler' }, () => {
  test('root loads no library that TACHO_NVML names and somebody else can change', {
    skip: process.getuid!() === 0 ? false : 'needs root',
  }, (t) => {
    fakeGpu(t, 'nvml', 'cards 1\n');
    const library = process.env.TACHO_NVML!;
    const open = () => gpu.open(new Host('/nonexistent'), scope);
    fs.chmodSync(library, 0o757);
    assert.throws(open, /libnvml\.so cannot be loaded: .*libnvml\.so is not root's alone/);
    fs.chmodSync(library, 0o755);
    fs.chownSync(path.dirname(library), 65_534, 65_534);
    assert.throws(open, /is not root's alone/);
    fs.chownSync(path.dirname(library), 0, 0);
    open().close();
  });

  test('a PCIe link of fewer lanes and a lower generation, and links that are down', (t) => {
    fakeGpu(t, 'nvml', 'cards 1\nset 0 lanes 8\nset 0 generation 3\nset 0 links 3\nset 0 corrected 17\n');
    const source = gpu.open(new Host('/nonexistent'), scope);
    const [first] = readRows(source);
    const [second] = readRows(source);
    source.close();
    const link = ({ pcie_width, pcie_width_max, pcie_generation, links_up }: typeof first & object) => [
      pcie_width,
      pcie_width_max,
      pcie_generation,
      links_up,
    ];
    assert.deepEqual([link(first!), link(second!)], Array(2).fill([8, 16, 3, 3]));
    assert.deepEqual([first!.ecc_corrected, first!.ecc_uncorrected], [17, 1]);
  });

  test('every value that the library gives is recorded, in the unit of its column', (t) => {
    fakeGpu(t, 'nvml', 'cards 3\n');
    const source = gpu.open(new Host('/nonexistent'), scope);
    const [first, hot, limited] = readRows(source);
    source.close();
    assert.deepEqual(first, {
      gpu: '0',
      utilization_percent: 1,
      memory_busy_percent: 0,
      memory_used_bytes: 1 * GIB,
      memory_total_bytes: 80 * GIB,
      power_watts: 100.501,
      power_limit_watts: 400,
      energy_mj: 1_000_250,
      temperature_celsius: 40,
      temperature_hotspot_celsius: Number.NaN,
      temperature_memory_celsius: 60,
      clock_mhz: 1410,
      memory_clock_mhz: 1593,
      fan_percent: 30,
      throttle: 1,
      throttled_thermal: 0,
      throttled_power: 0,
      ecc_corrected: 7,
      ecc_uncorrected: 1,
      retired_pages: 4,
      remapped_rows: 3,
      remap_failed: 0,
      pcie_rx_bytes: 7_000_000_001,
      pcie_tx_bytes: 3_000_000_001,
      pcie_rx_rate_bytes: Number.NaN,
      pcie_tx_rate_bytes: Number.NaN,
      pcie_generation: 4,
      pcie_generation_max: 4,
      pcie_width: 16,
      pcie_width_max: 16,
      pcie_replays: 5,
      link_rx_bytes: 2000 * 1024,
      link_tx_bytes: 1000 * 1024,
      links_up: 4,
      links: 4,
      encoder_percent: 11,
      decoder_percent: 12,
      performance_state: 0,
      vendor: 'NVIDIA',
      model: 'NVIDIA Fake 80GB',
      uuid: 'GPU-fake-0',
      throttle_reasons: '',
      mine: '',
    });
    assert.deepEqual(
      [hot!.utilization_percent, hot!.throttled_thermal, hot!.throttled_power, hot!.throttle_reasons],
      [11, 1, 0, 'hw_slowdown hw_thermal'],
    );
    assert.deepEqual(
      [limited!.throttled_thermal, limited!.throttled_power, limited!.throttle_reasons],
      [0, 1, 'sw_power_cap'],
    );
  });

  test('a field that a card lacks is empty there, and said once with the library’s words', (t) => {
    fakeGpu(t, 'nvml', 'cards 2\nlacks 1 fan\n');
    const host = new Host('/nonexistent');
    const source = gpu.open(host, scope);
    assert.deepEqual(
      readRows(source).map((row) => row.fan_percent),
      [30, Number.NaN],
    );
    assert.deepEqual(
      readRows(source).map((row) => row.fan_percent),
      [30, Number.NaN],
    );
    source.close();
    assert.deepEqual(host.notes, [{ table: 'gpu', what: 'fan_percent', why: 'NVIDIA Fake 80GB: Not Supported' }]);
  });

  test('where PCIe bytes are counted in 32 bits, the rate is measured instead, one card after the other', (t) => {
    fakeGpu(t, 'nvml', 'cards 2\nlacks 0 pcie\nlacks 1 pcie\n');
    const source = gpu.open(new Host('/nonexistent'), scope);
    const reads = [readRows(source), readRows(source), readRows(source)];
    source.close();
    assert.deepEqual(
      reads.map((rows) => rows.map((row) => row.pcie_rx_rate_bytes)),
      [
        [4_000_000, Number.NaN],
        [Number.NaN, 4_000_000],
        [4_000_000, Number.NaN],
      ],
    );
    assert.equal(reads[0]![0]!.pcie_tx_rate_bytes, 2_500_000);
    assert.equal(reads[0]![0]!.pcie_rx_bytes, Number.NaN);
  });

  test('MIG instances have the number and uuid that the library gives them', (t) => {
    fakeGpu(t, 'nvml', 'cards 2\nmig 1 2\n');
    const host = new Host('/nonexistent');
    const source = gpu.open(host, scope);
    const rows = readRows(source);
    const processes = gpuProcess.open(host, scope);
    const users = readRows(processes);
    source.close();
    processes.close();
    assert.deepEqual(
      rows.map((row) => [row.gpu, row.uuid, row.model, row.memory_used_bytes, row.utilization_percent]),
      [
        ['0', 'GPU-fake-0', 'NVIDIA Fake 80GB', 1 * GIB, 1],
        ['1', 'GPU-fake-1', 'NVIDIA Fake 80GB', 2 * GIB, Number.NaN],
        ['1:mig-1', 'MIG-fake-1-1', 'NVIDIA Fake 80GB MIG 3g.40gb', GIB / 2, Number.NaN],
        ['1:mig-2', 'MIG-fake-1-2', 'NVIDIA Fake 80GB MIG 3g.40gb', GIB / 2, Number.NaN],
      ],
    );
    assert.deepEqual([...new Set(users.map((row) => row.gpu))], ['0', '1:mig-1', '1:mig-2']);
  });

  test('a card that falls off the bus ends its series and is noted; the others go on', (t) => {
    fakeGpu(t, 'nvml', 'cards 3\nlost 1 2\n');
    const host = new Host('/nonexistent');
    const source = gpu.open(host, scope);
    const processes = gpuProcess.open(host, scope);
    assert.deepEqual(
      readRows(source).map((row) => row.gpu),
      ['0', '1', '2'],
    );
    assert.deepEqual(
      readRows(source, 1_700_000_000_000_000).map((row) => row.gpu),
      ['0', '2'],
    );
    assert.deepEqual(
      readRows(processes).map((row) => row.gpu),
      ['0', '0', '2'],
    );
    assert.deepEqual(
      readRows(source).map((row) => row.utilization_percent),
      [3, 23],
    );
    source.close();
    processes.close();
    assert.deepEqual(
      host.notes.map((n) => [n.what, n.why]),
      [['GPU 1', 'lost at 2023-11-14T22:13:20.000Z: GPU is lost']],
    );
  });

  test('processes with their memory and newest use; one that computes and draws is one row', (t) => {
    fakeGpu(t, 'nvml', 'cards 1\n');
    const source = gpuProcess.open(new Host('/nonexistent'), scope);
    const rows = readRows(source);
    source.close();
    assert.deepEqual(rows, [
      {
        gpu: '0',
        pid: '1000',
        memory_bytes: 2 ** 28,
        percent: 81,
        memory_busy_percent: 41,
        encoder_percent: 3,
        decoder_percent: 4,
        type: 'compute+graphics',
      },
      {
        gpu: '0',
        pid: '2000',
        memory_bytes: Number.NaN,
        percent: Number.NaN,
        memory_busy_percent: Number.NaN,
        encoder_percent: Number.NaN,
        decoder_percent: Number.NaN,
        type: 'graphics',
      },
    ]);
  });

  test('facts of the cards for agent.json', (t) => {
    fakeGpu(t, 'nvml', 'cards 1\n');
    const { cards, close } = borrowCards(new Host('/nonexistent'));
    assert.deepEqual(facts(cards), [
      {
        gpu: '0',
        vendor: 'NVIDIA',
        model: 'NVIDIA Fake 80GB',
        uuid: 'GPU-fake-0',
        memory_bytes: 80 * GIB,
        serial: 'S0',
        driver: '570.86.15',
      },
    ]);
    close();
  });

  test('a driver that does not start is said with what to do', (t) => {
    fakeGpu(t, 'nvml', 'init fail\n');
    const host = new Host('/nonexistent');
    assert.throws(
      () => gpu.open(host, scope),
      (error) => error instanceof Unavailable && error.why === 'denied' && /Driver Not Loaded/.test(error.message),
    );
    assert.equal(host.notes[0]!.hint, 'the NVIDIA driver is not loaded');
  });
});

import assert from 'node:assert/strict';
import test from 'node:test';
import { fixture, frozen, openOn, sample } from '../../../test/frozen.ts';
import { Frame } from '../../table/frame.ts';
import { Host, type KeptFile } from '../host.ts';
import { Unavailable } from '../source.ts';
import { power } from './power.ts';

const ZONE = '/sys/class/powercap/intel-rapl:0';

test('RAPL: a row a package and its memory, the same zone of another driver once', () => {
  const rows = sample(openOn(power, fixture('host-gpu-node'))).filter((row) => row.meter === 'rapl');
  assert.deepEqual(
    rows.map((row) => row.domain),
    ['package-0', 'dram-0', 'package-1', 'dram-1'],
  );
  assert.deepEqual(rows[0], {
    domain: 'package-0',
    meter: 'rapl',
    within: 'system',
    energy_mj: 120331442,
    power_limit_watts: 270,
  });
});

test('a RAPL counter that starts again at 0 goes on', (t) => {
  const machine = frozen(t, {
    [`${ZONE}/name`]: 'package-0\n',
    [`${ZONE}/energy_uj`]: '9000000\n',
    [`${ZONE}/max_energy_range_uj`]: '10000000\n',
  });
  const source = openOn(power, machine.host);
  const energy = (microjoules: number) => {
    machine.write(`${ZONE}/energy_uj`, `${microjoules}\n`);
    return sample(source)[0]?.energy_mj;
  };
  assert.deepEqual([9000000, 9900000, 400000, 500000, 100000].map(energy), [9000, 9900, 10400, 10500, 20100]);
  machine.write(`${ZONE}/energy_uj`, '');
  assert.deepEqual(sample(source), []);
  assert.equal(energy(200000), 20200);
});

test('cores are part of their package, a package of the platform', (t) => {
  const { host } = frozen(t, {
    [`${ZONE}/name`]: 'package-0\n',
    [`${ZONE}/energy_uj`]: '1000\n',
    [`${ZONE}:0/name`]: 'core\n',
    [`${ZONE}:0/energy_uj`]: '1000\n',
    '/sys/class/powercap/intel-rapl:1/name': 'psys\n',
    '/sys/class/powercap/intel-rapl:1/energy_uj': '2000\n',
  });
  assert.deepEqual(
    sample(openOn(power, host)).map((row) => [row.domain, row.within]),
    [
      ['package-0', 'psys'],
      ['core-0', 'package-0'],
      ['psys', undefined],
    ],
  );
});

test('hwmon: a meter of the machine, a power supply, no GPUs', () => {
  const rows = sample(openOn(power, fixture('host-gpu-node'))).filter((row) => row.meter === 'hwmon');
  assert.deepEqual(rows, [
    { domain: 'system', meter: 'hwmon', power_watts: 1412 },
    { domain: 'pmbus-pin', meter: 'hwmon', within: 'system', power_watts: 741 },
    { domain: 'pmbus-pout1', meter: 'hwmon', within: 'pmbus-pin', power_watts: 702 },
  ]);
});

test('hwmon: labels in words, two chips of one kind, energy without the single cores', (t) => {
  const { host } = frozen(t, {
    '/sys/class/hwmon/hwmon0/name': 'power_meter\n',
    '/sys/class/hwmon/hwmon0/power1_average': '150000000\n',
    '/sys/class/hwmon/hwmon0/power1_oem_info': 'Grace Power Socket 0\n',
    '/sys/class/hwmon/hwmon1/name': 'psu\n',
    '/sys/class/hwmon/hwmon1/power1_input': '1000000\n',
    '/sys/class/hwmon/hwmon2/name': 'psu\n',
    '/sys/class/hwmon/hwmon2/power1_input': '2500000\n',
    '/sys/class/hwmon/hwmon3/name': 'amd_energy\n',
    '/sys/class/hwmon/hwmon3/energy1_input': '5000\n',
    '/sys/class/hwmon/hwmon3/energy1_label': 'Ecore000\n',
    '/sys/class/hwmon/hwmon3/energy2_input': '7000\n',
    '/sys/class/hwmon/hwmon3/energy2_label': 'Esocket0\n',
  });
  assert.deepEqual(sample(openOn(power, host)), [
    { domain: 'grace_power_socket_0', meter: 'hwmon', power_watts: 150 },
    { domain: 'psu', meter: 'hwmon', power_watts: 1 },
    { domain: 'psu.2', meter: 'hwmon', power_watts: 2.5 },
    { domain: 'amd_energy-esocket0', meter: 'hwmon', energy_mj: 7 },
  ]);
});

test('Cray pm_counters: joules and watts of the node and its parts, a cap of 0 is none', () => {
  const rows = sample(openOn(power, fixture('host-cray')));
  assert.deepEqual(rows[0], { domain: 'node', meter: 'pm_counters', energy_mj: 331204412000, power_watts: 912 });
  assert.deepEqual(rows[1], {
    domain: 'accel0',
    meter: 'pm_counters',
    within: 'node',
    energy_mj: 41203314000,
    power_watts: 122,
    power_limit_watts: 560,
  });
  assert.deepEqual(rows.map((row) => [row.domain, row.within]).slice(3), [
    ['cpu', 'node'],
    ['cpu0', 'cpu'],
    ['memory', 'node'],
  ]);
});

test('pm_counters that are no longer renewed are missing, and noted', (t) => {
  const machine = frozen(t, {
    '/sys/cray/pm_counters/energy': '100 J 5 us\n',
    '/sys/cray/pm_counters/freshness': '1\n',
  });
  const source = openOn(power, machine.host);
  const frame = new Frame(source.table);
  const rows = (second: number) => sample(source, frame, second * 1e6).length;
  assert.deepEqual([1, 2, 3, 4, 5].map(rows), [1, 1, 1, 0, 0]);
  assert.deepEqual(
    machine.host.notes.map((note) => note.what),
    ['pm_counters'],
  );
  machine.write('/sys/cray/pm_counters/freshness', '2\n');
  assert.equal(rows(6), 1);
});

/** A machine on which only root may read the energy of the CPUs. */
class Closed extends Host {
  override keep(path: string, single?: boolean): KeptFile {
    if (path.endsWith('energy_uj')) throw Object.assign(new Error('permission denied'), { code: 'EACCES' });
    return super.keep(path, single);
  }
}

test('RAPL closed to users: denied with a hint, or a note when other meters are open', (t) => {
  const machine = frozen(t, { [`${ZONE}/name`]: 'package-0\n', [`${ZONE}/energy_uj`]: '1\n' });
  assert.throws(
    () => openOn(power, new Closed(machine.host.root)),
    (error) => error instanceof Unavailable && error.why === 'denied' && /CVE-2020-8694/.test(error.hint ?? ''),
  );
  machine.write('/sys/class/hwmon/hwmon0/name', 'power_meter\n');
  machine.write('/sys/class/hwmon/hwmon0/power1_average', '90000000\n');
  const host = new Closed(machine.host.root);
  assert.deepEqual(sample(openOn(power, host)), [{ domain: 'system', meter: 'hwmon', power_watts: 90 }]);
  assert.match(host.notes[0]!.why, /root only/);
});

test('a machine without any meter misses nothing', () => {
  const small = fixture('host-small');
  assert.throws(
    () => openOn(power, small),
    (error) => error instanceof Unavailable && error.why === 'absent',
  );
});

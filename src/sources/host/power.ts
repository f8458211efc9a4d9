import { counter, defineTable, gauge, text } from '../../table/table.ts';
import type { Host } from '../host.ts';
import { type SourceKind, Unavailable } from '../source.ts';
import { type NumberFile, numberFile } from './number-file.ts';

export const powerTable = defineTable({
  name: 'power',
  help: 'Energy and power of the node and its parts: RAPL, sensors of the mainboard (hwmon), Cray pm_counters.',
  scope: 'node',
  keys: [{ name: 'domain', help: 'What is measured (`package-0`, `dram-0`, `node`, `accel0`).' }],
  columns: [
    text('meter', 'Who measures: rapl, hwmon or pm_counters.'),
    text('within', 'The domain that includes this one. What the node uses is the sum of the domains without.'),
    counter('energy_mj', 'millijoules', 'Energy used.'),
    gauge('power_watts', 'watts', 'Power now, where the meter says it.', 'float', 2),
    gauge('power_limit_watts', 'watts', 'Power that may not be exceeded.', 'float', 2),
  ],
});

const { domain: DOMAIN, meter: METER, within: WITHIN } = powerTable.at;
const { energy_mj: ENERGY, power_watts: WATTS, power_limit_watts: LIMIT } = powerTable.at;
const RAPL = '/sys/class/powercap';
const HWMON = '/sys/class/hwmon';
const CRAY = '/sys/cray/pm_counters';
/** Meters of GPUs are in the table `gpu`. */
const GPU_SENSORS = new Set(['amdgpu', 'nouveau', 'i915', 'xe']);
/** Caps hardly ever change. */
const SLOW_EVERY = 10;
/** pm_counters are renewed ten times a second; older than this (µs) they are no longer measured. */
const STALE = 2_000_000;

interface Domain {
  readonly name: string;
  readonly meter: string;
  readonly within: string;
  /** One unit of `energy` in millijoules, of `power` and `cap` in watts. */
  readonly energy?: NumberFile | undefined;
  readonly energyUnit: number;
  readonly power?: NumberFile | undefined;
  readonly cap?: NumberFile | undefined;
  readonly powerUnit: number;
  /** Where the energy counter starts again at 0; NaN: it does not. */
  readonly range: number;
  /** What earlier rounds of the counter add up to. */
  carried: number;
  last: number;
  heldCap: number;
}

type Measured = Pick<Domain, 'name' | 'meter' | 'within' | 'energyUnit' | 'powerUnit'> & Partial<Domain>;

const domain = (facts: Measured): Domain => ({
  range: Number.NaN,
  carried: 0,
  last: Number.NaN,
  heldCap: Number.NaN,
  ...facts,
});

/** Zones `intel-rapl:0` (package-0) and below them `intel-rapl:0:1` (dram); AMD’s are called the same. */
function raplDomains(host: Host): Domain[] {
  const zones = host.list(RAPL).filter((zone) => /^intel-rapl:\d+(:\d+)?$/.test(zone));
  const nameOf = (zone: string): string => host.text(`${RAPL}/${zone}/name`) ?? zone;
  const psys = zones.some((zone) => nameOf(zone) === 'psys');
  const domains: Domain[] = [];
  for (const zone of zones) {
    const own = nameOf(zone);
    const parent = /^(intel-rapl:\d+):\d+$/.exec(zone)?.[1];
    const package_ = parent === undefined ? own : nameOf(parent);
    const name = parent === undefined ? own : `${own}-${package_.replace(/^package-/, '')}`;
    const energy = numberFile(host, `${RAPL}/${zone}/energy_uj`);
    if (energy === undefined) {
      if (host.exists(`${RAPL}/${zone}/energy_uj`)) denyRapl(host);
      continue;
    }
    // dram is beside its package, not in it
    const within = own === 'psys' ? '' : parent !== undefined && own !== 'dram' ? package_ : psys ? 'psys' : '';
    const cap = numberFile(host, `${RAPL}/${zone}/constraint_0_power_limit_uw`);
    const range = Number(host.text(`${RAPL}/${zone}/max_energy_range_uj`) ?? Number.NaN);
    domains.push(domain({ name, meter: 'rapl', within, energy, energyUnit: 1e-3, cap, powerUnit: 1e-6, range }));
  }
  return domains;
}

const DENIED = 'the energy of the CPUs (RAPL) may be read by root only';
const RAPL_HINT = `ask the administrator for chmod a+r ${RAPL}/intel-rapl:*/energy_uj at boot (closed since CVE-2020-8694)`;

const denyRapl = (host: Host): void =>
  host.note({ table: powerTable.name, what: 'rapl', why: DENIED, hint: RAPL_HINT });

/** power*_average (or _input) in microwatts, energy*_input in microjoules; an ACPI meter may say in words what it measures. */
function hwmonDomains(host: Host): Domain[] {
  const domains: Domain[] = [];
  const taken = new Map<string, number>();
  for (const chip of host.list(HWMON)) {
    const folder = `${HWMON}/${chip}`;
    const chipName = host.text(`${folder}/name`) ?? chip;
    if (GPU_SENSORS.has(chipName)) continue;
    const channels = new Set<string>();
    let inlet = '';
    for (const file of host.list(folder)) {
      const channel = /^((?:power|energy)\d+)_(?:average|input)$/.exec(file)?.[1];
      if (channel !== undefined) channels.add(channel);
    }
    for (const channel of channels) {
      const label = host.text(`${folder}/${channel}_label`) ?? host.text(`${folder}/${channel}_oem_info`);
      // amd_energy has one channel a core
      if (label !== undefined && /^Ecore\d/.test(label)) continue;
      const plain = (label ?? (channels.size > 1 ? channel : ''))
        .trim()
        .toLowerCase()
        .replace(/[^\w.-]+/g, '_');
      // an ACPI meter says what it measures, or measures the whole machine
      const acpi = chipName === 'power_meter';
      const wanted = plain === '' ? (acpi ? 'system' : chipName) : acpi ? plain : `${chipName}-${plain}`;
      const times = (taken.get(wanted) ?? 0) + 1;
      taken.set(wanted, times);
      const name = times === 1 ? wanted : `${wanted}.${times}`;
      if (plain === 'pin') inlet = name;
      // what a power supply gives out, it has taken in
      const within = plain.startsWith('pout') ? inlet : '';
      const facts = { name, meter: 'hwmon', within, energyUnit: 1e-3, powerUnit: 1e-6 };
      const cap = numberFile(host, `${folder}/${channel}_cap`);
      if (channel.startsWith('energy')) {
        const energy = numberFile(host, `${folder}/${channel}_input`);
        if (energy !== undefined) domains.push(domain({ ...facts, energy }));
        continue;
      }
      const power = numberFile(host, `${folder}/${channel}_average`) ?? numberFile(host, `${folder}/${channel}_input`);
      if (power !== undefined) domains.push(domain({ ...facts, power, cap }));
    }
  }
  return domains;
}

/** `energy`, `power`, `power_cap` are the node’s; `cpu_energy`, `accel0_power`… its parts’. Whole joules and watts. */
function crayDomains(host: Host): Domain[] {
  const files = host.list(CRAY);
  const domains = new Set<string>();
  for (const file of files) {
    const domainMatch = /^(?:(\w+)_)?(?:energy|power)$/.exec(file);
    if (domainMatch !== null) domains.add(domainMatch[1] ?? '');
  }
  return [...domains].sort().map((domainName) => {
    const prefix = domainName === '' ? '' : `${domainName}_`;
    const inCpu = /^cpu\d+$/.test(domainName) && domains.has('cpu');
    return domain({
      name: domainName === '' ? 'node' : domainName,
      meter: 'pm_counters',
      within: domainName === '' || !domains.has('') ? '' : inCpu ? 'cpu' : 'node',
      energy: numberFile(host, `${CRAY}/${prefix}energy`),
      energyUnit: 1e3,
      power: numberFile(host, `${CRAY}/${prefix}power`),
      cap: numberFile(host, `${CRAY}/${prefix}power_cap`),
      powerUnit: 1,
    });
  });
}

/** A meter of the whole node includes what the other meters see. */
function nested(domains: readonly Domain[]): Domain[] {
  const whole = domains.find((d) => d.name === 'node') ?? domains.find((d) => d.name === 'system');
  if (whole === undefined) return [...domains];
  return domains.map((d) => (d === whole || d.within !== '' ? d : { ...d, within: whole.name }));
}

/** The counter in millijoules, going on where the hardware’s own starts again. */
function energyOf(one: Domain): number {
  const now = one.energy!.read();
  if (now < one.last && one.range > 0) one.carried += one.range;
  if (!Number.isNaN(now)) one.last = now;
  return Math.round((one.carried + now) * one.energyUnit);
}

export const power: SourceKind = {
  table: powerTable,
  open(host) {
    const domains = nested([...raplDomains(host), ...hwmonDomains(host), ...crayDomains(host)]);
    if (domains.length === 0) {
      const closed = host.notes.some((note) => note.table === powerTable.name && note.what === 'rapl');
      if (closed) throw new Unavailable('denied', DENIED, RAPL_HINT);
      throw new Unavailable('absent', 'no power sensor found');
    }
    const freshness = numberFile(host, `${CRAY}/freshness`);
    let fresh = Number.NaN;
    let freshSince = 0;
    let reads = 0;
    return {
      table: powerTable,
      read(frame) {
        const capsNow = reads++ % SLOW_EVERY === 0;
        let stale = false;
        if (freshness !== undefined) {
          const now = freshness.read();
          if (now !== fresh) freshSince = frame.time;
          fresh = now;
          stale = frame.time - freshSince > STALE;
          if (stale)
            host.note({
              table: powerTable.name,
              what: 'pm_counters',
              why: 'the blade controller stopped renewing them for a while',
            });
        }
        for (const one of domains) {
          if (stale && one.meter === 'pm_counters') continue;
          const energy = one.energy === undefined ? Number.NaN : energyOf(one);
          const watts = one.power === undefined ? Number.NaN : one.power.read() * one.powerUnit;
          if (Number.isNaN(energy) && Number.isNaN(watts)) continue;
          if (capsNow && one.cap !== undefined) one.heldCap = one.cap.read() * one.powerUnit;
          const row = frame.row();
          const t = row * frame.textWidth;
          frame.texts[t + DOMAIN] = one.name;
          frame.texts[t + METER] = one.meter;
          frame.texts[t + WITHIN] = one.within;
          const at = row * frame.numberWidth;
          frame.numbers[at + ENERGY] = energy;
          frame.numbers[at + WATTS] = watts;
          // Cray writes 0 for "no cap"
          frame.numbers[at + LIMIT] = one.heldCap > 0 ? one.heldCap : Number.NaN;
        }
      },
      close: () => {
        freshness?.close();
        for (const { energy, power, cap } of domains) {
          energy?.close();
          power?.close();
          cap?.close();
        }
      },
    };
  },
};

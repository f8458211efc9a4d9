import type { Host } from '../host.ts';
import { type Card, newProcess } from './card.ts';
import { gpuProcessTable } from './process.ts';

const NODES = '/sys/class/kfd/kfd/topology/nodes';
const PROCESSES = '/sys/class/kfd/kfd/proc';

/** The processes that use a card for compute, from the kernel's KFD files: the same with and without AMD's libraries. */
export function amdProcesses(host: Host, address: string): Card['processes'] {
  const node = findNode(host, address);
  const process = newProcess();
  process.type = 'compute';
  return (add) => {
    if (node === undefined) {
      host.note({
        table: gpuProcessTable.name,
        what: 'processes',
        why: `/sys/class/kfd does not list the card at ${address}`,
      });
      return;
    }
    for (const pid of host.list(PROCESSES)) {
      const memory = host.text(`${PROCESSES}/${pid}/vram_${node.id}`);
      if (memory === undefined) continue;
      process.pid = Number(pid);
      process.memory_bytes = Number(memory);
      const busy = host.text(`${PROCESSES}/${pid}/stats_${node.id}/cu_occupancy`);
      process.percent =
        busy === undefined || node.units === 0 ? Number.NaN : Math.round((Number(busy) / node.units) * 100);
      if (process.pid > 0 && (process.memory_bytes > 0 || process.percent > 0)) add(process);
    }
  };
}

/** KFD's own number of the card at a PCI address, and how many compute units it has. */
function findNode(host: Host, address: string): { id: string; units: number } | undefined {
  const addressMatch = /^([0-9a-f]+):([0-9a-f]+):([0-9a-f]+)\.(\d)$/.exec(address);
  if (addressMatch === null) return undefined;
  const [domain, bus, slot, functionNumber] = addressMatch.slice(1).map((hex) => Number.parseInt(hex, 16)) as [
    number,
    number,
    number,
    number,
  ];
  for (const name of host.list(NODES)) {
    const properties = host.text(`${NODES}/${name}/properties`) ?? '';
    const value = (key: string) => Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(properties)?.[1] ?? Number.NaN);
    if (value('location_id') !== ((bus << 8) | (slot << 3) | functionNumber)) continue;
    if (value('domain') !== domain && !Number.isNaN(value('domain'))) continue;
    const id = host.text(`${NODES}/${name}/gpu_id`);
    if (id === undefined || id === '0') continue;
    const perUnit = value('simd_per_cu');
    return { id, units: perUnit > 0 ? value('simd_count') / perUnit : 0 };
  }
  return undefined;
}

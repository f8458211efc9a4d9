import { type Column, defineTable, gauge, openHelp } from '../../table/table.ts';
import { type Field, fieldsKind } from '../fields.ts';

const bytes = <N extends string>(name: N, help: string) => gauge(`${name}_bytes` as const, 'bytes', help);
const pages = <N extends string>(name: N, help: string) => gauge(name, 'count', help);

const PATH = '/proc/meminfo';

export const meminfoTable = defineTable({
  name: 'meminfo',
  help: 'Where the memory of the node is, from /proc/meminfo.',
  scope: 'node',
  keys: [],
  columns: [
    bytes('MemTotal', 'Memory that the kernel can give out.'),
    bytes('MemFree', 'Memory that nobody uses.'),
    bytes('MemAvailable', 'Memory that new programs can get without swapping: free memory and what can be reclaimed.'),
    bytes('Buffers', 'Cache of raw blocks of disks.'),
    bytes('Cached', 'Cache of file contents, including shared memory and tmpfs.'),
    bytes('SwapCached', 'Memory that is in swap as well, because it came back from there.'),
    bytes('Active', 'Memory used recently.'),
    bytes('Inactive', 'Memory not used recently, the first to be reclaimed.'),
    bytes('Active_anon', 'Memory of programs (no file behind it) used recently.'),
    bytes('Inactive_anon', 'Memory of programs not used recently.'),
    bytes('Active_file', 'File cache used recently.'),
    bytes('Inactive_file', 'File cache not used recently.'),
    bytes('Unevictable', 'Memory that cannot be reclaimed.'),
    bytes('Mlocked', 'Memory that programs have locked.'),
    bytes('SwapTotal', 'Swap space there is.'),
    bytes('SwapFree', 'Swap space not in use.'),
    bytes('Zswap', 'Memory taken by compressed swap.'),
    bytes('Zswapped', 'Memory of programs that is held compressed.'),
    bytes('Dirty', 'File contents waiting to be written.'),
    bytes('Writeback', 'File contents being written now.'),
    bytes('AnonPages', 'Memory of programs that is mapped and has no file behind it.'),
    bytes('Mapped', 'File contents mapped into programs.'),
    bytes('Shmem', 'Shared memory and tmpfs.'),
    bytes('KReclaimable', 'Kernel memory that can be reclaimed under pressure.'),
    bytes('Slab', 'Memory of the kernel’s own data structures.'),
    bytes('SReclaimable', 'The part of Slab that can be reclaimed.'),
    bytes('SUnreclaim', 'The part of Slab that cannot.'),
    bytes('KernelStack', 'Kernel stacks of all threads.'),
    bytes('PageTables', 'Page tables of programs.'),
    bytes('SecPageTables', 'Page tables of virtual machines and IOMMUs.'),
    bytes('NFS_Unstable', 'NFS data sent to a server and not yet safe there (older kernels).'),
    bytes('Bounce', 'Buffers for devices that cannot reach all memory.'),
    bytes('WritebackTmp', 'Buffers of FUSE file systems being written.'),
    bytes('CommitLimit', 'Memory that may be promised to programs when overcommit is off.'),
    bytes('Committed_AS', 'Memory promised to programs.'),
    bytes('VmallocTotal', 'Address space for large kernel allocations.'),
    bytes('VmallocUsed', 'The part of it in use.'),
    bytes('VmallocChunk', 'The largest free piece of it.'),
    bytes('Percpu', 'Kernel memory kept for each CPU.'),
    bytes('HardwareCorrupted', 'Memory taken out of use because of errors.'),
    bytes('AnonHugePages', 'Memory of programs in transparent huge pages.'),
    bytes('ShmemHugePages', 'Shared memory in huge pages.'),
    bytes('ShmemPmdMapped', 'Shared memory mapped as huge pages.'),
    bytes('FileHugePages', 'File cache in huge pages.'),
    bytes('FilePmdMapped', 'File cache mapped as huge pages.'),
    bytes('CmaTotal', 'Memory set aside for devices that need contiguous pieces.'),
    bytes('CmaFree', 'The part of it not in use.'),
    bytes('Unaccepted', 'Memory a confidential guest has not accepted yet.'),
    bytes('Balloon', 'Memory given back to the hypervisor.'),
    pages('HugePages_Total', 'Huge pages of the default size that are set aside.'),
    pages('HugePages_Free', 'Huge pages not in use.'),
    pages('HugePages_Rsvd', 'Huge pages promised and not yet in use.'),
    pages('HugePages_Surp', 'Huge pages beyond the number asked for.'),
    bytes('Hugepagesize', 'The default size of a huge page.'),
    bytes('Hugetlb', 'Memory in huge pages of all sizes that are set aside.'),
    bytes('DirectMap4k', 'Memory the kernel maps in 4 kB pages.'),
    bytes('DirectMap2M', 'Memory the kernel maps in 2 MB pages.'),
    bytes('DirectMap1G', 'Memory the kernel maps in 1 GB pages.'),
  ],
  open: {
    file: PATH,
    help: 'Every other field of /proc/meminfo under the kernel’s name: sizes end in _bytes, counts are as they are.',
  },
});

const columnName = (name: string): string => name.replace(/\(/g, '_').replace(/[^\w]/g, '');

function columnOf(field: Field): Column {
  const plain = columnName(field.name);
  const name = field.kilobytes ? `${plain}_bytes` : plain;
  const help = openHelp(PATH, name);
  return meminfoTable.columns.find((c) => c.name === name) ?? gauge(name, field.kilobytes ? 'bytes' : 'count', help);
}

export const meminfo = fieldsKind(meminfoTable, PATH, columnOf, { single: true });

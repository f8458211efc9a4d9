import { type Column, counter, defineTable, gauge, openHelp } from '../../table/table.ts';
import { fieldsKind } from '../fields.ts';

const level = <N extends string>(name: N, help: string) => gauge(name, 'count', help);
const events = <N extends string>(name: N, help: string) => counter(name, 'count', help);

const PATH = '/proc/vmstat';

export const vmstatTable = defineTable({
  name: 'vmstat',
  help: 'What the memory management of the kernel does, from /proc/vmstat. Levels are in pages (4 kB on most machines).',
  scope: 'node',
  keys: [],
  columns: [
    level('nr_free_pages', 'Pages that nobody uses.'),
    level('nr_inactive_anon', 'Pages of programs not used recently.'),
    level('nr_active_anon', 'Pages of programs used recently.'),
    level('nr_inactive_file', 'Pages of file cache not used recently.'),
    level('nr_active_file', 'Pages of file cache used recently.'),
    level('nr_unevictable', 'Pages that cannot be reclaimed.'),
    level('nr_mlock', 'Pages locked by programs.'),
    level('nr_anon_pages', 'Pages of programs that are mapped.'),
    level('nr_mapped', 'Pages of files that are mapped into programs.'),
    level('nr_file_pages', 'Pages of file cache, shared memory and buffers.'),
    level('nr_dirty', 'Pages of files waiting to be written.'),
    level('nr_writeback', 'Pages of files being written now.'),
    level('nr_shmem', 'Pages of shared memory and tmpfs.'),
    level('nr_slab_reclaimable', 'Pages of kernel data structures that can be reclaimed.'),
    level('nr_slab_unreclaimable', 'Pages of kernel data structures that cannot be reclaimed.'),
    level('nr_page_table_pages', 'Pages that hold page tables.'),
    level('nr_anon_transparent_hugepages', 'Transparent huge pages in use by programs.'),
    events('nr_dirtied', 'Pages of files that were changed.'),
    events('nr_written', 'Pages of files that were written.'),
    events('numa_hit', 'Pages taken from the NUMA node they were wanted from.'),
    events('numa_miss', 'Pages taken from another NUMA node than wanted.'),
    events('numa_foreign', 'Pages wanted here and taken elsewhere.'),
    events('numa_interleave', 'Pages spread over NUMA nodes on purpose.'),
    events('numa_local', 'Pages taken from the NUMA node the thread ran on.'),
    events('numa_other', 'Pages taken from another NUMA node than the thread ran on.'),
    events('numa_pages_migrated', 'Pages moved between NUMA nodes by automatic balancing.'),
    events('workingset_refault_anon', 'Pages of programs that came back soon after they were swapped out.'),
    events('workingset_refault_file', 'Pages of files that were read again soon after they were dropped.'),
    events('pgpgin', 'kB read from disks.'),
    events('pgpgout', 'kB written to disks.'),
    events('pswpin', 'Pages brought in from swap.'),
    events('pswpout', 'Pages put out to swap.'),
    events('pgfree', 'Pages given back.'),
    events('pgfault', 'Page faults, minor and major.'),
    events('pgmajfault', 'Page faults that had to wait for a disk.'),
    events('pgscan_kswapd', 'Pages looked at for reclaim in the background.'),
    events('pgscan_direct', 'Pages looked at for reclaim while a program waited.'),
    events('pgsteal_kswapd', 'Pages reclaimed in the background.'),
    events('pgsteal_direct', 'Pages reclaimed while a program waited.'),
    events('allocstall_normal', 'Times a program had to wait for reclaim to get memory.'),
    events('compact_stall', 'Times a program had to wait for memory to be compacted.'),
    events('oom_kill', 'Processes killed because memory ran out.'),
    events('pgmigrate_success', 'Pages moved in memory.'),
    events('thp_fault_alloc', 'Huge pages given at a page fault.'),
    events('thp_fault_fallback', 'Page faults that should have got a huge page and did not.'),
    events('thp_collapse_alloc', 'Huge pages made out of small ones.'),
    events('thp_split_page', 'Huge pages split into small ones.'),
  ],
  open: {
    file: PATH,
    help: 'Every other field of /proc/vmstat under the kernel’s name: nr_* are levels in pages, the others count events.',
  },
});
/** Named like levels, but they only grow. */
const COUNTERS =
  /^nr_(dirtied|written|throttled_written|vmscan_write|vmscan_immediate_reclaim|foll_pin_acquired|foll_pin_released)$/;
const LEVELS = /^(nr_|workingset_nodes$)/;

function columnOf(name: string): Column {
  const knownColumn = vmstatTable.columns.find((c) => c.name === name);
  if (knownColumn !== undefined) return knownColumn;
  const help = openHelp(PATH, name);
  return LEVELS.test(name) && !COUNTERS.test(name) ? level(name, help) : events(name, help);
}

export const vmstat = fieldsKind(vmstatTable, PATH, ({ name }) => columnOf(name));

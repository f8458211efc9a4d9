import { counter, defineTable, text } from '../../table/table.ts';
import { lineEnd, number, scan } from '../digits.ts';
import type { Host, KeptFile } from '../host.ts';
import { type SourceKind, Unavailable } from '../source.ts';

const operation = <N extends string>(name: N, help: string) => counter(name, 'count', help);

export const lustreTable = defineTable({
  name: 'lustre',
  help: 'What this node asked of each Lustre file system, from the client’s llite statistics. What never happened is 0.',
  scope: 'node',
  keys: [
    {
      name: 'filesystem',
      help: 'Name of the file system; with the client’s own mark behind it when it is mounted twice.',
    },
  ],
  columns: [
    text('mount', 'Where it is mounted.'),
    counter('reads', 'count', 'Reads by programs.'),
    counter('read_bytes', 'bytes', 'Bytes that programs read.'),
    counter('writes', 'count', 'Writes by programs.'),
    counter('written_bytes', 'bytes', 'Bytes that programs wrote.'),
    operation('open', 'Files opened.'),
    operation('close', 'Files closed.'),
    operation('mmap', 'Files mapped into memory.'),
    operation('page_fault', 'Page faults on mapped files.'),
    operation('page_mkwrite', 'First writes to pages of mapped files.'),
    operation('seek', 'Seeks.'),
    operation('fsync', 'Calls of fsync.'),
    operation('readdir', 'Reads of folders.'),
    operation('setattr', 'Changes of attributes.'),
    operation('truncate', 'Truncations.'),
    operation('flock', 'File locks.'),
    operation('getattr', 'Queries of attributes (stat).'),
    operation('statfs', 'Queries about the file system.'),
    operation('create', 'Files created.'),
    operation('link', 'Hard links created.'),
    operation('unlink', 'Files removed.'),
    operation('symlink', 'Symbolic links created.'),
    operation('mkdir', 'Folders created.'),
    operation('rmdir', 'Folders removed.'),
    operation('mknod', 'Special files created.'),
    operation('rename', 'Renames.'),
    operation('alloc_inode', 'Inodes brought into memory.'),
    operation('setxattr', 'Extended attributes set.'),
    operation('getxattr', 'Extended attributes read.'),
    operation('listxattr', 'Extended attributes listed.'),
    operation('removexattr', 'Extended attributes removed.'),
    operation('inode_permission', 'Checks of permission.'),
  ],
});

/** Where Lustre versions keep `llite/<name>/stats`. */
const FOLDERS = ['/proc/fs/lustre/llite', '/sys/kernel/debug/lustre/llite', '/sys/fs/lustre/llite'];
/** Reads between two looks for new mounts. */
const LOOK_EVERY = 60;
const BYTES_OF: Record<string, { count: number; sum: number }> = {
  read_bytes: { count: lustreTable.at.reads, sum: lustreTable.at.read_bytes },
  write_bytes: { count: lustreTable.at.writes, sum: lustreTable.at.written_bytes },
};
const PLACES = new Map<string, number>(
  lustreTable.columns.filter((c) => c.type !== 'text').map((c) => [c.name, lustreTable.at[c.name]]),
);
const { filesystem: FILESYSTEM, mount: MOUNT } = lustreTable.at;
const SPACE = 32;

/** A line of `stats`: where its count goes, and where its sum goes, −1: nowhere. */
interface Line {
  readonly name: Buffer;
  readonly count: number;
  readonly sum: number;
}

interface FileSystem {
  readonly name: string;
  readonly mount: string;
  readonly file: KeptFile;
  readonly lines: Line[];
}

function learn(name: Buffer): Line {
  const word = name.toString('latin1');
  const { count, sum } = BYTES_OF[word] ?? { count: PLACES.get(word) ?? -1, sum: -1 };
  return { name, count, sum };
}

/** `10.0.0.1@o2ib:/scratch /lustre/scratch lustre rw,…`: file system → where. */
function mountPoints(host: Host): Map<string, string> {
  const points = new Map<string, string>();
  for (const line of (host.text('/proc/self/mounts') ?? '').split('\n')) {
    const [device, point, type] = line.split(' ');
    if (type !== 'lustre' || device === undefined) continue;
    const name = device.slice(device.indexOf(':/') + 2).split('/')[0]!;
    // mounted twice: which is which cannot be told
    points.set(name, points.has(name) ? '' : point!);
  }
  return points;
}

const instances = (host: Host): string[] => [...new Set(FOLDERS.flatMap((folder) => host.list(folder)))].sort();

function openAll(host: Host): FileSystem[] {
  const points = mountPoints(host);
  const keptFiles: { instance: string; name: string; file: KeptFile }[] = [];
  for (const instance of instances(host)) {
    const folder = FOLDERS.find((f) => host.exists(`${f}/${instance}/stats`));
    const file = folder === undefined ? undefined : host.tryKeep(`${folder}/${instance}/stats`);
    if (file !== undefined) keptFiles.push({ instance, name: instance.replace(/-[0-9a-f]{8,16}$/, ''), file });
  }
  return keptFiles.map(({ instance, name, file }) => {
    const twice = keptFiles.filter((other) => other.name === name).length > 1;
    return { name: twice ? instance : name, mount: points.get(name) ?? '', file, lines: [] };
  });
}

/** Reads one `stats`: `write_bytes  12 samples [bytes] 4096 1048576 5242880`. */
function take(bytes: Buffer, end: number, lines: Line[], numbers: Float64Array, at: number): void {
  let n = 0;
  for (let p = 0, stop = 0; p < end; p = stop + 1, n++) {
    stop = lineEnd(bytes, p, end);
    if (stop >= end) return;
    let space = p;
    while (space < stop && bytes[space] !== SPACE) space++;
    let line = lines[n];
    if (line === undefined || line.name.length !== space - p || line.name.compare(bytes, p, space) !== 0) {
      line = learn(Buffer.from(bytes.subarray(p, space)));
      lines[n] = line;
    }
    if (line.count < 0) continue;
    const count = number(bytes, space, stop);
    if (Number.isNaN(count)) continue;
    numbers[at + line.count] = count;
    if (line.sum < 0) continue;
    // smallest, largest, sum
    number(bytes, scan.at, stop);
    number(bytes, scan.at, stop);
    numbers[at + line.sum] = number(bytes, scan.at, stop);
  }
}

export const lustre: SourceKind = {
  table: lustreTable,
  open(host) {
    let systems = openAll(host);
    let names = instances(host).join(' ');
    let reads = 0;
    if (systems.length === 0) {
      const mounted = mountPoints(host).size > 0 || names !== '';
      if (!mounted) throw new Unavailable('absent', 'no Lustre file system is mounted');
      throw new Unavailable(
        'denied',
        'Lustre is mounted, but its statistics (llite/*/stats) may not be read',
        'let the recording user read /sys/kernel/debug/lustre/llite/*/stats',
      );
    }
    return {
      table: lustreTable,
      read(frame) {
        if (++reads % LOOK_EVERY === 0 && instances(host).join(' ') !== names) {
          for (const { file } of systems) file.close();
          systems = openAll(host);
          names = instances(host).join(' ');
        }
        for (const { name, mount, file, lines } of systems) {
          const end = file.read();
          if (end < 0) continue;
          const row = frame.row();
          frame.texts[row * frame.textWidth + FILESYSTEM] = name;
          frame.texts[row * frame.textWidth + MOUNT] = mount;
          const at = row * frame.numberWidth;
          frame.numbers.fill(0, at, at + frame.numberWidth);
          take(file.bytes, end, lines, frame.numbers, at);
        }
      },
      close: () => {
        for (const { file } of systems) file.close();
      },
    };
  },
};

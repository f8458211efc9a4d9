import { counter, defineTable, gauge, text } from '../../table/table.ts';
import { lineEnd, number, scan, spells } from '../digits.ts';
import { formOf } from '../form.ts';
import { type SourceKind, Unavailable } from '../source.ts';

export const diskTable = defineTable({
  name: 'disk',
  help: 'What block devices did, from /proc/diskstats: whole disks and what is built on them, without partitions, loop and RAM devices.',
  scope: 'node',
  keys: [{ name: 'disk', help: 'The kernel’s name of the device (`sda`, `nvme0n1`, `dm-0`).' }],
  columns: [
    text(
      'class',
      'disk: a device of its own. dm, md, virtual: built on other devices or a network, whose traffic it repeats.',
    ),
    text('label', 'Name of the volume, or model of the device.'),
    counter('reads', 'count', 'Reads completed.'),
    counter('reads_merged', 'count', 'Reads joined to a neighbouring one.'),
    counter('read_bytes', 'bytes', 'Bytes read.'),
    counter('read_ms', 'milliseconds', 'Time that reads took, all together.'),
    counter('writes', 'count', 'Writes completed.'),
    counter('writes_merged', 'count', 'Writes joined to a neighbouring one.'),
    counter('written_bytes', 'bytes', 'Bytes written.'),
    counter('write_ms', 'milliseconds', 'Time that writes took, all together.'),
    gauge('in_flight', 'count', 'Requests under way now.'),
    counter('busy_ms', 'milliseconds', 'Time in which at least one request was under way.'),
    counter('queue_ms', 'milliseconds', 'Time that all requests spent waiting and under way, all together.'),
    counter('discards', 'count', 'Discards (TRIM) completed.'),
    counter('discards_merged', 'count', 'Discards joined to a neighbouring one.'),
    counter('discarded_bytes', 'bytes', 'Bytes discarded.'),
    counter('discard_ms', 'milliseconds', 'Time that discards took, all together.'),
    counter('flushes', 'count', 'Flushes of the device’s cache completed.'),
    counter('flush_ms', 'milliseconds', 'Time that flushes took, all together.'),
  ],
});

/** /proc/diskstats counts in sectors of 512 bytes, whatever the device uses. */
const SECTOR = 512;
const { disk: DISK, class: CLASS, label: LABEL } = diskTable.at;
/** In the order of the table, as they are in the file. */
const VALUES = diskTable.columns.filter(({ type }) => type !== 'text');
const PLACES = VALUES.map(({ name }) => diskTable.at[name]);
const FACTORS = VALUES.map(({ unit }) => (unit === 'bytes' ? SECTOR : 1));
/** Not what anybody calls a disk; nvme0c0n1 is one path to nvme0n1. */
const LEFT_OUT = /^(loop|ram|zram|fd|sr)\d|^nvme\d+c\d+n\d+$/;
const SPACE = 32;

interface Disk {
  readonly bytes: Buffer;
  readonly name: string;
  readonly class: string;
  readonly label: string;
}

export const disk: SourceKind = {
  table: diskTable,
  open(host) {
    if (host.list('/sys/block').length === 0) {
      throw new Unavailable('absent', 'this machine has no block devices (/sys/block is empty)');
    }
    const file = host.tryKeep('/proc/diskstats');
    if (file === undefined) throw new Unavailable('denied', '/proc/diskstats cannot be read');
    const lines: Disk[] = [];

    // class '' marks what is not recorded
    const learn = (bytes: Buffer, at: number, stop: number): Disk => {
      const name = bytes.toString('latin1', at, stop);
      const folder = `/sys/block/${name.replaceAll('/', '!')}`;
      const own = { bytes: Buffer.from(bytes.subarray(at, stop)), name, label: '' };
      if (LEFT_OUT.test(name) || !host.exists(folder)) return { ...own, class: '' };
      if (name.startsWith('dm-')) return { ...own, class: 'dm', label: host.text(`${folder}/dm/name`) ?? '' };
      if (name.startsWith('md')) return { ...own, class: 'md', label: host.text(`${folder}/md/level`) ?? '' };
      if (!host.exists(`${folder}/device`)) return { ...own, class: 'virtual' };
      return { ...own, class: 'disk', label: host.text(`${folder}/device/model`)?.trim() ?? '' };
    };

    return {
      table: diskTable,
      read(frame) {
        const end = file.read();
        const { bytes } = file;
        let n = 0;
        for (let p = 0; p < end; n++) {
          const stop = lineEnd(bytes, p, end);
          if (stop >= end) break;
          // major and minor number, then the name
          number(bytes, p, stop);
          number(bytes, scan.at, stop);
          p = scan.at + 1;
          let knownDisk = lines[n];
          if (
            knownDisk === undefined ||
            !spells(bytes, p, knownDisk.bytes) ||
            bytes[p + knownDisk.bytes.length] !== SPACE
          ) {
            const space = bytes.indexOf(SPACE, p);
            if (space < 0 || space > stop) {
              p = stop + 1;
              n--;
              continue;
            }
            knownDisk = learn(bytes, p, space);
            lines[n] = knownDisk;
          }
          if (knownDisk.class !== '') {
            const row = frame.row();
            const t = row * frame.textWidth;
            frame.texts[t + DISK] = knownDisk.name;
            frame.texts[t + CLASS] = knownDisk.class;
            frame.texts[t + LABEL] = knownDisk.label;
            const at = row * frame.numberWidth;
            p += knownDisk.bytes.length;
            // 11 values before Linux 4.18, 15 before 5.5
            for (let i = 0; i < VALUES.length && p < stop; i++) {
              frame.numbers[at + PLACES[i]!] = number(bytes, p, stop) * FACTORS[i]!;
              p = scan.at;
            }
          }
          p = stop + 1;
        }
        lines.length = n;
      },
      forms(frame) {
        const end = file.read();
        if (end <= 0) return undefined;
        const rows = new Map<string, number>();
        for (let row = 0; row < frame.rows; row++) rows.set(frame.texts[row * frame.textWidth + DISK]!, row);
        const form = formOf(file.bytes.toString('latin1', 0, end), ({ line, index }) => {
          const [head, name] = /^ *\d+ +\d+ (\S+)/.exec(line) ?? [];
          const row = name === undefined ? undefined : rows.get(name);
          if (row === undefined) return undefined;
          // names have numbers, too
          const value = index - head!.match(/\d+/g)!.length;
          const columnIndex = PLACES[value];
          return columnIndex === undefined
            ? undefined
            : { column: row * frame.numberWidth + columnIndex, factor: FACTORS[value]! };
        });
        return [{ fd: file.fd, single: false, form }];
      },
      close: () => file.close(),
    };
  },
};

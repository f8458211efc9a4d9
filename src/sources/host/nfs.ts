import { counter, defineTable, text } from '../../table/table.ts';
import { lineEnd, number, scan, spells } from '../digits.ts';
import { type SourceKind, Unavailable } from '../source.ts';

export const nfsTable = defineTable({
  name: 'nfs',
  help: 'What each NFS mount did and how quickly its server answered, from /proc/self/mountstats.',
  scope: 'node',
  keys: [{ name: 'mount', help: 'Where it is mounted.' }],
  columns: [
    text('server', 'What is mounted there (`server:/path`).'),
    counter('normal_read_bytes', 'bytes', 'Bytes that programs read, some of them from the cache.'),
    counter('normal_written_bytes', 'bytes', 'Bytes that programs wrote through the cache.'),
    counter('direct_read_bytes', 'bytes', 'Bytes that programs read past the cache (O_DIRECT).'),
    counter('direct_written_bytes', 'bytes', 'Bytes that programs wrote past the cache.'),
    counter('read_bytes', 'bytes', 'Bytes that came from the server.'),
    counter('written_bytes', 'bytes', 'Bytes that went to the server.'),
    counter('operations', 'count', 'Requests that the server answered, of all kinds.'),
    counter('read_operations', 'count', 'READ requests.'),
    counter('write_operations', 'count', 'WRITE requests.'),
    counter('retransmissions', 'count', 'Requests that had to be sent again.'),
    counter('timeouts', 'count', 'Requests given up for a while because the server did not answer.'),
    counter('queue_ms', 'milliseconds', 'Time requests waited on this node before they were sent, all together.'),
    counter('rtt_ms', 'milliseconds', 'Time between sending and the answer, all together.'),
    counter('execute_ms', 'milliseconds', 'Time requests took from beginning to end, all together.'),
    counter('read_rtt_ms', 'milliseconds', 'The part of rtt_ms for READ.'),
    counter('write_rtt_ms', 'milliseconds', 'The part of rtt_ms for WRITE.'),
  ],
});

const PATH = '/proc/self/mountstats';
const BYTES = Buffer.from('\tbytes:');
const OPERATIONS = Buffer.from('\tper-op statistics');
const READ = Buffer.from('READ:');
const WRITE = Buffer.from('WRITE:');
const DEVICE = Buffer.from('device ');
const [TAB, SPACE, COLON] = [9, 32, 58];
const PLACE = nfsTable.at;
/** What the line `bytes:` begins with. */
const TRAFFIC = [
  ...[PLACE.normal_read_bytes, PLACE.normal_written_bytes, PLACE.direct_read_bytes, PLACE.direct_written_bytes],
  ...[PLACE.read_bytes, PLACE.written_bytes],
];
/** Added up over all kinds of requests. */
const SUMS = [
  ...[PLACE.operations, PLACE.retransmissions, PLACE.timeouts],
  ...[PLACE.queue_ms, PLACE.rtt_ms, PLACE.execute_ms],
];

/** `device server:/path mounted on /home with fstype nfs4 statvers=1.1` */
const MOUNT = /^device (.*) mounted on (.*) with fstype (\S+)/;

interface Mount {
  readonly line: Buffer;
  /** Undefined: no NFS. */
  readonly nfs?: { readonly mount: string; readonly server: string };
}

/** The kernel writes blanks in paths as `\040`. */
const spelledOut = (path: string): string =>
  Buffer.from(
    path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
    'latin1',
  ).toString();

export const nfs: SourceKind = {
  table: nfsTable,
  every: 10,
  open(host) {
    const now = host.text(PATH);
    // an automounter may bring NFS later
    if (!/ with fstype (nfs4?|autofs)\b/.test(now ?? ''))
      throw new Unavailable('absent', 'no NFS file system is mounted');
    const file = host.tryKeep(PATH);
    if (file === undefined) throw new Unavailable('denied', `${PATH} cannot be read`);
    const mounts: Mount[] = [];

    const learn = (bytes: Buffer, from: number, stop: number): Mount => {
      const line = Buffer.from(bytes.subarray(from, stop + 1));
      const mountMatch = MOUNT.exec(line.toString('latin1'));
      if (mountMatch === null || !/^nfs4?$/.test(mountMatch[3]!)) return { line };
      return { line, nfs: { mount: spelledOut(mountMatch[2]!), server: spelledOut(mountMatch[1]!) } };
    };

    return {
      table: nfsTable,
      read(frame) {
        const end = file.read();
        const { bytes } = file;
        let n = 0;
        let row = -1;
        let operations = false;
        for (let p = 0, stop = 0; p < end; p = stop + 1) {
          stop = lineEnd(bytes, p, end);
          if (stop >= end) {
            // torn: the sums of this mount would be too small
            if (row >= 0) frame.drop();
            break;
          }
          if (spells(bytes, p, DEVICE)) {
            let knownMount = mounts[n];
            if (knownMount === undefined || !spells(bytes, p, knownMount.line)) {
              knownMount = learn(bytes, p, stop);
              mounts[n] = knownMount;
            }
            n++;
            row = -1;
            operations = false;
            if (knownMount.nfs === undefined) continue;
            row = frame.row();
            frame.texts[row * frame.textWidth + PLACE.mount] = knownMount.nfs.mount;
            frame.texts[row * frame.textWidth + PLACE.server] = knownMount.nfs.server;
            continue;
          }
          if (row < 0 || bytes[p] !== TAB) continue;
          const { numbers } = frame;
          const start = row * frame.numberWidth;
          if (operations) {
            //	    READ: operations transmissions timeouts sent received queue rtt execute [errors]
            let name = p + 1;
            while (bytes[name] === SPACE || bytes[name] === TAB) name++;
            const colon = bytes.indexOf(COLON, name);
            if (colon < 0 || colon > stop) continue;
            const count = number(bytes, colon, stop);
            const sent = number(bytes, scan.at, stop);
            const timeouts = number(bytes, scan.at, stop);
            number(bytes, scan.at, stop);
            number(bytes, scan.at, stop);
            const queue = number(bytes, scan.at, stop);
            const rtt = number(bytes, scan.at, stop);
            const execute = number(bytes, scan.at, stop);
            if (Number.isNaN(execute)) continue;
            numbers[start + PLACE.operations]! += count;
            numbers[start + PLACE.retransmissions]! += Math.max(0, sent - count);
            numbers[start + PLACE.timeouts]! += timeouts;
            numbers[start + PLACE.queue_ms]! += queue;
            numbers[start + PLACE.rtt_ms]! += rtt;
            numbers[start + PLACE.execute_ms]! += execute;
            if (spells(bytes, name, READ)) {
              numbers[start + PLACE.read_operations] = count;
              numbers[start + PLACE.read_rtt_ms] = rtt;
            } else if (spells(bytes, name, WRITE)) {
              numbers[start + PLACE.write_operations] = count;
              numbers[start + PLACE.write_rtt_ms] = rtt;
            }
          } else if (spells(bytes, p, BYTES)) {
            scan.at = p;
            for (const columnIndex of TRAFFIC) numbers[start + columnIndex] = number(bytes, scan.at, stop);
          } else if (spells(bytes, p, OPERATIONS)) {
            operations = true;
            for (const columnIndex of SUMS) numbers[start + columnIndex] = 0;
          }
        }
        mounts.length = n;
      },
      close: () => file.close(),
    };
  },
};

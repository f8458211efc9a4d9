import { counter, defineTable, gauge, type NumberName, text } from '../../table/table.ts';
import { lineEnd, number, scan, spells } from '../digits.ts';
import { formOf } from '../form.ts';
import type { Host, KeptFile } from '../host.ts';
import { type SourceKind, Unavailable } from '../source.ts';
import { type NumberFile, numberFile } from './number-file.ts';

export const networkTable = defineTable({
  name: 'network',
  help: 'What network interfaces carried: /proc/net/dev, InfiniBand and RoCE ports, Slingshot (CXI) adapters.',
  scope: 'node',
  keys: [{ name: 'interface', help: 'Interface (`eth0`), port of an adapter (`mlx5_0:1`) or adapter (`cxi0`).' }],
  columns: [
    text(
      'class',
      'ethernet, infiniband, roce, cxi: hardware, whose sum is the node’s traffic. ipoib, cxi-ethernet, virtual: run over hardware, whose traffic they repeat; in a container without hardware, the sum of virtual is its traffic. stacked: ports of a bridge, VLANs, bonds and tunnels, which repeat what others here carry. loopback: stays on the node.',
    ),
    counter('received_bytes', 'bytes', 'Bytes received.'),
    counter('sent_bytes', 'bytes', 'Bytes sent.'),
    counter('received_packets', 'count', 'Packets received.'),
    counter('sent_packets', 'count', 'Packets sent.'),
    counter(
      'receive_errors',
      'count',
      'Packets received with errors (Slingshot: code words that could not be corrected).',
    ),
    counter('send_errors', 'count', 'Packets that could not be sent because of errors.'),
    counter('receive_drops', 'count', 'Packets received and thrown away, e.g. for lack of a buffer.'),
    counter('send_drops', 'count', 'Packets thrown away instead of sent.'),
    counter('multicast_packets', 'count', 'Multicast packets received.'),
    counter('send_wait', 'count', 'Ticks in which an InfiniBand port had data to send and no credits: congestion.'),
    counter('pause_received', 'count', 'Pause frames received by a Slingshot adapter: congestion.'),
    counter('pause_sent', 'count', 'Pause frames sent by a Slingshot adapter: this node is too slow.'),
    counter('out_of_sequence', 'count', 'RDMA packets that arrived out of order.'),
    counter(
      'retransmissions',
      'count',
      'RDMA events that make an adapter send again: lost packets, timeouts, receiver not ready.',
    ),
    counter('congestion_marks', 'count', 'RDMA packets that arrived marked as congested (ECN).'),
    counter('congestion_notices', 'count', 'Notices to slow down that the adapter received (CNP).'),
    counter('symbol_errors', 'count', 'Errors on the physical link.'),
    counter('link_downs', 'count', 'Times the link failed.'),
    gauge('link_rate_bytes', 'bytes', 'Bytes a second that the link can carry in each direction.'),
  ],
});

/** Columns of /proc/net/dev; '' is left out. */
const NETDEV = (
  [
    ['received_bytes', 'received_packets', 'receive_errors', 'receive_drops', '', '', '', 'multicast_packets'],
    ['sent_bytes', 'sent_packets', 'send_errors', 'send_drops', '', '', '', ''],
  ] as const
).flat();

/** ARPHRD_… of /sys/class/net/X/type. */
const TYPES: Record<string, string> = { 1: 'ethernet', 32: 'ipoib', 772: 'loopback' };

/** A column that is the sum of files; of several ways to get it the first that exists is taken. */
interface Counter {
  readonly column: NumberName<typeof networkTable>;
  readonly ways: readonly (readonly string[])[];
  readonly factor?: number;
  /** Seldom changes, and every read asks the adapter’s firmware: read every tenth time and held in between. */
  readonly slow?: true;
}

const eight = (name: string): string[] => Array.from({ length: 8 }, (_, i) => `${name}_${i}`);

/** Below /sys/class/infiniband/X/ports/N. Data is counted in words of four bytes; *_64 where `counters` has only 32 bits. */
const PORT: readonly Counter[] = [
  { column: 'received_bytes', ways: [['counters_ext/port_rcv_data_64'], ['counters/port_rcv_data']], factor: 4 },
  { column: 'sent_bytes', ways: [['counters_ext/port_xmit_data_64'], ['counters/port_xmit_data']], factor: 4 },
  { column: 'received_packets', ways: [['counters_ext/port_rcv_packets_64'], ['counters/port_rcv_packets']] },
  { column: 'sent_packets', ways: [['counters_ext/port_xmit_packets_64'], ['counters/port_xmit_packets']] },
  { column: 'send_wait', ways: [['counters/port_xmit_wait']] },
  { column: 'receive_errors', ways: [['counters/port_rcv_errors']], slow: true },
  { column: 'receive_drops', ways: [['hw_counters/out_of_buffer'], ['hw_counters/rx_roce_discards']], slow: true },
  { column: 'send_drops', ways: [['counters/port_xmit_discards']], slow: true },
  { column: 'multicast_packets', ways: [['counters/multicast_rcv_packets']], slow: true },
  { column: 'out_of_sequence', ways: [['hw_counters/out_of_sequence'], ['hw_counters/oos_drop_count']], slow: true },
  {
    column: 'retransmissions',
    ways: [
      ['hw_counters/packet_seq_err', 'hw_counters/local_ack_timeout_err', 'hw_counters/rnr_nak_retry_err'],
      ['hw_counters/seq_err_naks_rcvd', 'hw_counters/to_retransmits', 'hw_counters/rnr_naks_rcvd'],
    ],
    slow: true,
  },
  {
    column: 'congestion_marks',
    ways: [['hw_counters/np_ecn_marked_roce_packets'], ['hw_counters/rx_ecn_marked_pkts']],
    slow: true,
  },
  { column: 'congestion_notices', ways: [['hw_counters/rp_cnp_handled'], ['hw_counters/rx_cnp_pkts']], slow: true },
  { column: 'symbol_errors', ways: [['counters/symbol_error']], slow: true },
  { column: 'link_downs', ways: [['counters/link_downed']], slow: true },
];

/** Below /sys/class/cxi/X/device/telemetry: `count@time`. */
const CXI: readonly Counter[] = [
  { column: 'received_bytes', ways: [['hni_sts_rx_ok_octets']] },
  { column: 'sent_bytes', ways: [['hni_sts_tx_ok_octets']] },
  { column: 'received_packets', ways: [eight('hni_pkts_recv_by_tc')] },
  { column: 'sent_packets', ways: [eight('hni_pkts_sent_by_tc')] },
  { column: 'receive_errors', ways: [['hni_pcs_uncorrected_cw']], slow: true },
  { column: 'receive_drops', ways: [eight('hni_discard_cntr')], slow: true },
  { column: 'pause_received', ways: [eight('hni_pause_recv')], slow: true },
  { column: 'pause_sent', ways: [['hni_pause_sent']], slow: true },
];

const SLOW_EVERY = 10;
/** Reads between two looks for new adapters. */
const LOOK_EVERY = 60;
const [SPACE, COLON] = [32, 58];
const { interface: INTERFACE, class: CLASS, link_rate_bytes: LINK } = networkTable.at;
const NETDEV_PLACES = NETDEV.map((column) => (column === '' ? -1 : networkTable.at[column]));

interface Interface {
  readonly bytes: Buffer;
  readonly name: string;
  readonly class: string;
  readonly link: number;
}

interface OpenCounter {
  readonly column: number;
  readonly files: readonly NumberFile[];
  readonly factor: number;
  readonly slow: boolean;
  held: number;
}

interface Adapter {
  readonly name: string;
  readonly class: string;
  readonly link: number;
  readonly counters: readonly OpenCounter[];
}

const lastPart = (path: string | undefined): string | undefined => path?.slice(path.lastIndexOf('/') + 1);

function classOf(host: Host, name: string): string {
  const folder = `/sys/class/net/${name}`;
  const typeText = host.text(`${folder}/type`);
  // a network of its own may not have its interfaces in /sys
  if (typeText === undefined) return 'virtual';
  const type = TYPES[typeText] ?? 'stacked';
  if (type !== 'ethernet') return type;
  const device = lastPart(host.link(`${folder}/device`));
  if (
    device !== undefined &&
    host.list('/sys/class/cxi').some((x) => lastPart(host.link(`/sys/class/cxi/${x}/device`)) === device)
  )
    return 'cxi-ethernet';
  // bridges, bonds, VLANs and veth have no device of their own
  if (host.exists(`${folder}/device`)) return 'ethernet';
  return isStacked(host, folder) ? 'stacked' : 'virtual';
}

/** Whether a virtual interface carries what another one counts: a bridge counts for its ports, others for what lies over them. */
function isStacked(host: Host, folder: string): boolean {
  if (host.exists(`${folder}/brport`)) return true;
  return !host.exists(`${folder}/bridge`) && host.list(folder).some((entry) => entry.startsWith('lower_'));
}

/** Megabits a second of /sys/class/net/X/speed; −1 or an error when the driver does not know. */
function netdevSpeed(host: Host, name: string): number {
  const megabits = Number(host.text(`/sys/class/net/${name}/speed`) ?? Number.NaN);
  return megabits > 0 ? (megabits * 1e6) / 8 : Number.NaN;
}

/** `200 Gb/sec (4X HDR)` */
function portSpeed(rate: string | undefined): number {
  return (Number.parseFloat(rate ?? '') * 1e9) / 8;
}

function openCounters(host: Host, folder: string, counters: readonly Counter[]): OpenCounter[] {
  const open: OpenCounter[] = [];
  for (const { column, ways, factor, slow } of counters) {
    for (const way of ways) {
      const files = way.map((name) => numberFile(host, `${folder}/${name}`)).filter((f) => f !== undefined);
      if (files.length === 0) continue;
      open.push({
        column: networkTable.at[column],
        files,
        factor: factor ?? 1,
        slow: slow ?? false,
        held: Number.NaN,
      });
      break;
    }
  }
  return open;
}

function openAdapters(host: Host): Adapter[] {
  const adapters: Adapter[] = [];
  for (const device of host.list('/sys/class/infiniband')) {
    for (const port of host.list(`/sys/class/infiniband/${device}/ports`)) {
      const folder = `/sys/class/infiniband/${device}/ports/${port}`;
      const counters = openCounters(host, folder, PORT);
      const name = `${device}:${port}`;
      if (counters.length === 0) {
        host.note({
          table: networkTable.name,
          what: name,
          why: 'the adapter gives no port counters (a virtual function?)',
        });
        continue;
      }
      const roce = host.text(`${folder}/link_layer`) === 'Ethernet';
      adapters.push({
        name,
        class: roce ? 'roce' : 'infiniband',
        link: portSpeed(host.text(`${folder}/rate`)),
        counters,
      });
    }
  }
  for (const name of host.list('/sys/class/cxi')) {
    const counters = openCounters(host, `/sys/class/cxi/${name}/device/telemetry`, CXI);
    if (counters.length > 0) adapters.push({ name, class: 'cxi', link: Number.NaN, counters });
    else host.note({ table: networkTable.name, what: name, why: 'the Slingshot driver gives no telemetry in sysfs' });
  }
  return adapters;
}

const adapterNames = (host: Host): string =>
  [...host.list('/sys/class/infiniband'), '', ...host.list('/sys/class/cxi')].join(' ');

function close(adapters: readonly Adapter[]): void {
  for (const { counters } of adapters) for (const { files } of counters) for (const file of files) file.close();
}

export const network: SourceKind = {
  table: networkTable,
  open(host) {
    const netdev: KeptFile | undefined = host.tryKeep('/proc/net/dev');
    const lines: Interface[] = [];
    let names = adapterNames(host);
    let adapters = openAdapters(host);
    let reads = 0;
    if (netdev === undefined && adapters.length === 0) throw new Unavailable('denied', '/proc/net/dev cannot be read');

    const learn = (bytes: Buffer, at: number, colon: number): Interface => {
      const name = bytes.toString('latin1', at, colon);
      const own = Buffer.from(bytes.subarray(at, colon + 1));
      return { bytes: own, name, class: classOf(host, name), link: netdevSpeed(host, name) };
    };

    return {
      table: networkTable,
      read(frame) {
        const end = netdev?.read() ?? -1;
        let n = 0;
        // two lines of headings
        let p = end > 0 ? lineEnd(host.bytes, lineEnd(host.bytes, 0, end) + 1, end) + 1 : end;
        for (; p < end; n++) {
          const { bytes } = host;
          const stop = lineEnd(bytes, p, end);
          if (stop >= end) break;
          while (bytes[p] === SPACE) p++;
          let knownInterface = lines[n];
          if (knownInterface === undefined || !spells(bytes, p, knownInterface.bytes)) {
            const colon = bytes.indexOf(COLON, p);
            if (colon < 0 || colon > stop) break;
            knownInterface = learn(bytes, p, colon);
            lines[n] = knownInterface;
          }
          p += knownInterface.bytes.length;
          const row = frame.row();
          frame.texts[row * frame.textWidth + INTERFACE] = knownInterface.name;
          frame.texts[row * frame.textWidth + CLASS] = knownInterface.class;
          const at = row * frame.numberWidth;
          for (let i = 0; i < NETDEV_PLACES.length; i++) {
            const value = number(bytes, p, stop);
            p = scan.at;
            if (NETDEV_PLACES[i]! >= 0) frame.numbers[at + NETDEV_PLACES[i]!] = value;
          }
          frame.numbers[at + LINK] = knownInterface.link;
          p = stop + 1;
        }
        lines.length = n;

        if (reads > 0 && reads % LOOK_EVERY === 0) {
          const now = adapterNames(host);
          if (now !== names) {
            close(adapters);
            names = now;
            adapters = openAdapters(host);
          }
        }
        const slowNow = reads % SLOW_EVERY === 0;
        reads++;
        for (const adapter of adapters) {
          const row = frame.row();
          const at = row * frame.numberWidth;
          let anyRead = false;
          for (const one of adapter.counters) {
            let sum = one.held;
            if (!one.slow || slowNow || Number.isNaN(sum)) {
              sum = 0;
              for (const file of one.files) sum += file.read();
              sum *= one.factor;
              one.held = sum;
            }
            frame.numbers[at + one.column] = sum;
            if (!one.slow && !Number.isNaN(sum)) anyRead = true;
          }
          // unplugged, or being reset
          if (!anyRead) {
            frame.drop();
            continue;
          }
          frame.texts[row * frame.textWidth + INTERFACE] = adapter.name;
          frame.texts[row * frame.textWidth + CLASS] = adapter.class;
          frame.numbers[at + LINK] = adapter.link;
        }
      },
      forms(frame) {
        const end = adapters.length > 0 ? -1 : (netdev?.read() ?? -1);
        if (end <= 0) return undefined;
        const rows = new Map(lines.map(({ name }, row) => [name, row]));
        const form = formOf(host.bytes.toString('latin1', 0, end), ({ line, index, count }) => {
          const row = rows.get(line.slice(0, Math.max(0, line.indexOf(':'))).trim());
          const columnIndex = row === undefined ? undefined : NETDEV_PLACES[index - (count - NETDEV_PLACES.length)];
          return columnIndex === undefined || columnIndex < 0
            ? undefined
            : { column: row! * frame.numberWidth + columnIndex };
        });
        return [{ fd: netdev!.fd, single: false, form }];
      },
      close: () => {
        netdev?.close();
        close(adapters);
      },
    };
  },
};

import { count, figure, listed } from '../../base/readable.ts';
import { lustreTable, nfsTable } from '../../sources/tables.ts';
import type { TableColumn } from '../../table/table.ts';
import type { Evidence } from '../report-schema.ts';
import { high, medium } from './shared/confidence.ts';
import { shown } from './shared/evidence.ts';
import { named, type RuleContext, rule } from './shared/rule.ts';

const { open, close, getattr, setattr, create, unlink, mkdir, rmdir, rename, readdir } = lustreTable.col;
const LUSTRE = [open, close, getattr, setattr, create, unlink, mkdir, rmdir, rename, readdir];
const {
  operations,
  read_operations,
  write_operations,
  read_bytes: nfs_read,
  written_bytes: nfs_written,
} = nfsTable.col;
const { read_bytes, written_bytes } = lustreTable.col;

interface Storm {
  node: string;
  where: string;
  /** A second. */
  rate: number;
  requests: number;
  /** Bytes read and written for each of them. */
  bytes: number;
  columns: TableColumn[];
}

export default rule({
  id: 'metadata-storm',
  title: 'very many small files',
  help: 'A node sent a file server (NFS or Lustre) 200 metadata requests a second or more (open, look up, create, remove), with less than 64 KiB of data for each. Local file systems do not count this.',
  kind: 'trouble',
  order: 550,
  needs: [
    {
      what: 'requests to NFS or Lustre',
      columns: [
        ...LUSTRE,
        operations,
        read_operations,
        write_operations,
        nfs_read,
        nfs_written,
        read_bytes,
        written_bytes,
      ],
      has: (facts) => facts.statistics(operations).length > 0 || facts.statistics(open).length > 0,
      otherwise: { skipped: 'there is neither NFS nor Lustre here: local file systems do not count opened files' },
    },
  ],
  thresholds: {
    /** Metadata requests per second of a node. */
    rate: 200,
    /** Metadata requests in total: a start that loads a thousand libraries is no storm. */
    requests: 20_000,
    /** Bytes read and written for each request, above which they belong to the data. */
    bytes: 64 * 2 ** 10,
  },
  when(facts, { rate, requests, bytes }) {
    const storms = [...nfsOf(facts), ...lustreOf(facts)].filter(
      (one) => one.rate >= rate && one.requests >= requests && one.bytes < bytes,
    );
    return storms.length === 0 ? [] : [storms.sort((a, b) => b.rate - a.rate)];
  },
  severity: 'advice',
  say(storms) {
    const [{ where, rate }] = storms as [Storm];
    const nodes = [...new Set(storms.map(({ node }) => node))];
    return `${count(Math.round(rate), 'request')} a second for names and attributes of files went to ${where} from ${listed(nodes)}`;
  },
  evidence: (storms, _, { rate: threshold }) =>
    shown(storms).map(
      ({ node, where, rate, requests, bytes, columns }): Evidence => ({
        text: `${node}: ${figure(Math.round(requests))} requests to ${where}, ${figure(Math.round(rate))} a second, ${figure(Math.round(bytes / 1024))} KiB of data for each`,
        from: named(...shown(columns, 4)),
        node,
        value: rate,
        threshold,
      }),
    ),
  advise:
    'Put small files together (tar, HDF5, SQLite, a container image), unpack them on a local disk (/tmp, $TMPDIR) and work there, and keep files open instead of opening them again. Other users of the file system will notice, too.',
  confidence(storms, { nodes }) {
    const isShared = nodes.some((n) => (n.shared_with?.length ?? 0) > 0 && storms.some(({ node }) => node === n.node));
    return isShared
      ? medium('counted for the whole node, also for others on it')
      : high('counted by the client of the file system');
  },
});

const increase = (
  facts: RuleContext,
  column: TableColumn,
  node: string,
  keys: Readonly<Record<string, string>>,
): number => facts.statistics(column, keys).find((one) => one.node === node)?.statistics.increase ?? 0;

const secondsOf = ({ nodes, summary }: RuleContext, node: string): number =>
  nodes.find((n) => n.node === node)?.recorded_seconds || summary.wall_seconds || 1;

function nfsOf(facts: RuleContext): Storm[] {
  return facts.statistics(operations).map(({ node, keys, statistics }) => {
    const of = (column: TableColumn): number => increase(facts, column, node, keys);
    const requests = (statistics.increase ?? 0) - of(read_operations) - of(write_operations);
    const bytes = (of(nfs_read) + of(nfs_written)) / Math.max(1, requests);
    return {
      node,
      where: keys.mount ?? 'NFS',
      requests,
      rate: requests / secondsOf(facts, node),
      bytes,
      columns: [operations],
    };
  });
}

function lustreOf(facts: RuleContext): Storm[] {
  return facts.statistics(open).map(({ node, keys }) => {
    const of = (column: TableColumn): number => increase(facts, column, node, keys);
    const requests = LUSTRE.reduce((sum, column) => sum + of(column), 0);
    const bytes = (of(read_bytes) + of(written_bytes)) / Math.max(1, requests);
    return {
      node,
      where: keys.filesystem ?? 'Lustre',
      requests,
      rate: requests / secondsOf(facts, node),
      bytes,
      columns: LUSTRE,
    };
  });
}

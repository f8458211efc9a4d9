import type { Report } from '../ask.ts';
import { bytes } from '../value-text.ts';

type Figures = NonNullable<Report['summary']['memory']>;

/** Every way in which memory can be measured, and what each counts. */
const WAYS: readonly [keyof Figures, string, string][] = [
  [
    'cgroup_peak',
    'cgroup, peak',
    'All that the kernel charges to the job: programs, file cache and its own structures.',
  ],
  ['cgroup_anon_max', 'cgroup, programs', 'What programs allocated. The kernel cannot drop it.'],
  ['cgroup_file_max', 'cgroup, file cache', 'Copies of files. The kernel drops them when memory runs short.'],
  ['process_peaks_sum', 'processes, peaks added up', 'Shared pages count once for each process: an upper bound.'],
  ['process_pss_max', 'processes, PSS', 'Shared pages are divided among the processes. Sampled.'],
  [
    'process_shared_max',
    'processes, counted twice',
    'Shared pages that a sum over the processes counts again for each.',
  ],
  ['process_peak_max', 'largest process', 'The peak of one process: a lower bound.'],
  ['node_used_max', 'node, in use', 'All that was used on the node, by everybody.'],
];

/** The figures of memory side by side: they differ, and each says why. */
export function MemoryFigures({ report: { summary } }: { report: Report }) {
  const { memory, memory_limit_bytes: limit, memory_limit_source: source, memory_peak_node: node } = summary;
  const rows = WAYS.flatMap(([name, title, help]) => {
    const value = memory?.[name];
    return value === undefined ? [] : [{ name, title, help, value }];
  });
  if (rows.length === 0) return null;
  const most = Math.max(limit ?? 0, ...rows.map(({ value }) => value));
  return (
    <section class="card memory" aria-label="Memory, measured in different ways">
      <h2>
        Memory, measured in different ways <small>{node}</small>
      </h2>
      <table>
        <tbody>
          {rows.map(({ name, title, help, value }) => (
            <tr key={name}>
              <th scope="row">{title}</th>
              <td class="number">{bytes(value)}</td>
              <td class="graph" aria-hidden="true">
                <div>
                  <span style={{ width: `${(value / most) * 100}%` }} />
                  {limit !== undefined && <i style={{ left: `${(limit / most) * 100}%` }} title={bytes(limit)} />}
                </div>
              </td>
              <td class="faint">{help}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {limit !== undefined && (
        <p class="faint">
          The line is {source === 'machine' ? 'all memory of the node' : 'the limit of the job on the node'}:{' '}
          {bytes(limit)}.
        </p>
      )}
    </section>
  );
}

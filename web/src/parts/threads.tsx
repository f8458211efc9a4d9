import { latest, type ProcessData, type ThreadData, useAnswer } from '../ask.ts';
import { count, duration, sinceStart } from '../value-text.ts';
import { ShareCell } from './share-cell.tsx';

interface Props {
  job: string;
  start: number;
  data: ProcessData;
  /** Of this process; undefined: those of the job that used most. */
  process: number | undefined;
  onClose(): void;
}

const MOST = 200;

/** Threads, the busiest first: when each lived, how much of a CPU it used, how long it waited for one. */
export function Threads({ job, start, data, process, onClose }: Props) {
  const asked = useAnswer<ThreadData>(`/api/jobs/${job}/threads${process === undefined ? '' : `?process=${process}`}`);
  const threads = latest(asked);
  const title =
    process === undefined
      ? 'Busiest threads'
      : `Threads of ${data.names[data.name[process]!]!.slice(0, 80)}, pid ${data.pid[process]} on ${data.nodes[data.node[process]!]}`;
  return (
    <section class="threads" aria-label="Threads">
      <header>
        <h3>
          {title} <small>{threads === undefined ? '' : count(threads.length + threads.left_out, 'thread')}</small>
        </h3>
        <button type="button" onClick={onClose}>
          Close threads
        </button>
      </header>
      {asked.state === 'failed' && <p class="missing">{asked.why}</p>}
      {threads?.length === 0 && <p class="missing">No thread of it recorded its end.</p>}
      {threads !== undefined && threads.length > 0 && (
        <Table {...{ threads, data, start }} isOfOne={process !== undefined} />
      )}
    </section>
  );
}

interface TableProps {
  threads: ThreadData;
  data: ProcessData;
  start: number;
  isOfOne: boolean;
}

function Table({ threads, data, start, isOfOne }: TableProps) {
  const rows = Array.from({ length: threads.length }, (_, i) => i).sort(
    (a, b) => (threads.cpu[b] ?? -1) - (threads.cpu[a] ?? -1),
  );
  const times = [...threads.start, ...threads.end].filter((time) => time !== null);
  const [first, last] = [times.reduce((a, b) => Math.min(a, b)), times.reduce((a, b) => Math.max(a, b))];
  const at = (time: number): number => ((time - first) / Math.max(1, last - first)) * 100;
  const life = (i: number): number | undefined =>
    threads.start[i] === null || threads.end[i] === null ? undefined : (threads.end[i]! - threads.start[i]!) / 1e6;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="Table of threads">
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">Thread</th>
            {!isOfOne && <th scope="col">Process</th>}
            <th scope="col" class="number">
              Start
            </th>
            <th scope="col" class="number">
              Duration
            </th>
            <th scope="col" class="number">
              CPU time
            </th>
            <th scope="col" class="number">
              Of a CPU
            </th>
            <th scope="col" class="number">
              Waited for a CPU
            </th>
            <th scope="col">
              <span class="unseen">When it lived</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, MOST).map((i) => {
            const [lifetime, cpu, process] = [life(i), threads.cpu[i], threads.process[i]!];
            const use =
              lifetime === undefined || cpu === null || cpu === undefined ? undefined : cpu / Math.max(lifetime, 1e-3);
            return (
              <tr key={`${process} ${threads.tid[i]} ${threads.start[i]}`}>
                <th scope="row">
                  {threads.tid[i]}
                  {threads.tid[i] === String(data.pid[process]) && <small> main</small>}
                </th>
                {!isOfOne && (
                  <td>
                    {data.nodes[data.node[process]!]} {data.names[data.name[process]!]!.slice(0, 60)}
                  </td>
                )}
                <td class="number">{threads.start[i] === null ? '' : sinceStart(threads.start[i]! - start)}</td>
                <td class="number">{lifetime === undefined ? '' : duration(lifetime)}</td>
                <td class="number">{cpu === null || cpu === undefined ? '' : duration(cpu)}</td>
                <ShareCell value={use} />
                <td class="number">{(threads.waiting[i] ?? null) === null ? '' : duration(threads.waiting[i]!)}</td>
                <td class="graph" aria-hidden="true">
                  {lifetime !== undefined && (
                    <span
                      style={{
                        marginLeft: `${at(threads.start[i]!)}%`,
                        width: `${Math.max(0.5, at(threads.end[i]!) - at(threads.start[i]!))}%`,
                      }}
                    />
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {threads.length + threads.left_out > MOST && (
        <p class="faint">{count(threads.length + threads.left_out - MOST, 'thread')} that used less are not listed.</p>
      )}
    </div>
  );
}

import { useEffect, useMemo, useRef } from 'preact/hooks';
import { chartFile } from '../../../src/charts/chart-file.ts';
import { type ChartTheme, LIGHT } from '../../../src/charts/option.ts';
import {
  type DrawnStudy,
  scalingLegend,
  scalingOption,
  scalingPicture,
  sizeTitle,
} from '../../../src/charts/scaling-option.ts';
import { nameStem } from '../../../src/judge/scale/name-stem.ts';
import { sizeText } from '../../../src/judge/scale/size-text.ts';
import type { Study } from '../../../src/judge/scale/study.ts';
import { link, setQuery } from '../address.ts';
import { type JobList, latest, useAnswer } from '../ask.ts';
import { type Drawn, type Init, loadECharts } from '../charts/load.ts';
import { pictureOf, usePaper } from '../charts/paper.ts';
import { SaveMenu } from '../charts/save-menu.tsx';
import { CopyLink } from '../parts/copy-link.tsx';
import { Choice } from '../parts/query-fields.tsx';
import { ScrollTable } from '../parts/scroll-table.tsx';
import { ShareCell } from '../parts/share-cell.tsx';
import { useTheme } from '../theme.ts';
import { count, digits, duration } from '../value-text.ts';

type SentStudy = Omit<Study, 'predict'> & Pick<DrawnStudy, 'curve'> & { recommended_text?: string };

const BY = [
  ['', 'cores or GPUs'],
  ['cores', 'cores'],
  ['nodes', 'nodes'],
  ['gpus', 'GPUs'],
] as const;

/** How a program scales: the study of `tacho scale` over all its runs. */
export function ScalingPage({ query }: { query: URLSearchParams }) {
  useEffect(() => {
    document.title = 'Scaling · Tacho';
  }, []);
  const list = latest(useAnswer<JobList>('/api/jobs'));
  const programs = useMemo(() => programsOf(list?.jobs ?? []), [list]);
  const ids = query.get('jobs') ?? '';
  const usual = ids === '' ? programs.find(({ sizes }) => sizes > 1) : undefined;
  const program = query.get('program') ?? usual?.program;
  const stem = query.get('name') ?? (query.has('program') ? undefined : usual?.stem);
  const asked = new URLSearchParams();
  if (ids !== '') asked.set('jobs', ids);
  else if (program !== undefined) {
    asked.set('program', program);
    if (stem !== undefined) asked.set('name', stem);
  }
  for (const name of ['by', 'efficiency']) if (query.get(name)) asked.set(name, query.get(name)!);
  const reply = useAnswer<SentStudy>(ids === '' && program === undefined ? undefined : `/api/scaling?${asked}`);
  const study = latest(reply);
  return (
    <article class="scaling">
      <header class="page">
        <h1>Scaling</h1>
        <CopyLink />
      </header>
      <p class="controls">
        {ids === '' && (
          <label>
            Program{' '}
            <select
              value={keyOf(program, stem)}
              onChange={({ currentTarget }) => {
                const chosen = programs.find((each) => keyOf(each.program, each.stem) === currentTarget.value);
                setQuery({ program: chosen?.program, name: chosen?.stem }, true);
              }}
            >
              {!programs.some((each) => keyOf(each.program, each.stem) === keyOf(program, stem)) && (
                <option value={keyOf(program, stem)}>{program ?? 'choose …'}</option>
              )}
              {programs.map((each) => (
                <option key={keyOf(each.program, each.stem)} value={keyOf(each.program, each.stem)}>
                  {each.program}
                  {each.stem !== '' && each.stem !== each.program && `, job ${each.name}`} ({count(each.runs, 'run')} of{' '}
                  {count(each.sizes, 'size')})
                </option>
              ))}
            </select>
          </label>
        )}
        <Choice name="by" label="Sizes counted in" value={query.get('by') ?? ''} all={BY} />
        <label>
          Efficiency to keep{' '}
          <select
            value={query.get('efficiency') ?? '0.7'}
            onChange={({ currentTarget }) => setQuery({ efficiency: currentTarget.value })}
          >
            {['0.5', '0.6', '0.7', '0.8', '0.9'].map((value) => (
              <option key={value} value={value}>
                {Math.round(Number(value) * 100)} %
              </option>
            ))}
          </select>
        </label>
      </p>
      {reply.state === 'failed' ? (
        <div class="empty">
          <h2>There is no study to show</h2>
          <p>{reply.why}</p>
          <p>
            <code>tacho scale run --cores 1,2,4 -- COMMAND</code> makes one.
          </p>
        </div>
      ) : study !== undefined ? (
        <StudyView study={study} />
      ) : list !== undefined && program === undefined && ids === '' ? (
        <div class="empty">
          {list.lacks !== undefined && list.jobs.length > 0 ? (
            <>
              <h2>Programs are not known here</h2>
              <p>{list.lacks}</p>
            </>
          ) : (
            <>
              <h2>No program was run at two sizes</h2>
              <p>
                <code>tacho scale run --cores 1,2,4 -- COMMAND</code> makes a study; its runs appear here by themselves.
              </p>
            </>
          )}
        </div>
      ) : (
        <div class="empty" aria-busy="true">
          Reading …
        </div>
      )}
    </article>
  );
}

const keyOf = (program = '', stem = ''): string => `${program}\n${stem}`;

interface ProgramRuns {
  program: string;
  stem: string;
  /** What all of its jobs are called; # stands for numbers in which they differ. */
  name: string;
  runs: number;
  sizes: number;
}

/** Programs with their runs, apart by what the jobs are called; those that were run at most sizes first. */
function programsOf(jobs: JobList['jobs']): ProgramRuns[] {
  const ended = jobs.filter(({ program, end }) => program !== undefined && end !== undefined);
  return [...Map.groupBy(ended, ({ program, name }) => keyOf(program, nameStem(name))).values()]
    .map((all) => ({
      program: all[0]!.program!,
      stem: nameStem(all[0]!.name),
      name: all.every(({ name }) => name === all[0]!.name) ? all[0]!.name : nameStem(all[0]!.name),
      runs: all.length,
      sizes: new Set(all.map(({ cpus, gpus, tags }) => tags.cores ?? `${cpus} ${gpus ?? 0}`)).size,
    }))
    .filter(({ runs }) => runs > 1)
    .sort((a, b) => b.sizes - a.sizes || b.runs - a.runs);
}

function StudyView({ study }: { study: SentStudy }) {
  const theme = useTheme();
  return (
    <>
      <section class="card" aria-label="Speed-up">
        <h2>
          {study.program}: {study.kind} scaling <small>{study.kind_why}</small>
          <SaveMenu
            title="the chart of sizes"
            ways={{ csv: () => sizesCsv(study), svg: () => svgOf(study, theme), png: () => pngOfStudy(study, theme) }}
            file={(kind) => chartFile(study.program, 'scaling', kind)}
          />
        </h2>
        {study.recommended_text !== undefined && <p class="verdict">{study.recommended_text}</p>}
        <StudyChart study={study} />
        <p class="legend">
          {scalingLegend(study, theme).map(({ sign, name, colour }) => (
            <span key={sign}>
              <i style={{ background: colour }} />
              {sign}: {name}
            </span>
          ))}
        </p>
        {study.notes.map((note) => (
          <p key={note} class="faint">
            {note}
          </p>
        ))}
      </section>
      <section class="card" aria-label="Sizes">
        <h2>Sizes</h2>
        <ScrollTable label="Table of sizes">
          <thead>
            <tr>
              {[capital(sizeTitle(study.by)), 'Runs', 'Time', 'Speed-up', 'Efficiency', 'By the law', 'Core-hours'].map(
                (title) => (
                  <th key={title} scope="col" class="number">
                    {title}
                  </th>
                ),
              )}
            </tr>
          </thead>
          <tbody>
            {study.sizes.map((row) => (
              <tr key={row.size}>
                <th scope="row" class="number">
                  {row.size}
                </th>
                <td class="number">{row.runs}</td>
                <td class="number">{duration(row.wall_seconds)}</td>
                <td class="number">{row.speedup.toFixed(2)}</td>
                <ShareCell value={row.efficiency} />
                <td class="number">{row.predicted_speedup?.toFixed(2) ?? ''}</td>
                <td class="number">{row.core_hours === undefined ? '' : digits(row.core_hours)}</td>
              </tr>
            ))}
          </tbody>
        </ScrollTable>
        <h3>Runs</h3>
        <ul class="runs">
          {study.runs.map((run) => (
            <li key={run.recording}>
              <a {...link(`/job/${run.recording}`)}>{run.job}</a>: {sizeText(run.size, study.by)},{' '}
              {duration(run.wall_seconds)}
            </li>
          ))}
          {study.left_out.map(({ job, recording, why }) => (
            <li key={recording} class="faint">
              <a {...link(`/job/${recording}`)}>{job}</a> is left out: {why}
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** What the chart shows, by the names of `tacho scale --format csv`. */
function sizesCsv({ by, sizes }: SentStudy): string {
  const rows = sizes.map((row) => [
    row.size,
    row.runs,
    row.wall_seconds,
    row.speedup,
    row.efficiency,
    row.predicted_speedup ?? '',
  ]);
  const names = [by.replace(/^tag:/, ''), 'runs', 'wall_seconds', 'speedup', 'efficiency', 'predicted_speedup'];
  return [names, ...rows].map((row) => `${row.join(',')}\n`).join('');
}

async function svgOf(study: SentStudy, theme: ChartTheme): Promise<string> {
  const { scalingSvg } = await import('../../../src/charts/scaling-svg.ts');
  return scalingSvg(study, undefined, theme);
}

const PNG_SIZE = { width: 900, height: 550 };

async function pngOfStudy(study: SentStudy, theme: ChartTheme): Promise<string> {
  const { init } = await loadECharts();
  return pictureOf(init, PNG_SIZE, (chart) => chart.setOption(scalingPicture(study, theme)), theme);
}

const HEIGHT = 360;

function StudyChart({ study }: { study: SentStudy }) {
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<Drawn>(undefined);
  const init = useRef<Init>(undefined);
  const theme = useTheme();
  useEffect(() => {
    let isGone = false;
    const watch = new ResizeObserver(() => chart.current?.resize());
    void loadECharts().then((echarts) => {
      if (isGone) return;
      init.current = echarts.init;
      chart.current ??= echarts.init(box.current!, null, { renderer: 'canvas' });
      chart.current.setOption(scalingOption(study, theme), true);
      watch.observe(box.current!);
    });
    return () => {
      isGone = true;
      watch.disconnect();
    };
  }, [study, theme]);
  const paper = usePaper(
    (width) =>
      init.current &&
      pictureOf(init.current, { width, height: HEIGHT }, (one) => one.setOption(scalingOption(study, LIGHT))),
  );
  useEffect(() => () => chart.current?.dispose(), []);
  return (
    <div class="chart whole" style={{ height: `${HEIGHT}px` }}>
      <div ref={box} class="canvas" />
      <img ref={paper} class="paper" alt="" />
    </div>
  );
}

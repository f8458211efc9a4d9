import { render } from 'preact';
import { link, useAddress } from './address.ts';
import { ComparePage } from './pages/compare.tsx';
import { ExperimentPage } from './pages/experiment.tsx';
import { HistoryPage } from './pages/history.tsx';
import { JobPage } from './pages/job.tsx';
import { JobsPage } from './pages/jobs.tsx';
import { MetricsPage } from './pages/metrics.tsx';
import { NodesPage } from './pages/nodes.tsx';
import { ScalingPage } from './pages/scaling.tsx';
import { ThemeChoice } from './parts/theme-choice.tsx';

const PAGES = [
  ['/', 'Jobs'],
  ['/nodes', 'Nodes'],
  ['/history', 'History'],
  ['/scaling', 'Scaling'],
  ['/experiment', 'Experiments'],
  ['/metrics', 'Metrics'],
] as const;

function App() {
  const { path, query } = useAddress();
  const [, kind, id] = path.split('/');
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <nav class="top" aria-label="Tacho">
        <a class="mark" {...link('/')}>
          Tacho
        </a>
        {PAGES.map(([address, name]) => (
          <a key={address} {...link(address)} aria-current={path === address ? 'page' : undefined}>
            {name}
          </a>
        ))}
        <span class="rest" />
        <ThemeChoice />
      </nav>
      <main id="main">
        {kind === 'job' && id ? (
          <JobPage key={id} id={id} query={query} />
        ) : path === '/' ? (
          <JobsPage query={query} />
        ) : path === '/compare' ? (
          <ComparePage query={query} />
        ) : path === '/metrics' ? (
          <MetricsPage query={query} />
        ) : path === '/nodes' ? (
          <NodesPage query={query} />
        ) : path === '/history' ? (
          <HistoryPage query={query} />
        ) : path === '/scaling' ? (
          <ScalingPage query={query} />
        ) : path === '/experiment' ? (
          <ExperimentPage query={query} />
        ) : (
          <NotHere path={path} />
        )}
      </main>
    </>
  );
}

const NotHere = ({ path }: { path: string }) => (
  <div class="empty">
    <h1>There is no page {path}</h1>
    <p>
      <a {...link('/')}>All jobs</a>
    </p>
  </div>
);

render(<App />, document.getElementById('app')!);

import { render } from 'preact';
import { link, useAddress } from './address.ts';
import { ComparePage } from './pages/compare.tsx';
import { JobPage } from './pages/job.tsx';
import { JobsPage } from './pages/jobs.tsx';
import { MetricsPage } from './pages/metrics.tsx';
import { ThemeChoice } from './parts/theme-choice.tsx';

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
        <a {...link('/')} aria-current={path === '/' ? 'page' : undefined}>
          Jobs
        </a>
        <a {...link('/metrics')} aria-current={path === '/metrics' ? 'page' : undefined}>
          Metrics
        </a>
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

import { render } from 'preact';
import { useAddress } from './address.ts';
import { fillJobFile, packedJob } from './filed-job.ts';
import { JobPage } from './pages/job.tsx';
import { ThemeChoice } from './parts/theme-choice.tsx';

/** The page of one job in a file of its own, made by `tacho report --format html`. */
function App() {
  const { query } = useAddress();
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <nav class="top" aria-label="Tacho">
        <span class="mark">Tacho</span>
        <span class="rest" />
        <ThemeChoice />
      </nav>
      <main id="main">
        <JobPage id="job" query={query} />
      </main>
    </>
  );
}

/** Until now the report is seen, which needs no scripts; where this cannot be done, it stays. */
async function start(): Promise<void> {
  await fillJobFile(packedJob()!);
  document.getElementById('report')!.remove();
  document.getElementById('report-style')!.remove();
  document.getElementById('page-style')!.removeAttribute('media');
  render(<App />, document.getElementById('app')!);
}

void start();

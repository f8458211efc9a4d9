import { useState } from 'preact/hooks';

/** How long a print waits for charts that were not in sight so far. */
const MOST_MS = 30_000;
const LOOK_MS = 100;

const later = (): Promise<void> => new Promise((done) => setTimeout(done, LOOK_MS));

async function printAll(): Promise<void> {
  // charts that are not in sight are asked for now
  dispatchEvent(new Event('beforeprint'));
  const begun = performance.now();
  do await later();
  while (document.querySelector('.chart.waiting') !== null && performance.now() - begun < MOST_MS);
  await later();
  print();
}

/** Prints the page with all its charts. */
export function PrintPage() {
  const [isBusy, setBusy] = useState(false);
  return (
    <span class="copy">
      <button
        type="button"
        disabled={isBusy}
        onClick={() => {
          setBusy(true);
          void printAll().finally(() => setBusy(false));
        }}
      >
        {isBusy ? 'Printing …' : 'Print'}
      </button>
    </span>
  );
}

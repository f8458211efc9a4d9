import { useState } from 'preact/hooks';
import { verdict } from '../../../src/show/report/verdict.ts';
import type { Report } from '../ask.ts';
import { usePrinting } from '../printing.ts';

const SIGNS = { critical: '✖', warning: '▲', advice: '●', info: 'ℹ' } as const;
const FIRST = 4;

export type Evidence = Report['findings'][number]['evidence'][number];

interface Props {
  report: Report;
  /** Whether a chart can show it. */
  canShow(evidence: Evidence): boolean;
  onShow(evidence: Evidence): void;
}

/** What the rules found, each with its evidence and advice; evidence that was measured is shown on its chart. */
export function Findings({ report, canShow, onShow }: Props) {
  const { findings } = report;
  const [all, setAll] = useState(false);
  // paper has no button that shows the others
  const isPrinting = usePrinting();
  const shown = all || isPrinting ? findings : findings.slice(0, FIRST);
  return (
    <section class="findings" aria-label="Findings">
      <h2>Findings</h2>
      {findings.length === 0 && <p class="faint">{verdict(report)}</p>}
      {shown.map((one) => (
        <details key={one.id + one.text} class={one.severity}>
          <summary>
            <span class="sign" title={one.severity} role="img" aria-label={one.severity}>
              {SIGNS[one.severity]}
            </span>
            {one.text}
          </summary>
          <ul>
            {one.evidence.map((evidence) => (
              <li key={evidence.text} title={evidence.from}>
                {evidence.text}{' '}
                {canShow(evidence) && (
                  <button type="button" class="show" onClick={() => onShow(evidence)}>
                    Show <span class="unseen">{evidence.text}</span> on the chart
                  </button>
                )}
              </li>
            ))}
          </ul>
          <p class="advice">{one.advice}</p>
          <p class="faint">
            {one.confidence} confidence: {one.confidence_reason}
          </p>
        </details>
      ))}
      {findings.length > FIRST && (
        <button type="button" onClick={() => setAll(!all)}>
          {all ? 'Show fewer' : `Show ${findings.length - FIRST} more`}
        </button>
      )}
    </section>
  );
}

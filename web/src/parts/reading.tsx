import type { Asked } from '../ask.ts';

/** What stands where an answer is not there yet, or why it cannot be had. */
export function Reading({ asked }: { asked: Asked<unknown> }) {
  if (asked.state === 'failed') return <p class="trouble">{asked.why}</p>;
  return (
    <div class="empty" aria-busy="true">
      Reading …
    </div>
  );
}

import { marker } from '../sources/own/marker.ts';
import { Frame } from '../table/frame.ts';
import { add } from './host-tables.ts';
import { noise } from './noise.ts';
import type { Story } from './story.ts';

/** The marks that the job sets, in the order of time, as frames of one row: phases, and how quick each epoch was. */
export function* marks(story: Story, seed: number, start: number): Generator<Frame> {
  const n = noise(seed, 'marker');
  const frame = new Frame(marker.table);
  let last = Number.NEGATIVE_INFINITY;
  const mark = (second: number, action: string, name: string, value = Number.NaN): Frame => {
    // two marks are never set in the same moment
    last = Math.max(last + 150, start + Math.round(second * 1e6) + Math.floor(n.uniform() * 120));
    frame.clear(last);
    add(frame, [action, name, ''], [value]);
    return frame;
  };
  for (const { phase, name, start: begin, end } of story.stretches) {
    yield mark(begin, 'begin', name);
    if (phase === 'train') yield mark(end, 'fom', 'tokens_per_second', Math.round(412_000 * (1 + n.normal() * 0.008)));
    yield mark(end, 'end', name);
  }
}

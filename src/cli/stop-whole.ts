import { guard } from '../base/guard.ts';
import type { StopOptions, StoppedRecording } from './stop-finish.ts';

/** Loads another part of a release into this process (scripts/start.cjs). */
declare const tachoPart: (name: 'finish') => typeof import('./stop-finish.ts');

/** In the part of a release that ends agents it stands for `finish` of stop-finish.ts (scripts/bundle.ts): what seals and
 * judges is loaded now that no agent beside it takes memory. */
export async function finish(stopped: StoppedRecording, options: StopOptions): Promise<void> {
  // what the guard says is said once, to this part
  await tachoPart('finish').finish({ ...stopped, noted: stopped.noted - guard.usedSeconds }, options);
}

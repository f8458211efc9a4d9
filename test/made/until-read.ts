import type { IsolatedSources } from '../../src/agent/isolated/isolated.ts';
import type { Note } from '../../src/sources/host.ts';
import { eventually } from './eventually.ts';

/** Asks isolated sources until something has happened. */
export const untilRead =
  (isolated: IsolatedSources, notes: readonly Note[]) =>
  async (what: string, happened: () => boolean): Promise<void> => {
    await eventually(
      () => `${what}; notes: ${JSON.stringify(notes)}`,
      () => {
        if (happened()) return true;
        isolated.request(Date.now() * 1000);
        return false;
      },
    );
  };

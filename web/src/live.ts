import { useEffect, useState } from 'preact/hooks';
import type { LiveNotice } from '../../src/serve/api.ts';
import { BASE } from './base.ts';

export interface Live {
  /** Grows with every sample that the server tells of. */
  again: number;
  /** Nodes from which nothing comes, and since when. */
  silent: LiveNotice['silent'];
  /** Why nothing is known of the job just now. */
  trouble?: string;
  /** Whether the server can be heard. */
  isHeard: boolean;
}

/** Follows a job that runs: the server pushes a notice with every new sample. A server that went away is tried again. */
export function useLive(id: string, isLive: boolean): Live {
  const [live, set] = useState<Live>({ again: 0, silent: [], isHeard: true });
  useEffect(() => {
    if (!isLive) return undefined;
    const events = new EventSource(`${BASE}/api/jobs/${id}/live`);
    let before: string | undefined;
    events.addEventListener('sample', (event) => {
      const { data } = event as MessageEvent<string>;
      const { state, silent, trouble } = JSON.parse(data) as LiveNotice;
      // of a job that only may go on nothing is asked again until it does
      const isNews = state === 'running' || data !== before;
      before = data;
      set(({ again }) => ({
        again: isNews ? again + 1 : again,
        silent,
        isHeard: true,
        ...(trouble === undefined ? {} : { trouble }),
      }));
    });
    events.onerror = () => set((now) => ({ ...now, isHeard: false }));
    events.onopen = () => set((now) => (now.isHeard ? now : { ...now, again: now.again + 1, isHeard: true }));
    return () => events.close();
  }, [id, isLive]);
  return live;
}

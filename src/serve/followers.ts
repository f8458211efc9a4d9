import { reason } from '../base/fault.ts';
import { watchRecording } from '../recording/live/watching.ts';
import type { Viewer } from './access/viewer.ts';
import type { LiveNotice } from './api.ts';
import type { OpenJob } from './collections/collection.ts';

/** Whoever looks at jobs without being asked to. */
export interface Watch {
  /** Whoever wants it. */
  open(id: string): Promise<OpenJob>;
  maySee(viewer: Viewer, job: OpenJob): boolean;
}

interface Follower {
  viewer: Viewer;
  tell(notice: LiveNotice): void;
  /** The job is not this viewer's to see any more. */
  end(): void;
}

interface Followed {
  followers: Set<Follower>;
  stop(): void;
}

/** How often the files of a followed job are looked at. */
const LOOK_MS = 500;
/** Also when nothing came somebody says so now and then: a node may have fallen silent, a connection may be dead. */
const ANYWAY_MS = 5000;

/** Jobs that run, each looked at once however many browsers follow it. */
export class Followers {
  #followed = new Map<string, Followed>();
  readonly #watch: Watch;

  constructor(watch: Watch) {
    this.#watch = watch;
  }

  /** Says what is new of a job until the function that is returned is called. */
  follow(id: string, follower: Follower): () => void {
    const followed = this.#followed.get(id) ?? this.#begin(id);
    followed.followers.add(follower);
    return () => {
      followed.followers.delete(follower);
      if (followed.followers.size > 0) return;
      followed.stop();
      this.#followed.delete(id);
    };
  }

  close(): void {
    for (const { stop } of this.#followed.values()) stop();
    this.#followed.clear();
  }

  #begin(id: string): Followed {
    const followers = new Set<Follower>();
    let unwatch: (() => void) | undefined;
    let ended = false;
    let [last, notifiedAt, isLooking] = [undefined as OpenJob | string | undefined, performance.now(), false];
    const look = async (): Promise<void> => {
      const openedOrReason = await this.#watch.open(id).catch((error: unknown) => reason(error));
      // a busy hub then asks the job's nodes for their samples more often
      if (typeof openedOrReason !== 'string' && openedOrReason.isLive && openedOrReason.folder !== undefined && !ended)
        unwatch ??= watchRecording(openedOrReason.folder);
      if (openedOrReason === last && performance.now() - notifiedAt < ANYWAY_MS) return;
      [last, notifiedAt] = [openedOrReason, performance.now()];
      // a folder may be gone for good or for a moment: it is said, and looked for again
      const notice =
        typeof openedOrReason === 'string'
          ? { last: null, state: 'unknown', silent: [], trouble: openedOrReason }
          : noticeOf(openedOrReason);
      for (const follower of followers)
        if (typeof openedOrReason === 'string' || this.#watch.maySee(follower.viewer, openedOrReason))
          follower.tell(notice);
        else follower.end();
    };
    const timer = setInterval(() => {
      if (isLooking) return;
      isLooking = true;
      void look().finally(() => {
        isLooking = false;
      });
    }, LOOK_MS);
    const stop = (): void => {
      clearInterval(timer);
      ended = true;
      unwatch?.();
    };
    const followed = { followers, stop };
    this.#followed.set(id, followed);
    return followed;
  }
}

export function noticeOf({ report }: OpenJob): LiveNotice {
  const { nodes, job } = report();
  const times = nodes.flatMap(({ last_sample: last }) => last ?? []);
  return {
    last: times.length === 0 ? null : Math.max(...times),
    state: job.state,
    silent: nodes.flatMap(({ node, status, last_sample: since }) =>
      (status === 'silent' || status === 'stopped early') && since !== undefined ? [{ node, since }] : [],
    ),
  };
}

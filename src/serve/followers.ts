import { reason } from '../base/fault.ts';
import type { LiveNotice } from './api.ts';
import { fingerprintOf } from './fingerprint.ts';
import type { OpenJob } from './open-jobs.ts';

type Follower = (notice: LiveNotice) => void;

/** How often the files of a followed job are looked at. */
const LOOK_MS = 500;
/** Also when nothing came somebody says so now and then: a node may have fallen silent, a connection may be dead. */
const ANYWAY_MS = 5000;

/** Jobs that run, each looked at once however many browsers follow it. */
export class Followers {
  #followed = new Map<string, { followers: Set<Follower>; timer: NodeJS.Timeout }>();
  #open: (id: string) => OpenJob;

  constructor(open: (id: string) => OpenJob) {
    this.#open = open;
  }

  /** Says what is new of a job until the function that is returned is called. */
  follow(id: string, follower: Follower): () => void {
    const followed = this.#followed.get(id) ?? this.#begin(id);
    followed.followers.add(follower);
    return () => {
      followed.followers.delete(follower);
      if (followed.followers.size > 0) return;
      clearInterval(followed.timer);
      this.#followed.delete(id);
    };
  }

  close(): void {
    for (const { timer } of this.#followed.values()) clearInterval(timer);
    this.#followed.clear();
  }

  #begin(id: string) {
    let [state, told] = ['', performance.now()];
    const followers = new Set<Follower>();
    const look = (): void => {
      try {
        const { entry } = this.#open(id);
        const now = fingerprintOf(entry.path);
        if (now === state && performance.now() - told < ANYWAY_MS) return;
        [state, told] = [now, performance.now()];
        const notice = noticeOf(this.#open(id));
        for (const follower of followers) follower(notice);
      } catch (error) {
        // the folder may be gone for good or for a moment: whoever asks for the job is told
        process.stderr.write(`tacho serve: ${reason(error)}\n`);
      }
    };
    const followed = { followers, timer: setInterval(look, LOOK_MS) };
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

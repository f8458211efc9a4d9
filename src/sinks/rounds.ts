import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { inTime } from '../base/in-time.ts';
import { Backoff } from './backoff.ts';

/** What a sink does in one round. */
export interface Round {
  /** Sends what there is, or some of it; throws when it cannot. `ending`: this is the last chance. */
  send(ending: boolean): Promise<Sent>;
  /** Puts things right after a round that failed, and says in words what was wrong. */
  failed(error: unknown): string | Promise<string>;
  /** Milliseconds from now to the next round, when somebody wakes us; `atOnce`: what is there shall not wait for more. */
  pause(atOnce: boolean): number;
  /** Milliseconds from now to a round that is needed although nobody wakes us; undefined: none is. */
  unasked?(): number | undefined;
}

export interface Sent {
  /** There is more to send at once. */
  more?: boolean;
  /** What could not be sent although the round went well, in words. */
  trouble?: string | undefined;
}

/** Milliseconds between a round that failed and the next one at the end, when there is little time. */
const LAST_PAUSE_MS = 200;

/** When a sink sends: one round at a time; after a failure again, ever later; and once more when it is closed. */
export class Rounds {
  trouble: string | undefined;
  readonly backoff = new Backoff();
  private readonly round: Round;
  private timer: NodeJS.Timeout | undefined;
  private due = 0;
  private running: Promise<void> | undefined;
  private woken = false;
  private atOnce = false;
  private failing = false;
  private closed = false;

  constructor(round: Round) {
    this.round = round;
  }

  /** Something may be there to send; `atOnce`: it shall not wait for more. Returns at once and never throws. */
  wake(atOnce = false): void {
    this.atOnce ||= atOnce;
    if (this.running !== undefined) this.woken = true;
    // after a failure the next round has its time, whoever asks
    else if (!this.failing) this.schedule(this.round.pause(this.atOnce));
  }

  /** Sends what is left, for at most so long. */
  async close(seconds: number): Promise<void> {
    const deadline = performance.now() + seconds * 1000;
    const left = (): number => Math.max(0, deadline - performance.now());
    this.closed = true;
    this.cancel();
    await inTime(left(), this.running);
    while (this.running === undefined && left() > 0) {
      await inTime(left(), this.start());
      if (this.trouble === undefined) return;
      await sleep(Math.min(LAST_PAUSE_MS, left()));
    }
  }

  private schedule(ms: number): void {
    const due = performance.now() + ms;
    if (this.closed || (this.timer !== undefined && this.due <= due)) return;
    this.cancel();
    this.due = due;
    this.timer = setTimeout(() => void this.start(), Math.max(0, ms)).unref();
  }

  private cancel(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private start(): Promise<void> {
    this.cancel();
    this.woken = false;
    this.atOnce = false;
    this.running ??= this.run().finally(() => {
      this.running = undefined;
      this.goOn();
    });
    return this.running;
  }

  private goOn(): void {
    if (this.closed || this.failing) return;
    if (this.woken) this.wake();
    else {
      const unasked = this.round.unasked?.();
      if (unasked !== undefined) this.schedule(unasked);
    }
  }

  private async run(): Promise<void> {
    const ending = this.closed;
    try {
      let sent = await this.round.send(ending);
      while (sent.more === true && this.closed === ending) {
        await setImmediate();
        sent = await this.round.send(ending);
      }
      this.trouble = sent.trouble;
      this.failing = false;
      this.backoff.reset();
    } catch (error) {
      this.failing = true;
      const pause = this.backoff.next() * 1000;
      this.trouble = await this.round.failed(error);
      this.schedule(pause);
    }
  }
}

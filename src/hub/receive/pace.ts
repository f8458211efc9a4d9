import { performance } from 'node:perf_hooks';

export interface BatchLimits {
  /** Seconds for which agents collect samples while the hub has room (0: each tick is sent at once) and while it is busy. */
  idle: number;
  busy: number;
}

const USUAL_BATCHES: BatchLimits = { idle: 0, busy: 10 };

/** Between the two limits. A step at least halves or doubles the requests, so that it can be seen in how busy the hub is. */
const STEPS = [2, 5];
/** Above this share of its time a hub is busy; below the other it has room, also with two and a half times the requests. */
const BUSY = 0.6;
const ROOM = 0.22;
const LOOK_SECONDS = 3;

/** How long agents collect samples before they send them: the busier the hub, the longer. */
export class Pace {
  private readonly steps: readonly number[];
  private step = 0;
  private before = performance.eventLoopUtilization();
  private nextLook = 0;

  constructor({ idle, busy }: BatchLimits = USUAL_BATCHES) {
    this.steps = [idle, ...STEPS.filter((seconds) => seconds > idle && seconds < busy), Math.max(idle, busy)];
  }

  /** Seconds for a job that somebody watches: as short as there is. */
  get shortest(): number {
    return this.steps[0]!;
  }

  get seconds(): number {
    return this.steps[this.step]!;
  }

  /** Called every few seconds. `now`: the steady clock, in seconds. */
  look(now = performance.now() / 1000): void {
    if (now < this.nextLook) return;
    const { utilization } = performance.eventLoopUtilization(this.before);
    this.before = performance.eventLoopUtilization();
    this.change(utilization);
    // agents hear of it with their next batch: what follows from it is seen after two of them
    this.nextLook = now + Math.max(LOOK_SECONDS, 2 * this.seconds);
  }

  /** The hub was busy for this share of the time. */
  change(utilization: number): void {
    if (utilization > BUSY) this.step = Math.min(this.step + 1, this.steps.length - 1);
    else if (utilization < ROOM) this.step = Math.max(0, this.step - 1);
  }
}

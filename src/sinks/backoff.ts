const FIRST_SECONDS = 0.2;
const LONGEST_SECONDS = 30;

/** How long to wait before the next attempt: soon at first, then ever longer, and never all nodes at once. */
export class Backoff {
  private failures = 0;

  /** Seconds to wait after one more failure. */
  next(random: number = Math.random()): number {
    const longest = Math.min(LONGEST_SECONDS, FIRST_SECONDS * 2 ** Math.min(this.failures++, 30));
    return longest * (0.5 + random / 2);
  }

  get count(): number {
    return this.failures;
  }

  reset(): void {
    this.failures = 0;
  }
}

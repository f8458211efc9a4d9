import { reason } from '../../base/fault.ts';

/** How long a list holds. */
const LOOK_MS = 2000;

/**
 * A list that somebody else keeps. Many who want it at once ask once; when it cannot be had, the last one stays and the
 * reason is among the troubles.
 */
export class KeptList<T> {
  readonly #ask: () => Promise<T[]>;
  #asked: Promise<void> | undefined;
  #until = Number.NEGATIVE_INFINITY;
  #rows: T[] = [];
  #troubles: string[] = [];

  constructor(ask: () => Promise<T[]>) {
    this.#ask = ask;
  }

  async get(): Promise<{ rows: T[]; troubles: string[] }> {
    if (performance.now() >= this.#until) {
      this.#asked ??= this.#renew();
      await this.#asked;
    }
    return { rows: this.#rows, troubles: this.#troubles };
  }

  /** The newest list is looked at once more for what the last one lacks. */
  async find(isWanted: (row: T) => boolean): Promise<T | undefined> {
    return this.#rows.find(isWanted) ?? (await this.get()).rows.find(isWanted);
  }

  async #renew(): Promise<void> {
    try {
      this.#rows = await this.#ask();
      this.#troubles = [];
    } catch (error) {
      this.#troubles = [reason(error)];
    } finally {
      this.#until = performance.now() + LOOK_MS;
      this.#asked = undefined;
    }
  }
}

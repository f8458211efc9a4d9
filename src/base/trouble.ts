/** Something that is wrong for a while. */
export interface Trouble {
  /** It is wrong now: said when it begins. */
  wrong(message: string): void;
  /** It is right now: said when it was wrong, and not again for a while. */
  right(message: string): void;
}

/** What fails on and off is one trouble. */
const CALM_MS = 10_000;

/** Says when something begins to be wrong and when it is over, however often either is found. */
export function trouble(
  say: (message: string) => void,
  now: () => number = () => performance.now(),
  calm = CALM_MS,
): Trouble {
  let lately: number | undefined;
  return {
    wrong(message) {
      if (lately === undefined) say(message);
      lately = now();
    },
    right(message) {
      if (lately === undefined || now() - lately < calm) return;
      lately = undefined;
      say(message);
    },
  };
}

/** Tells administrators who was refused. */
export interface Refusals {
  /** `kind`: refusals of one kind from one address are counted together. */
  note(address: string, kind: string, why: string): void;
}

interface Known {
  until: number;
  more: number;
}

const EVERY_MS = 60_000;
/** A scan from everywhere must not cost memory, nor fill the log. */
const MOST_KNOWN = 1_000;
const LONGEST = 200;

/** At most one line a minute for each address and kind; the next one says how many there were meanwhile. */
export function refusals(tell: (text: string) => void, now: () => number = () => performance.now()): Refusals {
  const known = new Map<string, Known>();
  return {
    note(address, kind, why) {
      const key = `${address} ${kind}`;
      const time = now();
      const before = known.get(key);
      if (before !== undefined && time < before.until) {
        before.more++;
        return;
      }
      known.delete(key);
      if (known.size >= MOST_KNOWN) {
        for (const [old, { until }] of known) if (until <= time) known.delete(old);
        if (known.size >= MOST_KNOWN) return;
      }
      known.set(key, { until: time + EVERY_MS, more: 0 });
      const more = before === undefined || before.more === 0 ? '' : ` (and ${before.more} more since)`;
      tell(`refused ${shown(address)}: ${shown(why)}${more}`);
    },
  };
}

/** What others send must not write into a terminal, nor lines of its own into a log. */
const shown = (text: string): string => text.slice(0, LONGEST).replaceAll(/\p{C}|\p{Zl}|\p{Zp}/gu, '?');

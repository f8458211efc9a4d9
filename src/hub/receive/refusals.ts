import { networkOf } from './network.ts';

/** Tells administrators who was refused. */
export interface Refusals {
  /** `kind`: refusals of one kind from one address are counted together. `who`: if they have proved it. */
  note(address: string, kind: string, why: string, who?: string): void;
}

interface Known {
  until: number;
  more: number;
}

const EVERY_MS = 60_000;
/** A scan from everywhere must not cost memory, nor fill the log; */
const MOST_KNOWN = 1_000;
/** one from some network, or somebody's who has proved who they are, leaves room for what is to be said of others. */
const MOST_OF_ONE = 100;
const LONGEST = 200;

/** At most one line a minute for each address and kind; the next one says how many there were meanwhile. */
export function refusals(log: (text: string) => void, now: () => number = () => performance.now()): Refusals {
  const proved = bounded(log, now);
  const others = bounded(log, now);
  return {
    note(address, kind, why, who) {
      if (who === undefined) others(groupOf(address), address, kind, why);
      else proved(who, address, kind, why);
    },
  };
}

const groupOf = (address: string): string => networkOf(address) ?? address.replace(/\.\d+$/, '');

function bounded(log: (text: string) => void, now: () => number) {
  const refusalsByKey = new Map<string, Known>();
  const groups = new Map<string, number>();
  let untold = 0;
  const count = (group: string, more: number): void => {
    const size = (groups.get(group) ?? 0) + more;
    if (size === 0) groups.delete(group);
    else groups.set(group, size);
  };
  const groupIn = (key: string): string => key.slice(0, key.indexOf('\n'));
  return (group: string, address: string, kind: string, why: string): void => {
    const key = `${group}\n${address} ${kind}`;
    const time = now();
    const before = refusalsByKey.get(key);
    if (before !== undefined && time < before.until) {
      before.more++;
      return;
    }
    const isFull = (): boolean => refusalsByKey.size >= MOST_KNOWN || (groups.get(group) ?? 0) >= MOST_OF_ONE;
    if (before !== undefined && refusalsByKey.delete(key)) count(group, -1);
    if (isFull()) {
      // they are in the order in which they run out
      for (const [old, { until }] of refusalsByKey) {
        if (until > time) break;
        refusalsByKey.delete(old);
        count(groupIn(old), -1);
      }
      if (isFull()) return void untold++;
    }
    refusalsByKey.set(key, { until: time + EVERY_MS, more: 0 });
    count(group, 1);
    const more = before === undefined || before.more === 0 ? '' : ` (and ${before.more} more since)`;
    const rest = untold === 0 ? '' : ` (and ${untold} others not logged)`;
    untold = 0;
    log(`refused ${shown(address)}: ${shown(why)}${more}${rest}`);
  };
}

/** What others send must not write into a terminal, nor lines of its own into a log. */
const shown = (text: string): string => text.slice(0, LONGEST).replaceAll(/\p{C}|\p{Zl}|\p{Zp}/gu, '?');

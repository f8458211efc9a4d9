import { type Fault, usage } from '../../../base/fault.ts';
import { suggest } from '../../../base/suggest.ts';
import type { Config } from '../../../config/config.ts';
import { rules } from '../index.ts';
import { SHORT_JOB_SECONDS, type Thresholds } from './rule.ts';

/** The rules as a configuration has them. */
export interface RuleSettings {
  /** All thresholds of rules of which some are set, by the rule’s id. */
  thresholds: ReadonlyMap<string, Thresholds>;
  /** Rules that are not applied, and where that is said. */
  off: ReadonlyMap<string, string>;
  /** Waste is judged in jobs of so many seconds and more. */
  shortest_seconds?: number;
}

/** The same as JSON has it, for another process. */
export interface WrittenRules extends Pick<RuleSettings, 'shortest_seconds'> {
  thresholds: [string, Thresholds][];
  off: [string, string][];
}

export const writtenRules = ({ thresholds, off, ...rest }: RuleSettings): WrittenRules => ({
  ...rest,
  thresholds: [...thresholds],
  off: [...off],
});

export const readRules = ({ thresholds, off, ...rest }: WrittenRules): RuleSettings => ({
  ...rest,
  thresholds: new Map(thresholds),
  off: new Map(off),
});

type Settings = Pick<Config, 'thresholds' | 'rules.off' | 'rules.shortest' | 'origins'>;

/** What is wrong is thrown, or told to `forgive` and not used. */
export function ruleSettingsOf(config: Settings, forgive?: (wrong: Fault) => void): RuleSettings {
  const byId = new Map(rules.map((rule) => [rule.id, rule]));
  const refuse = (origin: string, what: string, given: string, names: readonly string[]): void => {
    const meant = suggest(given, names);
    const question = meant === undefined ? '' : `; did you mean "${meant}"?`;
    const wrong = usage(`${origin}: ${what} "${given}"${question}`, hintOf(names));
    if (forgive === undefined) throw wrong;
    forgive(wrong);
  };
  const thresholds = new Map<string, Record<string, number>>();
  for (const { rule: id, name, value, origin } of config.thresholds) {
    const own = byId.get(id)?.thresholds;
    if (own === undefined) refuse(origin, 'there is no rule', id, [...byId.keys()]);
    else if (!(name in own)) refuse(origin, `the rule ${id} has no threshold`, name, Object.keys(own));
    else thresholds.set(id, { ...own, ...thresholds.get(id), [name]: value });
  }
  const off = new Map<string, string>();
  const origin = config.origins.get('rules.off') ?? 'rules.off';
  for (const id of config['rules.off']) {
    if (byId.has(id)) off.set(id, origin);
    else refuse(origin, 'there is no rule', id, [...byId.keys()]);
  }
  return { thresholds, off, shortest_seconds: config['rules.shortest'] ?? SHORT_JOB_SECONDS };
}

/** A few names are listed at once. */
const FEW = 12;

const hintOf = (names: readonly string[]): string =>
  names.length === 0
    ? 'it has none'
    : names.length <= FEW
      ? `it has ${names.join(', ')}`
      : 'docs/configuration.md lists the rules and their thresholds';

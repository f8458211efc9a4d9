import { warn } from '../base/warn.ts';
import { type Config, loadConfig } from '../config/config.ts';
import { type RuleSettings, ruleSettingsOf } from '../judge/rules/shared/settings.ts';
import { hasRuleSettings } from './has-rule-settings.ts';

/** The rules as the configuration has them: the same in all that judges. What is wrong with it is said, and not used. */
export async function forgivingRules(config?: string): Promise<RuleSettings> {
  return rulesIn(await loadConfig({}, config, undefined, () => {}));
}

/** The same for whoever may use kept reports; undefined: the configuration says nothing of the rules. */
export async function changedRules(config?: string): Promise<RuleSettings | undefined> {
  const settings = await loadConfig({}, config, undefined, () => {});
  return hasRuleSettings(settings) ? rulesIn(settings) : undefined;
}

const rulesIn = (settings: Config): RuleSettings =>
  ruleSettingsOf(settings, (wrong) => warn(`${wrong.message}: it is not used`));

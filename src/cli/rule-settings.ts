import { warn } from '../base/warn.ts';
import { loadConfig } from '../config/config.ts';
import { type RuleSettings, ruleSettingsOf } from '../judge/rules/shared/settings.ts';

/** The rules as the configuration has them: the same in all that judges. What is wrong with it is said, and not used. */
export async function forgivingRules(config?: string): Promise<RuleSettings> {
  const settings = await loadConfig({}, config, undefined, () => {});
  return ruleSettingsOf(settings, (wrong) => warn(`${wrong.message}: it is not used`));
}

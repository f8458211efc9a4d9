import type { Config } from '../config/config.ts';

/** Whether the configuration says anything of the rules. */
export const hasRuleSettings = (config: Config): boolean =>
  config.thresholds.length > 0 || config['rules.off'].length > 0 || config.origins.has('rules.shortest');

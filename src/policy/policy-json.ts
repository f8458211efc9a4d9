import { stated } from '../base/stated.ts';
import type { Policy } from './policy.ts';

/** A policy, as programs read it. */
export function policyJson(policy: Policy): Record<string, unknown> {
  const { when, total, unless, cancel, ...rest } = policy;
  const texts = (all: Policy['when']): string[] => all.map(({ text }) => text);
  return { ...rest, when: texts(when), total: texts(total), unless: texts(unless), ...stated({ cancel }) };
}

// biome-ignore format: as they come
export const POLICY_COLUMNS = ['name', 'enabled', 'help', 'per', 'jobs', 'window_seconds', 'period_seconds', 'when', 'total', 'unless', 'scope', 'most', 'actions', 'to', 'cancel', 'origin'];

import { usage } from '../../base/fault.ts';
import type { Roles } from './viewer.ts';

/** Roles as the configuration has them: names, and USER:ACCOUNT. */
export function rolesOf(administrators: readonly string[], projectManagers: readonly string[]): Roles {
  const managers = new Map<string, string[]>();
  for (const each of projectManagers) {
    const [, user, account] = /^([^:]+):(.+)$/.exec(each) ?? [];
    if (user === undefined) throw usage(`serve.project_managers: "${each}" is not USER:ACCOUNT`, 'as in "ada:physics"');
    managers.set(user, [...(managers.get(user) ?? []), account!]);
  }
  return { administrators, managers };
}

import type { Config } from '../config/config.ts';
import type { SettingKey } from '../config/settings.ts';
import type { Outlet } from './service.ts';

/** The settings that say where samples go besides the spool. */
export const SINK_SETTINGS = [] as const satisfies readonly SettingKey[];

/** Where the configuration sends samples to; undefined: nowhere, recordings stay in the spool. Each sink's code is loaded only when it is used. */
export async function makeOutlet(_config: Config): Promise<Outlet | undefined> {
  return undefined;
}

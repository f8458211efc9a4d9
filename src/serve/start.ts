import { stated } from '../base/stated.ts';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import { keptToken } from './kept-token.ts';
import { pageFolder } from './page-files.ts';
import { makeServer } from './server.ts';

export interface Serving {
  /** With the token. */
  url: string;
  port: number;
  close(): Promise<void>;
}

/** Serves the page on this machine alone. Port 0: any that is free. */
export async function startServing(folders: readonly string[], port: number, rules?: RuleSettings): Promise<Serving> {
  const token = keptToken();
  const { app } = await makeServer({ folders, token, page: pageFolder(), ...stated({ rules }) });
  await app.listen({ host: '127.0.0.1', port });
  const { port: taken } = app.server.address() as { port: number };
  return { url: `http://127.0.0.1:${taken}/?token=${token}`, port: taken, close: () => app.close() };
}

import * as fs from 'node:fs';
import * as path from 'node:path';
import type { AskOptions } from '../hub/ask-nodes.ts';
import type { RuleSettings } from '../judge/rules/shared/settings.ts';
import { shownHost } from '../trust/listen-address.ts';
import { stateFolder } from './access/kept-token.ts';
import { type AccessSettings, doorOf, type Listening } from './access/options.ts';
import { noteServer } from './access/running-servers.ts';
import { Shares } from './access/shares.ts';
import type { Collection } from './collections/collection.ts';
import { pageFolder } from './page-files.ts';
import { makeServer } from './server.ts';

/** Where the jobs are that are shown. */
export type Opened =
  | { folders: readonly string[] }
  | { store: string }
  | { database: string }
  | { hub: URL; options: AskOptions };

export interface Serving {
  /** With the token, where there is one. */
  url: string;
  /** Not there: it listens on a Unix socket. */
  port?: number;
  close(): Promise<void>;
}

/** Serves the page. Port 0: any that is free. */
export async function startServing(
  opened: Opened,
  listening: Listening,
  settings: AccessSettings,
  rules?: RuleSettings,
): Promise<Serving> {
  const { door, token } = await doorOf(settings, listening);
  const state = stateFolder();
  const shares = new Shares(settings['serve.shares'] ?? (state && path.join(state, 'serve-shares.json')));
  const collection = await collectionOf(opened, rules);
  const origin = settings['serve.url'];
  const url = origin === undefined ? {} : { url: new URL(origin) };
  const { app } = await makeServer({ collection, door, shares, page: pageFolder(), ...url });
  const close = (): Promise<void> => app.close();
  if ('socket' in listening) {
    const { socket } = listening;
    removeDeadSocket(socket);
    await app.listen({ path: socket });
    // whoever may open it is believed: its owner and group
    fs.chmodSync(socket, 0o660);
    return { url: origin ?? `unix:${socket}`, close };
  }
  await app.listen({ host: listening.host, port: listening.port });
  const { port } = app.server.address() as { port: number };
  const here = `http://${shownHost(listening.host)}:${port}/`;
  const reached = origin === undefined ? here : `${origin.replace(/\/+$/, '')}/`;
  if (token === undefined) return { url: reached, port, close };
  const forget = noteServer(`${here}?token=${token}`);
  return {
    ...{ url: `${reached}?token=${token}`, port },
    close() {
      forget();
      return close();
    },
  };
}

/** What a server that was killed has left. */
function removeDeadSocket(file: string): void {
  if (fs.lstatSync(file, { throwIfNoEntry: false })?.isSocket() === true) fs.rmSync(file);
}

async function collectionOf(opened: Opened, rules?: RuleSettings): Promise<Collection> {
  if ('folders' in opened)
    return new (await import('./collections/folders.ts')).FolderCollection(opened.folders, rules);
  if ('store' in opened) return new (await import('./collections/store.ts')).StoreCollection(opened.store, rules);
  if ('database' in opened) {
    const { DatabaseCollection } = await import('./collections/database.ts');
    return new DatabaseCollection(opened.database);
  }
  return new (await import('./collections/hub.ts')).HubCollection(opened.hub, opened.options, rules);
}

export { parseListening } from './access/options.ts';

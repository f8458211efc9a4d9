import { formatDuration } from '../base/duration.ts';
import { Fault, reason } from '../base/fault.ts';
import { warn } from '../base/warn.ts';
import { type Credentials, type Gatekeeper, type Identity, NO_CREDENTIALS, OPEN_DOOR, Refused } from './identity.ts';
import { type Decoded, type Munge, openMunge } from './munge.ts';
import { isAt } from './same-host.ts';
import { readKey, readToken, readTokenFile } from './token.ts';

export interface TrustOptions {
  method: 'none' | 'munge' | 'token';
  /** Hub: the key with which tokens were made. */
  keyFile?: string;
  /** Agents and users: their own token. */
  tokenFile?: string;
  /** The socket of a MUNGE daemon other than the system's. */
  mungeSocket?: string;
  /** Users as whom agents may run, besides root. */
  agentUids?: readonly number[];
  /** Users who may see everything, besides root. */
  administratorUids?: readonly number[];
}

/** What a credential carries: it was made for a hub of Tacho, not for some other service of the site. */
const PURPOSE = 'tacho-hub 1';

const noMunge = (why: string): Fault =>
  new Fault(`MUNGE cannot be used: ${why}`, {
    hint: 'is munged running here? munge -n tries it; or set trust.method to token',
  });

/** The hub's side. `userName` says who a uid is. */
export async function openGatekeeper(
  options: TrustOptions,
  userName: (uid: number) => Promise<string>,
): Promise<Gatekeeper> {
  if (options.method === 'none') return OPEN_DOOR;
  if (options.method === 'token') {
    if (options.keyFile === undefined) {
      throw new Fault('trust by tokens needs the key with which they are made', {
        exit: 2,
        hint: 'tacho token key FILE makes one; then set trust.key_file',
      });
    }
    return tokenGatekeeper(readKey(options.keyFile));
  }
  return mungeGatekeeper(await openMunge(noMunge, options.mungeSocket), options, userName);
}

/** How long before its end a token's renewal is asked for, once a day. */
const RENEW_SECONDS = 30 * 86_400;
const DAY_SECONDS = 86_400;

function tokenGatekeeper(key: Buffer): Gatekeeper {
  const reminded = new Map<string, number>();
  const remind = (kind: string, name: string, until: number): void => {
    const now = Date.now() / 1000;
    const left = until - now;
    if (left > RENEW_SECONDS || now - (reminded.get(`${kind} ${name}`) ?? 0) < DAY_SECONDS) return;
    reminded.set(`${kind} ${name}`, now);
    warn(
      `the token of ${kind} ${name} expires in ${formatDuration(left)}: tacho token ${kind} ${name} makes a new one`,
    );
  };
  return {
    method: 'token',
    async identify(authorization) {
      const token = wordAfter('Token', authorization);
      const { kind, name, until } = readToken(key, token);
      if (until !== undefined) remind(kind, name, until);
      if (kind === 'node') return { kind, nodes: name.split(',') };
      return kind === 'user' ? { kind, user: name, uid: -1 } : { kind, user: name };
    },
  };
}

function mungeGatekeeper(
  munge: Munge,
  { agentUids = [], administratorUids = [] }: TrustOptions,
  userName: (uid: number) => Promise<string>,
): Gatekeeper {
  const mayBeAgent = (uid: number): boolean => uid === 0 || agentUids.includes(uid);
  return {
    method: 'munge',
    async trouble() {
      try {
        await munge.decode(await munge.encode(PURPOSE));
        return undefined;
      } catch (error) {
        return reason(error);
      }
    },
    async identify(authorization, node, address): Promise<Identity> {
      const made = await munge.decode(wordAfter('Munge', authorization));
      const claimed = claimOf(made);
      if (claimed !== (node ?? '')) throw new Refused(`the credential is for node "${claimed}"`);
      const { uid } = made;
      if (node !== undefined && mayBeAgent(uid)) {
        if (await isAt(node, made.host, address)) return { kind: 'node', nodes: [node] };
        throw new Refused(
          made.host === address
            ? `${node} is not at ${address}, where the credential was made`
            : `${node} is neither at ${made.host}, where the credential was made, nor at ${address}`,
        );
      }
      const user = await userName(uid);
      if (uid === 0 || administratorUids.includes(uid)) return { kind: 'administrator', user };
      return { kind: 'user', user, uid };
    },
  };
}

function claimOf({ text }: Decoded): string {
  const [purpose, node] = text.split('\n');
  if (purpose !== PURPOSE || node === undefined) throw new Refused('the credential was made for something else');
  return node;
}

function wordAfter(scheme: string, authorization: string | undefined): string {
  const [givenScheme, word] = (authorization ?? '').split(' ');
  if (givenScheme !== scheme || word === undefined || word === '') {
    throw new Refused(`this hub asks for "Authorization: ${scheme} …"`);
  }
  return word;
}

/** The side of agents and users. */
export async function openCredentials(options: TrustOptions): Promise<Credentials> {
  if (options.method === 'none') return NO_CREDENTIALS;
  if (options.method === 'token') {
    const { tokenFile } = options;
    if (tokenFile === undefined)
      throw new Fault('trust by tokens needs a token', { exit: 2, hint: 'set trust.token_file' });
    // read again each time: a renewed token counts from the next session on
    return { method: 'token', authorization: async () => `Token ${readTokenFile(tokenFile)}` };
  }
  const munge = await openMunge(noMunge, options.mungeSocket);
  return { method: 'munge', authorization: async (node) => `Munge ${await munge.encode(`${PURPOSE}\n${node}`)}` };
}

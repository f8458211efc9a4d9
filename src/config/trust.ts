import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { Fault, reason } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import type { TrustOptions } from '../trust/gatekeeper.ts';
import type { SettingKey, Values } from './settings.ts';

type TrustValues = Pick<Values, Extract<SettingKey, `trust.${string}`>>;

/** What an agent, or a user who asks a hub, needs. */
export const CLIENT_TRUST = ['trust.method', 'trust.token_file', 'trust.ca', 'trust.munge_socket'] as const;

/** What a hub needs. */
export const HUB_TRUST = [
  'trust.method',
  'trust.key_file',
  'trust.certificate',
  'trust.private_key',
  'trust.agents',
  'trust.administrators',
  'trust.users_write',
  'trust.munge_socket',
] as const;

export async function trustOptions(config: TrustValues): Promise<TrustOptions> {
  const { 'trust.key_file': keyFile, 'trust.token_file': tokenFile, 'trust.munge_socket': mungeSocket } = config;
  return {
    method: config['trust.method'],
    ...stated({ keyFile, tokenFile, mungeSocket }),
    agentUids: await Promise.all(config['trust.agents'].map(userId)),
    administratorUids: await Promise.all(config['trust.administrators'].map(userId)),
  };
}

/** The certificate and key with which a hub speaks TLS; undefined: it does not. */
export function tlsOptions(config: TrustValues): { cert: Buffer; key: Buffer } | undefined {
  const { 'trust.certificate': certificate, 'trust.private_key': key } = config;
  if (certificate === undefined && key === undefined) return undefined;
  if (certificate === undefined || key === undefined) {
    throw new Fault('TLS needs both a certificate and its private key', {
      exit: 2,
      hint: 'set trust.certificate and trust.private_key',
    });
  }
  return { cert: readPem(certificate), key: readPem(key, true) };
}

/** The certificates by which a hub is known. */
export const authorities = (config: TrustValues): Buffer | undefined =>
  config['trust.ca'] === undefined ? undefined : readPem(config['trust.ca']);

function readPem(file: string, secret = false): Buffer {
  try {
    if (secret && (fs.statSync(file).mode & 0o007) !== 0) {
      throw new Fault(`the private key ${file} can be read by everybody`, { hint: `chmod o= ${file}` });
    }
    return fs.readFileSync(file);
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(`cannot read ${file}: ${reason(error)}`);
  }
}

const ask = promisify(execFile);

async function userId(name: string): Promise<number> {
  if (/^\d+$/.test(name)) return Number(name);
  try {
    return Number((await ask('id', ['-u', name])).stdout);
  } catch {
    throw new Fault(`there is no user "${name}"`, {
      exit: 2,
      hint: 'trust.agents and trust.administrators name users',
    });
  }
}

/** A user's name; the number itself when nobody knows it. */
export async function userName(uid: number): Promise<string> {
  try {
    return (await ask('id', ['-nu', String(uid)])).stdout.trim();
  } catch {
    return String(uid);
  }
}

import * as fs from 'node:fs';
import { Fault, reason } from '../../base/fault.ts';
import { stated } from '../../base/stated.ts';
import type { SettingKey, Values } from '../../config/settings.ts';
import type { HubOptions } from './sink.ts';

export const HUB_SETTINGS = [
  'hub.addresses',
  'trust.method',
  'trust.token_file',
  'trust.ca',
  'trust.munge_socket',
] as const satisfies readonly SettingKey[];

/** How to reach the hubs, as it is configured; `say` is told what is dangerous about it. */
export async function hubOptions(
  config: Pick<Values, (typeof HUB_SETTINGS)[number]>,
  say: (line: string) => void,
): Promise<Pick<HubOptions, 'addresses' | 'credentials' | 'ca'>> {
  const { parseHubAddress } = await import('./address.ts');
  const { openCredentials } = await import('../../trust/gatekeeper.ts');
  const { isLoopback } = await import('../../trust/same-host.ts');
  const method = config['trust.method'];
  const token = config['trust.token_file'];
  const socket = config['trust.munge_socket'];
  const ca = config['trust.ca'];
  const addresses = config['hub.addresses'].map((address) => parseHubAddress(address, ca !== undefined));
  for (const { protocol, hostname, host } of addresses) {
    if (method !== 'token' || protocol === 'https:' || isLoopback(hostname)) continue;
    say(
      `hub ${host}: the token travels without TLS, and whoever reads it on the way can use it; write https://${host}`,
    );
  }
  const credentials = await openCredentials({
    method,
    ...stated({ tokenFile: token, mungeSocket: socket }),
  });
  return { addresses, credentials, ...(ca === undefined ? {} : { ca: certificates(ca) }) };
}

function certificates(file: string): Buffer {
  try {
    return fs.readFileSync(file);
  } catch (error) {
    throw new Fault(`cannot read ${file}: ${reason(error)}`, { hint: 'trust.ca names a file of certificates (PEM)' });
  }
}

import { usage } from '../../base/fault.ts';

const HUB_PORT = 8471;

/** `hub`, `hub:8471`, `[::1]:8471` or an address with http:// or https://; `secure`: https when it does not say. */
export function parseHubAddress(text: string, secure = false): URL {
  const trimmed = text.trim();
  if (/^[./~]/.test(trimmed))
    throw usage(`there is no folder ${text}`, 'a hub is written as hub:8471 or https://hub:8471');
  let url: URL;
  try {
    url = new URL(/^[a-z]+:\/\//i.test(trimmed) ? trimmed : `${secure ? 'https' : 'http'}://${trimmed}`);
  } catch {
    throw usage(`"${text}" is not the address of a hub`, 'write it as hub:8471 or https://hub:8471');
  }
  if (!/^https?:$/.test(url.protocol) || url.hostname === '' || url.username !== '' || url.search !== '') {
    throw usage(`"${text}" is not the address of a hub`, 'write it as hub:8471 or https://hub:8471');
  }
  // the URL leaves out a port that is the scheme's own: only what was not written is ours
  if (url.port === '' && !/:\d+\/?$/.test(trimmed)) url.port = String(HUB_PORT);
  return url;
}

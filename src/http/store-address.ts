import type { Advice } from '../trust/connection-text.ts';

/** What to do about the certificate of a VictoriaMetrics. */
export const STORE_ADVICE: Advice = {
  authority: 'name it in NODE_EXTRA_CA_CERTS',
  noTls: 'is its address http://…?',
};

/** A user and password in an address, as the header that says them. */
export function basicAuthorization({ username, password }: URL): Record<string, string> {
  if (username === '' && password === '') return {};
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { Authorization: `Basic ${Buffer.from(pair).toString('base64')}` };
}

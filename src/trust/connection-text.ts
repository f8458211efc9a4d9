import { code, reason } from '../base/fault.ts';

/** What to do about it, where the words alone do not say so. */
export interface Advice {
  /** Its certificate is the site's own. */
  authority: string;
  noTls: string;
}

/** Of servers for which Tacho has no setting of its own. */
export const EXTRA_CERTIFICATES: Advice = {
  authority: 'name it in NODE_EXTRA_CA_CERTS',
  noTls: 'is its address http://…?',
};

const OF_A_HUB: Advice = { authority: 'give --trust-ca FILE (setting trust.ca)', noTls: 'is its address http://…?' };
const UNKNOWN = 'its certificate was not issued by an authority that is trusted here';
const NO_TLS = 'it does not speak TLS';
/** To whoever speaks plain HTTP a server with TLS says nothing; nor does one to whom too many come. */
export const CLOSED_UNANSWERED =
  'it took the connection and closed it without an answer: it speaks TLS (https://…), or has too many connections; its log says more';
const WORDS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet: are the clocks right?',
  DEPTH_ZERO_SELF_SIGNED_CERT: UNKNOWN,
  SELF_SIGNED_CERT_IN_CHAIN: UNKNOWN,
  UNABLE_TO_GET_ISSUER_CERT: UNKNOWN,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNKNOWN,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNKNOWN,
  CERT_SIGNATURE_FAILURE: UNKNOWN,
  ERR_SSL_WRONG_VERSION_NUMBER: NO_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NO_TLS,
};

/** Why a connection failed, in words; what TLS says of certificates is short and in words of its own. `plain`: without TLS. */
export function connectionText(error: unknown, plain = false, advice: Advice = OF_A_HUB): string {
  const text = fault(error, plain);
  if (text === UNKNOWN) return `${text}: ${advice.authority}`;
  return text === NO_TLS ? `${text}: ${advice.noTls}` : text;
}

function fault(error: unknown, plain: boolean): string {
  const errorCode = code(error) ?? '';
  if (errorCode === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const { cert } = error as { cert?: { subjectaltname?: string; subject?: { CN?: string } } };
    const names = cert?.subjectaltname?.replaceAll(/(?:DNS|IP Address):/g, '') ?? cert?.subject?.CN;
    return `its certificate is for another name${names === undefined ? '' : ` (${names})`}`;
  }
  if (plain && (errorCode === 'ECONNRESET' || /socket hang up/.test(reason(error)))) return CLOSED_UNANSWERED;
  if (/before secure TLS connection/.test(reason(error))) return NO_TLS;
  return WORDS[errorCode] ?? reason(error).split('\n')[0]!;
}

const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nobody listens there',
  ENOTFOUND: 'no machine of this name is known',
  EAI_AGAIN: 'its name cannot be looked up just now',
  EHOSTUNREACH: 'there is no way to that host',
};

/** Why there is no answer, for somebody who just asked: what the system says of the network, in words. */
export function unreachableText(error: unknown): string {
  const errorCode = code(error) ?? code((error as Error).cause) ?? '';
  return UNREACHABLE[errorCode] ?? reason(error);
}

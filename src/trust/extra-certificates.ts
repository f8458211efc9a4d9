import * as fs from 'node:fs';
import * as tls from 'node:tls';
import { reason } from '../base/fault.ts';
import { forRoot } from '../base/for-root.ts';
import { warn } from '../base/warn.ts';

/**
 * What NODE_EXTRA_CA_CERTS names is trusted besides the usual authorities, as Node would do it; by root only what is root's.
 * Reading it takes longer than most commands: whoever is about to speak TLS asks for it.
 */
export function trustExtraCertificates(): void {
  const { TACHO_ASIDE_NODE_EXTRA_CA_CERTS: file } = process.env;
  if (!file || done) return;
  done = true;
  try {
    const certificates = fs.readFileSync(forRoot(file), 'utf8');
    tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificates]);
  } catch (error) {
    warn(`NODE_EXTRA_CA_CERTS is not used: ${reason(error)}`);
  }
}

let done = false;

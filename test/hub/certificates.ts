import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';

/** Why there can be no certificates; false: there can. */
export const whyNoCertificates = (): string | false =>
  spawnSync('openssl', ['version']).error === undefined ? false : 'no openssl: the tests with TLS';

const openssl = (folder: string, ...args: string[]): unknown =>
  execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });

/** An authority: NAME.pem and NAME.key in the folder. Returns the path of its certificate. */
export function makeAuthority(folder: string, name: string): string {
  const subject = ['-subj', `/CN=Authority ${name}`, '-days', '2'];
  openssl(folder, 'req', '-x509', ...NEW_KEY, '-keyout', `${name}.key`, '-out', `${name}.pem`, ...subject);
  return path.join(folder, `${name}.pem`);
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export interface Certificate {
  certificate: string;
  key: string;
}

/** What an authority issues for a name such as `IP:127.0.0.1` or `DNS:hub.example.org`; expired, when it should be. */
export function issue(folder: string, authority: string, name: string, expired = false): Certificate {
  const file = `${authority}-${name.replaceAll(/\W/g, '-')}${expired ? '-expired' : ''}`;
  openssl(folder, 'req', '-new', ...NEW_KEY, '-keyout', `${file}.key`, '-out', `${file}.csr`, '-subj', '/CN=hub');
  // `openssl x509` of older releases cannot make certificates of the past
  fs.writeFileSync(path.join(folder, 'index.txt'), '');
  const configuration = `[ca]\ndefault_ca=c\n[c]\ndatabase=index.txt\nnew_certs_dir=.\ndefault_md=sha256\npolicy=p\n\
rand_serial=yes\n[p]\ncommonName=supplied\n[e]\nsubjectAltName=${name}\n`;
  fs.writeFileSync(path.join(folder, 'ca.conf'), configuration);
  const span = expired ? ['20200101000000Z', '20200201000000Z'] : ['20200101000000Z', '20990101000000Z'];
  const by = [
    '-cert',
    `${authority}.pem`,
    '-keyfile',
    `${authority}.key`,
    '-startdate',
    span[0]!,
    '-enddate',
    span[1]!,
  ];
  const what = ['-extensions', 'e', '-in', `${file}.csr`, '-out', `${file}.pem`];
  openssl(folder, 'ca', '-batch', '-notext', '-config', 'ca.conf', ...by, ...what);
  return { certificate: path.join(folder, `${file}.pem`), key: path.join(folder, `${file}.key`) };
}

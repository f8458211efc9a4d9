import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

declare const TACHO_CODE: string | undefined;

let hash: string | undefined;

/** Which code this is: the same for a release, a checkout and bundles of the same sources. The bundler puts it in as TACHO_CODE. */
export function ownCode(): string {
  hash ??= typeof TACHO_CODE === 'string' ? TACHO_CODE : sourcesHash();
  return hash;
}

function sourcesHash(): string {
  const folder = fileURLToPath(new URL('..', import.meta.url));
  const hash = createHash('sha256');
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const name of names.filter((each) => /(?<!\.test)\.ts$/.test(each)).sort())
    hash.update(`${name}\n`).update(fs.readFileSync(path.join(folder, name)));
  return hash.digest('hex').slice(0, 16);
}

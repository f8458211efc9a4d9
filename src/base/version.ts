import * as fs from 'node:fs';

declare const TACHO_VERSION: string | undefined;

/** The version in package.json; the bundler of a release puts it in as TACHO_VERSION. */
export const VERSION: string =
  typeof TACHO_VERSION === 'string'
    ? TACHO_VERSION
    : (JSON.parse(fs.readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string })
        .version;

/**
 * Variables that decide what a Node process loads, trusts or writes. They are meant for the Node of the job, never for
 * Tacho's: root may have them from a user's shell. The launcher puts them aside (`scripts/start-node`).
 */
export const NODE_VARIABLES = [
  'NODE_OPTIONS',
  'NODE_PATH',
  'NODE_COMPILE_CACHE',
  'NODE_COMPILE_CACHE_PORTABLE',
  'NODE_DISABLE_COMPILE_CACHE',
  'NODE_V8_COVERAGE',
  'NODE_REDIRECT_WARNINGS',
  'NODE_DEBUG',
  'NODE_DEBUG_NATIVE',
  'NODE_ICU_DATA',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_EXTRA_CA_CERTS',
  'NODE_USE_ENV_PROXY',
  'NODE_PRESERVE_SYMLINKS',
  'NODE_PRESERVE_SYMLINKS_MAIN',
  'NODE_PENDING_DEPRECATION',
  'NODE_CHANNEL_FD',
  'NODE_UNIQUE_ID',
  'OPENSSL_CONF',
  'OPENSSL_MODULES',
  'OPENSSL_ENGINES',
] as const;

/** What a variable is called while it is put aside. */
export const ASIDE = 'TACHO_ASIDE_';

/** No Node process of Tacho's opens a debugger when somebody sends it SIGUSR1, as schedulers do. */
export const NODE_FLAGS = ['--disable-sigusr1', '--disable-warning=ExperimentalWarning'] as const;

type Environment = Record<string, string | undefined>;

/** The environment for a Node process of Tacho's own: what is not meant for it is put aside, for what it starts itself. */
export function ownNodeEnvironment(environment: Readonly<Environment>): Environment {
  const own: Environment = { ...environment };
  for (const name of NODE_VARIABLES) {
    if (own[name] === undefined) continue;
    own[`${ASIDE}${name}`] = own[name];
    delete own[name];
  }
  return own;
}

/** The environment for programs that are not Tacho's, with what was put aside for them: some of it Node reads at any time. */
export function theirEnvironment(environment: Readonly<Environment> = process.env): Environment {
  const theirs: Environment = { ...environment };
  for (const name of NODE_VARIABLES) {
    const value = theirs[`${ASIDE}${name}`];
    if (value === undefined) continue;
    theirs[name] = value;
    delete theirs[`${ASIDE}${name}`];
  }
  return theirs;
}

import { type KindName, kinds, type ValueOf } from './kinds.ts';

/** One thing that a user can set. The file's key, the environment's variable, the flag and the reference follow from it. */
export interface Setting {
  /** The key in tacho.toml, with its section. */
  readonly key: string;
  readonly kind: KindName;
  /** As it would be written in tacho.toml; none: not set. */
  readonly default?: string | number | boolean | readonly string[];
  readonly help: string;
  /** The flag, when it is not `--` and the key. */
  readonly flag?: string;
  /** No verb has a flag for it. */
  readonly flagless?: boolean;
  /** Needed by few: in the reference, not in `--help`. */
  readonly rare?: boolean;
}

export const settings = [
  { key: 'interval', kind: 'interval', default: '1s', help: 'Time between samples, from 0.1 s up.' },
  {
    key: 'offset',
    kind: 'pause',
    default: '0s',
    rare: true,
    help: 'Take samples this long after whole multiples of the interval, e.g. when other programs have done their own work of the second.',
  },
  {
    key: 'recordings',
    kind: 'folder',
    help: 'Folder in which recordings are made and looked for, each in a folder of its own (default: the current folder).',
  },
  {
    key: 'dask',
    kind: 'flag',
    flagless: true,
    default: true,
    help: 'Record the tasks of a Dask cluster that a command starts (tacho run).',
  },
  { key: 'redact', kind: 'flag', default: false, help: 'Leave the arguments of commands out of recordings.' },
  {
    key: 'keep_environment',
    kind: 'list',
    default: [],
    rare: true,
    help: 'Environment variables to keep in the recording, besides those of the scheduler that Tacho needs.',
  },
  { key: 'db', kind: 'database', help: 'The PostgreSQL database that holds many jobs.' },
  { key: 'sources.enable', kind: 'list', default: [], flag: '--only', help: 'Record these tables and no others.' },
  { key: 'sources.disable', kind: 'list', default: [], flag: '--without', help: 'Do not record these tables.' },
  {
    key: 'sources.also',
    kind: 'list',
    default: [],
    flag: '--also',
    help: 'Record these tables too, which are left out unless they are named: cpu_interrupts.',
  },
  {
    key: 'spool.part_size',
    kind: 'size',
    default: '64MiB',
    rare: true,
    help: 'Start a new file for a table at this size, and compress the old one.',
  },
  {
    key: 'spool.part_time',
    kind: 'duration',
    default: '10min',
    rare: true,
    help: 'Start a new file for a table after this time, and compress the old one.',
  },
  {
    key: 'spool.memory',
    kind: 'size',
    default: '4MiB',
    rare: true,
    help: 'How much of a table is kept in memory while it cannot be written.',
  },
  {
    key: 'spool.size',
    kind: 'size',
    default: '2GiB',
    help: "Largest size of the samples that wait on a node's disk to be sent. Beyond it the oldest are dropped, which is reported.",
  },
  {
    key: 'hub.addresses',
    kind: 'list',
    default: [],
    flag: '--hub',
    help: "Hubs to which a node's agent sends its samples, as HOST:PORT or https://HOST:PORT; the next one is used while those before it do not answer.",
  },
  {
    key: 'hub.listen',
    kind: 'text',
    default: '127.0.0.1:8471',
    flag: '--listen',
    help: 'Where the hub listens: HOST:PORT. Anything but this machine itself needs trust.method.',
  },
  { key: 'hub.archive', kind: 'folder', flag: '--archive', help: 'Folder in which the hub files recordings.' },
  {
    key: 'hub.seal_after',
    kind: 'duration',
    default: '1h',
    flag: '--seal-after',
    help: 'Seal a recording when nodes that did not report their end were silent for this time.',
  },
  {
    key: 'hub.index',
    kind: 'flag',
    default: true,
    rare: true,
    help: 'Keep the index of the archive, from which `tacho jobs`, `history` and others answer (docs/history.md).',
  },
  {
    key: 'hub.batch',
    kind: 'pause',
    default: '0s',
    flag: '--batch',
    help: 'Time for which agents collect samples before they send them, while the hub has room. 0: each tick is sent at once.',
  },
  {
    key: 'hub.busy_batch',
    kind: 'pause',
    default: '10s',
    flag: '--busy-batch',
    help: 'The longest such time, while the hub is busy. The end of a job is always sent at once.',
  },
  {
    key: 'hub.keep_age',
    kind: 'duration',
    flag: '--keep-age',
    help: 'Remove recordings from the archive that ended longer ago than this (default: never).',
  },
  {
    key: 'hub.keep_size',
    kind: 'size',
    flag: '--keep-size',
    help: 'Keep the archive below this size: the oldest recordings of the user with the most data are removed first (default: no limit).',
  },
  {
    key: 'service.spool',
    kind: 'folder',
    default: '/var/spool/tacho',
    flag: '--spool',
    help: "Folder in which a node's agent makes its recordings, and keeps them until they are stored elsewhere.",
  },
  {
    key: 'service.jobs',
    kind: 'folder',
    default: '/run/tacho/jobs',
    flag: '--jobs',
    help: "Folder in which prologs and epilogs tell a node's agent of jobs.",
  },
  {
    key: 'service.interval',
    kind: 'interval',
    default: '1s',
    flag: '--job-interval',
    help: 'Time between samples of a job, unless its job file says another.',
  },
  {
    key: 'service.idle_interval',
    kind: 'interval',
    default: '60s',
    flag: '--idle-interval',
    help: 'Time between samples of the node itself, whether a job runs or not.',
  },
  {
    key: 'service.node',
    kind: 'text',
    flag: '--node',
    help: "This node's name (default: the scheduler's name for it, else the host name).",
  },
  {
    key: 'service.hooks_only',
    kind: 'flag',
    default: false,
    flag: '--hooks-only',
    rare: true,
    help: 'Believe prologs and epilogs alone: do not look for jobs by the cgroups that Slurm makes for them.',
  },
  {
    key: 'trust.method',
    kind: 'trust',
    default: 'none',
    flag: '--trust',
    help: 'How agents and users prove to a hub who they are: munge, token, or none (on one machine only).',
  },
  {
    key: 'trust.token_file',
    kind: 'file',
    help: 'The token of this node or user, in a file that only its owner can read.',
  },
  { key: 'trust.key_file', kind: 'file', help: "The hub's key, with which `tacho token` makes tokens." },
  {
    key: 'trust.ca',
    kind: 'file',
    help: "The certificates that verify a hub's certificate, instead of the system's.",
  },
  {
    key: 'trust.certificate',
    kind: 'file',
    help: "The hub's certificate (PEM); with trust.private_key it speaks TLS.",
  },
  { key: 'trust.private_key', kind: 'file', help: "The private key of the hub's certificate (PEM)." },
  {
    key: 'trust.agents',
    kind: 'list',
    default: [],
    rare: true,
    help: 'Users besides root as whom the agents of nodes run (with munge).',
  },
  {
    key: 'trust.administrators',
    kind: 'list',
    default: [],
    rare: true,
    help: "Users besides root who may see everybody's jobs on a hub (with munge).",
  },
  {
    key: 'trust.users_write',
    kind: 'flag',
    default: false,
    rare: true,
    help: 'Users, too, may send recordings of their own jobs to the hub; these are kept apart from those of agents.',
  },
  {
    key: 'trust.munge_socket',
    kind: 'file',
    rare: true,
    help: "The socket of a MUNGE daemon other than the system's.",
  },
  {
    key: 'kafka.brokers',
    kind: 'list',
    default: [],
    flag: '--kafka',
    help: 'Brokers of Kafka to which samples go as well, or from which a hub reads them, as HOST:PORT.',
  },
  { key: 'kafka.prefix', kind: 'text', default: 'tacho', rare: true, help: 'What the names of topics begin with.' },
  {
    key: 'kafka.by_user',
    kind: 'flag',
    default: false,
    rare: true,
    help: 'Topics of their own for each user: tacho.ada.meminfo instead of tacho.meminfo.',
  },
  {
    key: 'kafka.every',
    kind: 'duration',
    default: '1s',
    rare: true,
    help: 'Time between transactions: what is recorded meanwhile goes together.',
  },
  { key: 'kafka.tls', kind: 'flag', default: false, rare: true, help: 'Speak TLS with the brokers.' },
  {
    key: 'kafka.ca',
    kind: 'file',
    rare: true,
    help: "The certificates that verify the brokers' certificates, instead of the system's; setting it turns TLS on.",
  },
  { key: 'kafka.user', kind: 'text', rare: true, help: 'Who we are to the brokers (SASL).' },
  {
    key: 'kafka.password_file',
    kind: 'file',
    rare: true,
    help: 'The password for kafka.user, in a file that only its owner can read.',
  },
  {
    key: 'kafka.mechanism',
    kind: 'sasl',
    default: 'SCRAM-SHA-512',
    rare: true,
    help: 'How kafka.user logs in.',
  },
  {
    key: 'victoria.url',
    kind: 'url',
    flag: '--victoria',
    help: 'A VictoriaMetrics to which samples are pushed; a user and password may be in the address.',
  },
  {
    key: 'victoria.interval',
    kind: 'duration',
    default: '10s',
    rare: true,
    help: 'Time between two pushes: several samples of a series then go together.',
  },
  {
    key: 'victoria.settle',
    kind: 'duration',
    default: '30s',
    rare: true,
    help: 'Samples that VictoriaMetrics has taken count as stored after this time; until then they are sent again after a crash.',
  },
  {
    key: 'victoria.process_cpu',
    kind: 'duration',
    default: '1s',
    rare: true,
    help: 'CPU time from which a process has series of its own.',
  },
  {
    key: 'metrics.listen',
    kind: 'text',
    help: "Where a node's agent answers GET /metrics for Prometheus: HOST:PORT. Anything but this machine itself needs metrics.token_file; without it only the node's own series are shown, none of jobs.",
  },
  {
    key: 'metrics.token_file',
    kind: 'file',
    help: 'The token that Prometheus must send (Authorization: Bearer …), in a file.',
  },
  {
    key: 'metrics.omnistat_names',
    kind: 'flag',
    default: false,
    help: "Also give the metrics of GPUs Omnistat's names.",
  },
  {
    key: 'metrics.labels',
    kind: 'list',
    default: [],
    rare: true,
    help: 'Labels for every series, such as cluster=alps.',
  },
  {
    key: 'rules.shortest',
    kind: 'duration',
    flagless: true,
    default: '30s',
    rare: true,
    help: 'What a job did not use is judged from this length on: in a shorter one, starting up is most of what was recorded.',
  },
  {
    key: 'rules.off',
    kind: 'list',
    flagless: true,
    default: [],
    rare: true,
    help: 'Rules of the report card that are not applied (docs/findings.md lists them).',
  },
  {
    key: 'history.co2',
    kind: 'text',
    flag: '--co2',
    help: 'How much CO2 each kWh stands for (`tacho history --metric CO2`): g per kWh, or a CSV file of hourly factors (time,g_per_kwh).',
  },
  {
    key: 'policies.send',
    kind: 'flag',
    default: false,
    flag: '--send',
    help: 'Send what policies say: mails, webhooks; without, `tacho policy run` only says what it would send.',
  },
  {
    key: 'policies.state',
    kind: 'folder',
    flag: '--state-folder',
    help: 'Folder in which is kept what policies have sent, and what waits (default: .tacho-policies in the archive).',
  },
  {
    key: 'mail.server',
    kind: 'text',
    help: 'The mail server that policies send through: smtp://HOST:25, smtps://HOST:465, with a user before an @ if it wants one.',
  },
  { key: 'mail.from', kind: 'text', help: 'The sender of mails.' },
  {
    key: 'mail.domain',
    kind: 'text',
    help: 'Users have their mail at this domain: NAME@DOMAIN.',
  },
  {
    key: 'mail.addresses',
    kind: 'file',
    rare: true,
    help: 'A CSV file (user,address) of those who have their mail elsewhere.',
  },
  {
    key: 'mail.administrators',
    kind: 'list',
    default: [],
    help: 'Addresses of those who get the mails of policies with to = "administrators" or "both".',
  },
  { key: 'mail.reply_to', kind: 'text', rare: true, help: 'Where answers to mails go.' },
  {
    key: 'mail.password_file',
    kind: 'file',
    rare: true,
    help: 'The password for the mail server, in a file that only its owner can read.',
  },
  { key: 'mail.ca', kind: 'file', rare: true, help: 'Certificates to trust the mail server by (PEM).' },
  { key: 'webhook.url', kind: 'url', help: 'Where policies post what they found, as JSON.' },
  {
    key: 'webhook.secret_file',
    kind: 'file',
    help: 'The secret with which posts are signed (HMAC-SHA256), in a file that only its owner can read.',
  },
  {
    key: 'serve.listen',
    kind: 'text',
    help: 'Where `tacho serve` listens: HOST:PORT, or unix:/run/tacho/serve.sock for a proxy on the same machine.',
  },
  {
    key: 'serve.access',
    kind: 'access',
    default: 'token',
    help: 'How `tacho serve` finds out who asks: a token in the address, a header that a proxy sets, or an OpenID provider (oidc).',
  },
  {
    key: 'serve.url',
    kind: 'url',
    help: 'Where browsers reach `tacho serve` behind a proxy, as https://tacho.site.',
  },
  {
    key: 'serve.user_header',
    kind: 'text',
    default: 'X-Remote-User',
    rare: true,
    help: 'The header in which the proxy says who asks. It counts only over a Unix socket, or from serve.proxies.',
  },
  {
    key: 'serve.proxies',
    kind: 'list',
    default: [],
    rare: true,
    help: 'Addresses of the proxies whose header is believed.',
  },
  {
    key: 'serve.oidc_issuer',
    kind: 'url',
    rare: true,
    help: 'The OpenID provider, as https://login.site.',
  },
  { key: 'serve.oidc_client', kind: 'text', rare: true, help: 'The id of Tacho at the OpenID provider.' },
  {
    key: 'serve.oidc_secret_file',
    kind: 'file',
    rare: true,
    help: 'The secret of Tacho at the OpenID provider, in a file that only its owner can read.',
  },
  {
    key: 'serve.oidc_claim',
    kind: 'text',
    default: 'preferred_username',
    rare: true,
    help: 'The claim of the ID token that is the name of the user on the cluster.',
  },
  {
    key: 'serve.administrators',
    kind: 'list',
    default: [],
    rare: true,
    help: 'Users who see everybody’s jobs on the page.',
  },
  {
    key: 'serve.project_managers',
    kind: 'list',
    default: [],
    rare: true,
    help: 'Users who see all jobs of an account on the page, as USER:ACCOUNT.',
  },
  {
    key: 'serve.shares',
    kind: 'file',
    rare: true,
    help: 'The file that keeps links to single jobs (default: serve-shares.json in ~/.local/state/tacho).',
  },
] as const satisfies readonly Setting[];

type Known = (typeof settings)[number];
export type SettingKey = Known['key'];

/** The value of every setting, by its key: `config['sources.disable']`. */
export type Values = {
  [S in Known as S['key']]: S extends { default: unknown } ? ValueOf<S['kind']> : ValueOf<S['kind']> | undefined;
};

export function setting(key: SettingKey): Setting {
  return settings.find((each) => each.key === key)!;
}

/** TACHO_SOURCES_DISABLE, of sources.disable. */
export function variableOf(setting: Setting): string {
  return `TACHO_${setting.key.replaceAll('.', '_').toUpperCase()}`;
}

/** --spool-part-size, of spool.part_size; and what stands for its value. */
export function flagOf(setting: Setting): { long: string; placeholder: string | undefined } {
  const kind = kinds[setting.kind];
  const placeholder = 'placeholder' in kind ? kind.placeholder : undefined;
  return { long: setting.flag ?? `--${setting.key.replaceAll(/[._]/g, '-')}`, placeholder };
}

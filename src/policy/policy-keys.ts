/** The keys of a [[policy]], for the check and the reference. */
export const policyKeys = [
  {
    key: 'name',
    kind: 'name',
    say: 'a name of letters, digits, - and _',
    help: 'Name of the policy; of two with one name the more specific file’s counts.',
  },
  { key: 'enabled', kind: 'flag', say: 'true or false', help: 'Whether it is applied (default: true).' },
  { key: 'help', kind: 'text', say: 'a text', help: 'What is the matter, in a sentence: the first line of messages.' },
  { key: 'advice', kind: 'text', say: 'a text', help: 'What to do about it: stands in messages.' },
  {
    key: 'per',
    kind: 'per',
    say: '"job" or "user"',
    help: 'Each job alone (default), or all jobs of a user in the window together.',
  },
  {
    key: 'jobs',
    kind: 'jobs',
    say: '"ended", "running" or "all"',
    help: 'Jobs that ended in the window (default), that run now, or both.',
  },
  {
    key: 'window',
    kind: 'duration',
    say: 'a duration such as "7d"',
    help: 'How far back jobs are looked at (default: "7d").',
  },
  {
    key: 'period',
    kind: 'duration',
    say: 'a duration such as "7d"',
    help: 'A user gets at most one message of the policy in this time (default: the window).',
  },
  {
    key: 'when',
    kind: 'conditions',
    say: 'a list of conditions such as ["cpu_use < 25%"]',
    help: 'What must hold of a job, all of it.',
  },
  {
    key: 'total',
    kind: 'conditions',
    say: 'a list of conditions such as ["core_hours >= 50"]',
    help: 'What must hold of all these jobs of a user together (`per = "user"`).',
  },
  {
    key: 'unless',
    kind: 'conditions',
    say: 'a list of conditions such as ["node_busy < 50%"]',
    help: 'A job of which one of these holds is exempt.',
  },
  { key: 'users', kind: 'list', say: 'a list of names', help: 'Only jobs of these users (* and ? as in file names).' },
  { key: 'accounts', kind: 'list', say: 'a list of names', help: 'Only of these accounts.' },
  { key: 'partitions', kind: 'list', say: 'a list of names', help: 'Only in these partitions.' },
  { key: 'clusters', kind: 'list', say: 'a list of names', help: 'Only on these clusters.' },
  { key: 'nodes', kind: 'list', say: 'a list of names', help: 'Only jobs that ran on one of these nodes.' },
  { key: 'states', kind: 'list', say: 'a list of states', help: 'Only jobs in these states (completed, timeout…).' },
  { key: 'names', kind: 'list', say: 'a list of names', help: 'Only jobs with these names.' },
  { key: 'programs', kind: 'list', say: 'a list of names', help: 'Only jobs that ran these programs.' },
  { key: 'gpu', kind: 'flag', say: 'true or false', help: 'Only jobs with GPUs, or only those without.' },
  { key: 'except_users', kind: 'list', say: 'a list of names', help: 'But not of these users.' },
  { key: 'except_accounts', kind: 'list', say: 'a list of names', help: 'And not of these accounts.' },
  {
    key: 'most',
    kind: 'number',
    say: 'a whole number from 1 up',
    help: 'Maximum number of users in a run: those who wasted most.',
  },
  {
    key: 'actions',
    kind: 'actions',
    say: 'a list of "list", "json", "markdown", "mail" and "webhook"',
    help: 'What happens: `list` prints it (always done), `json` and `markdown` also write a file below `policies.state`, `mail` and `webhook` send it.',
  },
  { key: 'to', kind: 'to', say: '"user", "administrators" or "both"', help: 'Who gets the mail (default: "user").' },
  {
    key: 'cancel',
    kind: 'flag',
    say: 'true or false',
    help: 'Cancel a running job after the warnings (default: false). Needs `jobs = "running"`, `warnings`, and mail or webhook.',
  },
  {
    key: 'warnings',
    kind: 'number',
    say: 'a whole number from 1 up',
    help: 'Number of warnings about a job before it is cancelled, a period apart.',
  },
  {
    key: 'cancel_command',
    kind: 'list',
    say: 'a list of words such as ["scancel", "{job}"]',
    help: 'How a job is cancelled; {job}, {user} and {cluster} are replaced (default: ["scancel", "{job}"]).',
  },
] as const;

export type PolicyKey = (typeof policyKeys)[number]['key'];

/** The table of keys in docs/configuration.md. */
export function policyReference(): string {
  return [
    '### [[policy]]',
    '',
    '[policies.md](policies.md) explains them. What conditions can be about: `tacho policy columns`.',
    '',
    '| key | value | |',
    '|---|---|---|',
    ...policyKeys.map(({ key, say, help }) => `| \`${key}\` | ${say} | ${help} |`),
  ].join('\n');
}

import { any, optional, refine, strictObject } from 'zod/mini';
import { parseDuration } from '../base/duration.ts';
import { Fault, usage } from '../base/fault.ts';
import { stated } from '../base/stated.ts';
import { suggest } from '../base/suggest.ts';
import type { PolicySection } from '../config/file.ts';
import type { JobFilter } from '../history/ask/filter.ts';
import { type Condition, contradiction, parseCondition } from './condition.ts';
import { type PolicyKey, policyKeys } from './policy-keys.ts';

const ACTIONS = ['list', 'json', 'markdown', 'mail', 'webhook'] as const;
export type Action = (typeof ACTIONS)[number];
/** How messages leave. */
export type Channel = 'mail' | 'webhook';

/** What is expected of jobs, and what happens where they are otherwise. */
export interface Policy {
  readonly name: string;
  /** The file and its line. */
  readonly origin: string;
  readonly enabled: boolean;
  readonly help: string;
  readonly advice?: string;
  readonly per: 'job' | 'user';
  readonly jobs: 'ended' | 'running' | 'all';
  readonly window_seconds: number;
  readonly period_seconds: number;
  readonly when: readonly Condition[];
  readonly total: readonly Condition[];
  readonly unless: readonly Condition[];
  readonly scope: JobFilter;
  readonly most?: number;
  readonly actions: readonly Action[];
  readonly to: 'user' | 'administrators' | 'both';
  /** Not there: nothing is ever cancelled. */
  readonly cancel?: { readonly warnings: number; readonly command: readonly string[] };
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const isList = (value: unknown): value is string[] => Array.isArray(value) && value.length > 0 && value.every(isText);
const isOneOf =
  (...allowedWords: readonly string[]) =>
  (value: unknown): boolean =>
    allowedWords.includes(value as string);

const FITS: Record<(typeof policyKeys)[number]['kind'], (value: unknown) => boolean> = {
  name: (value) => isText(value) && /^[\w-]{1,64}$/.test(value),
  flag: (value) => typeof value === 'boolean',
  text: isText,
  per: isOneOf('job', 'user'),
  jobs: isOneOf('ended', 'running', 'all'),
  to: isOneOf('user', 'administrators', 'both'),
  number: (value) => Number.isInteger(value) && (value as number) >= 1,
  list: isList,
  conditions: isList,
  actions: (value) => isList(value) && value.every(isOneOf(...ACTIONS)),
  duration: isDuration,
};

function isDuration(value: unknown): boolean {
  try {
    return typeof value === 'string' && parseDuration(value) > 0;
  } catch {
    return false;
  }
}

/** What a [[policy]] may hold. */
function schema() {
  const keys: Record<string, ReturnType<typeof optional>> = {};
  for (const { key, kind, say } of policyKeys)
    keys[key] = optional(
      any().check(
        refine((value) => FITS[kind](value), {
          error: ({ input }) => `${key} must be ${say}, not ${JSON.stringify(input)}`,
        }),
      ),
    );
  return strictObject(keys).check(refine((given) => given.name !== undefined, { error: 'a [[policy]] needs a name' }));
}

/** The policies of a configuration. What is wrong in them is thrown, all of it, with file and line. */
export function policiesFrom(sections: readonly PolicySection[]): Policy[] {
  const check = schema();
  const wrong: Fault[] = [];
  const policies = sections.flatMap((section) => {
    const problems = problemsIn(section, check);
    if (problems.length > 0) {
      wrong.push(...problems);
      return [];
    }
    try {
      return policyOf(section);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      wrong.push(error);
      return [];
    }
  });
  for (const [i, { name, origin }] of policies.entries()) {
    const first = policies.findIndex((one) => one.name === name);
    if (first < i)
      wrong.push(usage(`${origin}: the name "${name}" is taken by the [[policy]] at ${policies[first]!.origin}`));
  }
  const [first, ...rest] = wrong;
  if (first === undefined) return policies;
  const more = [...rest.map(({ message }) => message), first.hint ?? 'docs/policies.md explains policies'];
  throw usage(first.message, more.join('\n'));
}

function problemsIn(section: PolicySection, check: ReturnType<typeof schema>): Fault[] {
  const result = check.safeParse(section.content);
  if (result.success) return [];
  return result.error.issues
    .flatMap((issue) => {
      const keys = issue.code === 'unrecognized_keys' ? issue.keys : [issue.path[0] as string | undefined];
      return keys.map((key) => ({
        line: section.line(key),
        what: issue.code === 'unrecognized_keys' ? unknownKey(key!) : issue.message,
      }));
    })
    .sort((a, b) => a.line - b.line)
    .map(({ line, what }) =>
      usage(`${section.file}:${line}: ${what}`, 'docs/configuration.md lists the keys of a policy'),
    );
}

function unknownKey(key: string): string {
  const meant = suggest(
    key,
    policyKeys.map((one) => one.key),
  );
  return `unknown key "${key}" in [[policy]]${meant === undefined ? '' : `; did you mean "${meant}"?`}`;
}

const DEFAULT_WINDOW = '7d';
const DEFAULT_COMMAND = ['scancel', '{job}'];

function policyOf(section: PolicySection): Policy {
  const given = section.content as Partial<Record<PolicyKey, never>>;
  const fail = (key: PolicyKey | undefined, what: string, hint?: string, element?: string): never => {
    throw usage(`${section.file}:${section.line(key, element)}: ${what}`, hint);
  };
  const conditions = (key: 'when' | 'total' | 'unless'): Condition[] =>
    ((given[key] ?? []) as string[]).map((text) => {
      try {
        return parseCondition(text, key === 'total');
      } catch (error) {
        if (!(error instanceof Fault)) throw error;
        return fail(key, error.message, error.hint, text);
      }
    });
  const seconds = (key: 'window' | 'period', usual: string): number => parseDuration(given[key] ?? usual);
  const [when, total, unless] = [conditions('when'), conditions('total'), conditions('unless')];
  const window = seconds('window', DEFAULT_WINDOW);
  const period = seconds('period', given.window ?? DEFAULT_WINDOW);
  const { per = 'job', jobs = 'ended', name } = given as { per?: 'job' | 'user'; jobs?: Policy['jobs']; name: string };
  for (const [key, all] of [
    ['when', when],
    ['total', total],
  ] as const) {
    const two = contradiction(all);
    if (two !== undefined)
      fail(key, `"${two[0].text}" and "${two[1].text}" never hold together`, 'no job would be reported', two[1].text);
  }
  for (const one of unless)
    if (when.some(({ text }) => text === one.text))
      fail('unless', `"${one.text}" is in when, too: every job would be exempt`, undefined, one.text);
  if (when.length + total.length === 0)
    fail(undefined, `the policy ${name} has no condition: it would report every job`, 'write when = ["cpu_use < 25%"]');
  if (per === 'job' && total.length > 0)
    fail('total', 'total is about all jobs of a user together', 'write per = "user", or put it into when');
  if (per === 'job' && jobs !== 'running' && period > window)
    fail(
      given.period === undefined ? 'window' : 'period',
      'the period is longer than the window: jobs in between would never be reported',
      'make window at least as long as period',
    );
  const actions = (given.actions ?? ['list']) as Action[];
  return {
    name,
    origin: `${section.file}:${section.line()}`,
    enabled: given.enabled ?? true,
    help: given.help ?? name.replaceAll(/[-_]/g, ' '),
    per,
    jobs,
    window_seconds: window,
    period_seconds: period,
    when,
    total,
    unless,
    scope: scopeOf(given),
    actions,
    to: given.to ?? 'user',
    ...stated({ advice: given.advice as string | undefined, most: given.most as number | undefined }),
    ...cancelOf(given, { per, jobs, actions }, fail),
  };
}

function cancelOf(
  given: Partial<Record<PolicyKey, never>>,
  { per, jobs, actions }: Pick<Policy, 'per' | 'jobs' | 'actions'>,
  fail: (key: PolicyKey, what: string, hint?: string) => never,
): Pick<Policy, 'cancel'> {
  const {
    cancel = false,
    warnings,
    cancel_command: command = DEFAULT_COMMAND,
  } = given as {
    cancel?: boolean;
    warnings?: number;
    cancel_command?: string[];
  };
  if (!cancel) {
    for (const key of ['warnings', 'cancel_command'] as const)
      if (given[key] !== undefined)
        fail(
          key,
          `${key} is stated, and cancel is not: nothing would be cancelled`,
          'write cancel = true, or leave it out',
        );
    return {};
  }
  if (warnings === undefined) fail('cancel', 'cancel needs warnings: how many are sent before', 'write warnings = 2');
  if (jobs !== 'running' || per !== 'job')
    fail('cancel', 'only jobs that run can be cancelled, each by itself', 'write jobs = "running" and per = "job"');
  if (!actions.some((action) => action === 'mail' || action === 'webhook'))
    fail('cancel', 'cancel needs a way to warn before', 'write actions = ["mail"]');
  if (!command.some((word) => word.includes('{job}')))
    fail('cancel_command', 'the command does not name the job', 'write {job} where its id belongs');
  return { cancel: { warnings: warnings!, command } };
}

function scopeOf(given: Partial<Record<PolicyKey, never>>): JobFilter {
  const list = (key: PolicyKey): string[] | undefined => given[key];
  const not = stated({ users: list('except_users'), accounts: list('except_accounts') });
  return {
    ...stated({
      users: list('users'),
      accounts: list('accounts'),
      partitions: list('partitions'),
      clusters: list('clusters'),
      nodes: list('nodes'),
      states: list('states')?.map((state) => state.toLowerCase()),
      names: list('names'),
      programs: list('programs'),
      gpu: given.gpu as boolean | undefined,
    }),
    ...(Object.keys(not).length === 0 ? {} : { not }),
  };
}

/** Those that are named, or all that are enabled; one that is named need not be enabled. */
export function chosenPolicies(all: readonly Policy[], names: readonly string[]): Policy[] {
  if (names.length === 0) return all.filter(({ enabled }) => enabled);
  return names.map((name) => {
    const policy = all.find((one) => one.name === name);
    if (policy !== undefined) return policy;
    const policyNames = all.map((one) => one.name);
    const meant = suggest(name, policyNames);
    throw usage(
      `there is no policy "${name}"${meant === undefined ? '' : `; did you mean "${meant}"?`}`,
      policyNames.length === 0
        ? 'tacho policy init prints some for the configuration'
        : `there are ${policyNames.join(', ')}`,
    );
  });
}

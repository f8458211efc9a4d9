import { type Command, Option } from 'commander';
import { warn } from '../base/warn.ts';

/** A letter means one flag, in all verbs; flags that are not here have no letter. */
export const LETTERS: Readonly<Record<string, string>> = {
  '-a': '--all',
  '-b': '--by',
  '-c': '--columns',
  '-f': '--format',
  '-h': '--help',
  '-i': '--interval',
  '-j': '--job',
  '-m': '--marker',
  '-n': '--limit',
  '-o': '--output',
  '-p': '--process',
  '-r': '--repeat',
  '-s': '--sort',
  '-t': '--tag',
  '-u': '--user',
  '-w': '--width',
};

/** `--tag` is a tag of jobs everywhere; this is the tag that makes processes an operation. */
export const OP_TAG_HELP =
  'the tag that operations go by, or one of them (default: op, or the one that most processes have)';

/** How flags were spelled before, by verb: they go with the next release. */
const OLD: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  run: { '-n': '--name' },
  start: { '-n': '--name' },
  'job begin': { '-n': '--name' },
  scale: { '-n': '--name', '--job-tag': '--tag' },
  'scale run': { '-n': '--name', '-c': '--cores' },
  processes: { '-t': '--tree' },
  list: { '-t': '--tables' },
  export: { '-t': '--table', '--until': '--to' },
  verify: { '-n': '--dry-run' },
  outliers: { '-m': '--model', '--job-tag': '--tag' },
  'model create': { '--job-tag': '--tag' },
  operations: { '-t': '--op-tag', '--tag': '--op-tag' },
  timeline: { '-t': '--op-tag', '--tag': '--op-tag' },
  cause: { '-m': '--model' },
  explore: { '-m': '--metric', '--job-tag': '--tag' },
  ranks: { '-w': '--world' },
  nodes: { '-w': '--watch' },
  ls: { '-w': '--watch' },
  serve: { '-p': '--port' },
  mcp: { '-p': '--port' },
  notebook: { '-p': '--port' },
  'policy test': { '-a': '--archive' },
  'policy run': { '-a': '--archive', '--state': '--state-folder' },
  'policy status': { '-a': '--archive', '--state': '--state-folder' },
  advise: { '-p': '--partition' },
  jobs: { '-p': '--partition' },
  history: { '-p': '--partition' },
  waste: { '-p': '--partition' },
  hogs: { '-p': '--partition' },
  'db jobs': { '--since': '--from', '--until': '--to' },
  hub: { '--from': '--samples-from' },
  index: { '--workers': '--parallel' },
  load: { '--last': '--latest' },
  watch: { '--every': '--interval' },
};

/** That something is spelled otherwise now. */
export const tellOld = (old: string, now: string): void =>
  warn(`${old} is now ${now}; the old spelling goes with the next release`);

/** Lets a verb, and its own verbs, take the old spellings, which no help shows. */
export function takeOldSpellings(command: Command, name = command.name()): void {
  for (const [old, now] of Object.entries(OLD[name] ?? {})) {
    const meant = command.options.find(({ long }) => long === now);
    if (meant === undefined) continue;
    const value = /[<[].*$/.exec(meant.flags)?.[0];
    const option = new Option(value === undefined ? old : `${old} ${value}`).hideHelp();
    if (meant.argChoices !== undefined) option.choices(meant.argChoices);
    if (meant.parseArg !== undefined) option.argParser(meant.parseArg);
    option.attributeName = () => meant.attributeName();
    command.addOption(option);
    command.on(`option:${option.name()}`, () => tellOld(old, now));
  }
  for (const child of command.commands) takeOldSpellings(child, `${name} ${child.name()}`);
}

import * as fs from 'node:fs';
import * as path from 'node:path';
import { type CompletedVerb, lastWord, type Takes } from './tree.ts';

/**
 * The script for csh and tcsh: their own rules know nothing of verbs, so that they ask tacho, which is told the line. One
 * line, because eval makes one of several.
 */
export const csh = (): string => "complete tacho 'p@*@`tacho completion csh --offer`@'\n";

/** What could stand where a line ends. */
export function offersFor(tree: CompletedVerb, line: string, cwd = process.cwd()): string[] {
  const lineWords = line.trimStart().split(/\s+/).slice(1);
  const current = lineWords.pop() ?? '';
  let verb = tree;
  let argumentIndex = 0;
  let flag: CompletedVerb['flags'][number] | undefined;
  for (const word of lineWords) {
    if (flag !== undefined) flag = undefined;
    else if (word === '--') return [];
    else if (word.startsWith('-')) {
      flag = verb.flags.find(({ names, takes }) => names.includes(word) && takes.what !== 'nothing');
    } else if (verb.subverbs.length > 0) verb = verb.subverbs.find(({ name }) => lastWord(name) === word) ?? tree;
    else argumentIndex++;
  }
  const offered = flag === undefined ? offersAt(verb, argumentIndex, current, cwd) : offers(flag.takes, current, cwd);
  return offered.filter((word) => word.startsWith(current));
}

function offersAt(verb: CompletedVerb, argumentIndex: number, current: string, cwd: string): string[] {
  if (current.startsWith('-')) return verb.flags.flatMap(({ names }) => names);
  if (verb.subverbs.length > 0) return verb.subverbs.map(({ name }) => lastWord(name));
  const { argumentTypes, variadic } = verb;
  const takes = argumentTypes[argumentIndex] ?? (variadic ? argumentTypes.at(-1) : undefined);
  return takes === undefined ? [] : offers(takes, current, cwd);
}

function offers(takes: Takes, current: string, cwd: string): string[] {
  if (takes.what === 'choice') return [...takes.choices];
  if (takes.what !== 'folder' && takes.what !== 'file') return [];
  const folder = current.slice(0, current.lastIndexOf('/') + 1);
  try {
    return fs
      .readdirSync(path.resolve(cwd, folder), { withFileTypes: true })
      .filter((entry) => takes.what === 'file' || !entry.isFile())
      .map(({ name }) => folder + name);
  } catch {
    return [];
  }
}

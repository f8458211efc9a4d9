import type { Argument, Command, Option } from 'commander';

/** What a flag or an argument takes. */
export type Takes =
  | { readonly what: 'nothing' | 'text' | 'file' | 'folder' | 'command' }
  | { readonly what: 'choice'; readonly choices: readonly string[] };

export interface Flag {
  readonly names: readonly string[];
  readonly takes: Takes;
  readonly help: string;
}

/** A verb, or the whole program. */
export interface CompletedVerb {
  /** Of a verb's own verb both words: "db jobs". */
  readonly name: string;
  readonly help: string;
  readonly flags: readonly Flag[];
  readonly subverbs: readonly CompletedVerb[];
  /** What stands where no flag does. */
  readonly argumentTypes: readonly Takes[];
  /** The last of these may be given again and again. */
  readonly variadic: boolean;
}

/** Recordings are folders; jobs may be named by them, too. */
const FOLDERS = /recording|folder|dir|^jobs?$|^place$/i;
const FILES = /file|path/i;

function kindOf(name: string): Takes {
  if (name === 'command') return { what: 'command' };
  if (FOLDERS.test(name)) return { what: 'folder' };
  return { what: FILES.test(name) ? 'file' : 'text' };
}

function optionTakes(option: Option): Takes {
  if (option.argChoices !== undefined) return { what: 'choice', choices: option.argChoices };
  const placeholder = /[<[](.*?)[>\]]/.exec(option.flags)?.[1];
  return placeholder === undefined ? { what: 'nothing' } : kindOf(placeholder);
}

const argumentTakes = (argument: Argument): Takes =>
  argument.argChoices === undefined ? kindOf(argument.name()) : { what: 'choice', choices: argument.argChoices };

/** The commander tree, as far as completion is concerned. */
export function treeOf(command: Command, above = ''): CompletedVerb {
  const help = command.createHelp();
  const name = `${above}${command.name()}`;
  return {
    name,
    help: command.summary() || command.description(),
    flags: help.visibleOptions(command).map((option) => ({
      names: [option.long, option.short].filter((each) => each !== undefined),
      takes: optionTakes(option),
      help: option.description,
    })),
    subverbs: help
      .visibleCommands(command)
      .filter((child) => child.name() !== 'help')
      .map((child) => treeOf(child, command.parent === null || command.parent === undefined ? '' : `${name} `)),
    argumentTypes: command.registeredArguments.map(argumentTakes),
    variadic: command.registeredArguments.at(-1)?.variadic === true,
  };
}

/** Every verb, and the verbs that some of them have. */
export const verbsOf = (tree: CompletedVerb): CompletedVerb[] =>
  tree.subverbs.flatMap((verb) => [verb, ...verb.subverbs]);

/** The last word of a verb's name. */
export const lastWord = (name: string): string => name.slice(name.lastIndexOf(' ') + 1);

/** For a POSIX shell and its relatives. */
export const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

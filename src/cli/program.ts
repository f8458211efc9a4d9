import { Command, CommanderError, Help, type Option } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import { didYouMean, suggest } from '../base/suggest.ts';
import { VERSION } from '../base/version.ts';
import { warn } from '../base/warn.ts';
import { foldHelp } from '../show/terminal/fold-help.ts';
import { ascii } from '../show/terminal/text-table.ts';
import { errorLine } from './error-text.ts';
import { takeOldSpellings } from './flag-table.ts';
import { type Verb, verbs } from './verbs.ts';

const EXAMPLES = `
Examples:
  tacho run -- ./simulate input.nml        record a command, then print its report card
  tacho start --interval 10                in a job script: record on every node of the job
  tacho report tacho-4711                  print the report card again
  tacho demo -o demo && tacho report demo  see what a GPU job looks like

tacho VERB --help explains a verb. Documentation: docs/README.md
`;

const plainHelp = new Help();

const helpWidth = (): number => Math.min(process.stdout.columns ?? 80, 100);

/** As commander has it, but for lists that are empty unless something is given. */
function optionDescription(option: Option): string {
  const isEmptyList = Array.isArray(option.defaultValue) && option.defaultValue.length === 0;
  return isEmptyList ? option.description : plainHelp.optionDescription(option);
}

/** In ASCII a text may be longer. */
const printed = (text: string): string => (process.stdout.isTTY ? text : ascii(text));

/** The command line as commander's tree, with the verbs by name and summary only. */
function root(): Command {
  return new Command('tacho')
    .description(
      'The flight recorder for batch, HPC and ML jobs: records what a job really did, and says what to change.',
    )
    .version(VERSION, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand(false)
    .usage('VERB [options]')
    .enablePositionalOptions()
    .configureOutput({
      outputError: () => {},
      writeOut: (text) => {
        process.stdout.write(foldHelp(printed(text), helpWidth()));
      },
    })
    .configureHelp({
      get helpWidth() {
        return helpWidth();
      },
      showGlobalOptions: false,
      optionDescription,
      displayWidth: (text) => plainHelp.displayWidth(printed(text)),
    })
    .exitOverride();
}

/** The whole tree, every verb loaded: for completion scripts and the reference. */
export async function wholeProgram(): Promise<Command> {
  const program = root();
  for (const verb of verbs) add(program, verb, await verb.load());
  return program;
}

function add(program: Command, verb: Verb, module?: Awaited<ReturnType<Verb['load']>>): Command {
  const command = program
    .command(verb.name, { hidden: verb.hidden === true })
    .summary(verb.summary)
    .description(`${verb.summary.charAt(0).toUpperCase()}${verb.summary.slice(1)}.`)
    .helpGroup(`${verb.group}:`)
    // "help" is taken by runProgram; commander's own would be a verb with a page and flags
    .helpCommand(false);
  module?.define(command);
  takeOldSpellings(command);
  if (verb.strict !== undefined) command.option('--strict', verb.strict);
  if (module !== undefined && verb.strict !== undefined) forgiveValues(command);
  else nameOptionsInFaults(command);
  return command;
}

/** A value that its option refuses is reported with the option's name: `--interval: "abc" is not a duration`. */
function nameOptionsInFaults(command: Command, refused?: (error: Fault, option: Option) => void): void {
  for (const option of command.options) {
    const parse = option.parseArg;
    if (parse === undefined) continue;
    option.argParser((value: string, previous: unknown) => {
      try {
        return parse(value, previous as never);
      } catch (error) {
        const name = option.long ?? option.flags;
        if (refused !== undefined && error instanceof CommanderError) {
          refused(usage(`${name}: ${noneOf(value, option.argChoices ?? [])}`), option);
          return previous;
        }
        if (!(error instanceof Fault)) throw error;
        if (!error.message.includes(name)) error.message = `${name}: ${error.message}`;
        if (refused === undefined) throw error;
        refused(error, option);
        return previous;
      }
    });
  }
  for (const child of command.commands) nameOptionsInFaults(child);
}

/** In a job's script a flag with a wrong value is as good as none, which is said. */
function forgiveValues(command: Command): void {
  const wrong: { error: Fault; option: Option }[] = [];
  nameOptionsInFaults(command, (error, option) => wrong.push({ error, option }));
  command.hook('preAction', () => {
    if (command.opts().strict && wrong.length > 0) throw wrong[0]!.error;
    for (const { error, option } of wrong) {
      warn(`${error.message}: it is not used`);
      const name = option.attributeName();
      // what commander makes of no value
      if (command.getOptionValue(name) === '') command.setOptionValue(name, undefined);
    }
  });
}

/** Runs what the arguments ask for. Throws a Fault for the user; help and version return normally. */
export async function runProgram(args: readonly string[]): Promise<void> {
  let given = args[0] === 'help' ? [...args.slice(1), '--help'] : [...args];
  const word = given[0];
  const program = root();
  const verb = verbs.find(({ name }) => name === word);
  if (verb !== undefined) {
    add(program, verb, await verb.load());
    const hasVerbs = program.commands.some((command) => command.name() === word && command.commands.length > 0);
    if (hasVerbs && given[1] === 'help') given = [verb.name, ...given.slice(2), '--help'];
  } else {
    if (word !== undefined && !word.startsWith('-')) throw unknownVerb(word);
    for (const each of verbs) add(program, each);
    program.addHelpText('after', EXAMPLES);
    if (word === undefined) given = ['--help'];
  }
  try {
    await program.parseAsync(given, { from: 'user' });
  } catch (error) {
    if (error instanceof CommanderError) {
      if (error.exitCode !== 0) throw wrongUse(error, program, given);
    } else if (isForgiven(program, verb, error)) warn(`${verb!.name}: ${errorLine(error)}`);
    else throw error;
  }
}

/** The job's script goes on without it; `run` has seen to its command itself. */
function isForgiven(program: Command, verb: Verb | undefined, error: unknown): boolean {
  if (verb?.strict === undefined || verb.name === 'run' || (error instanceof Fault && error.final)) return false;
  return program.commands.find((command) => command.name() === verb.name)?.opts().strict !== true;
}

function unknownVerb(word: string): Error {
  const meant = suggest(
    word,
    verbs.filter((verb) => !verb.hidden).map(({ name }) => name),
  );
  const question = meant === undefined ? '' : `; did you mean "${meant}"?`;
  const commandLike = /[./]/.test(word) ? `tacho run -- ${word} … records a command; ` : '';
  return usage(`unknown verb "${word}"${question}`, `${commandLike}tacho --help lists the verbs`);
}

function wrongUse(error: CommanderError, program: Command, given: readonly string[]): Error {
  const verb = verbWords(program, given);
  // its help has been printed: a verb of several words was given without the second
  if (error.code === 'commander.help') return usage(`tacho ${verb} needs to know what to do`);
  const message = error.message.replace(/^error: /, '').replace(/\n\(Did you mean (.*)\?\)$/, '; did you mean $1?');
  const [, flags, value, argument, choices] = NO_CHOICE.exec(message) ?? [];
  const explained = `tacho ${verb === '' ? '' : `${verb} `}--help explains the use`;
  if (choices === undefined) return usage(message, explained);
  const name = flags === undefined ? argument! : /--[\w-]+/.exec(flags)![0];
  return usage(`${name}: ${noneOf(value!, choices.split(', '))}`, explained);
}

/** What commander says of a value of an option, or of an argument, that is none of its choices. */
const NO_CHOICE =
  /^(?:option '(.*)' argument|command-argument value) '(.*)' is invalid(?: for argument '(.*)')?\. Allowed choices are (.*)\.$/s;

const noneOf = (value: string, choices: readonly string[]): string =>
  `"${value}" is none of ${choices.join(', ')}${didYouMean(value, choices)}`;

/** The words of the verb that was meant: `dask csv` has a help of its own. */
function verbWords(program: Command, given: readonly string[]): string {
  const verbNames: string[] = [];
  let command: Command | undefined = program;
  for (const word of given) {
    command = command.commands.find((each) => each.name() === word);
    if (command === undefined) break;
    verbNames.push(word);
  }
  return verbNames.join(' ');
}

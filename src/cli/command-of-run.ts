/** Flags of `tacho run` that have no value; a test compares with the flags that there are. */
const BARE = /^--(no-.*|redact|strict|help|.*=.*)$/;

/**
 * The command in the arguments of `tacho run`, for when whoever knows its flags cannot be loaded. scripts/unrecorded is
 * the same for a shell. Undefined: there is none.
 */
export function commandOfRun(args: readonly string[]): string[] | undefined {
  let at = 1;
  for (; at < args.length && args[at]!.startsWith('-'); at++) {
    const word = args[at]!;
    if (word === '--') {
      at++;
      break;
    }
    if (word === '-h' || word === '--help') return undefined;
    const hasValue = word.startsWith('--') ? !BARE.test(word) : word.length === 2;
    if (hasValue && args[at + 1] !== '--') at++;
  }
  const command = args.slice(at);
  return args[0] === 'run' && command.length > 0 ? command : undefined;
}

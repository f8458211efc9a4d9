/** A word as a shell must see it to pass it on unchanged. */
export function shellQuote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/** A command line that a shell would run as it is: the arguments stay apart. */
export const commandLine = (command: readonly string[]): string => command.map(shellQuote).join(' ');

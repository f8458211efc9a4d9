import * as fs from 'node:fs';
import * as path from 'node:path';

const SHELL = /^-?(?:ba|da|k|mk|z|c|tc|fi)?sh$/;

/** The name of the script that a shell runs; undefined: it is interactive, has its commands as an argument, or is none. */
export function callingScript(shellPid: number, proc = '/proc'): string | undefined {
  let commandLine: string;
  try {
    commandLine = fs.readFileSync(`${proc}/${shellPid}/cmdline`, 'utf8');
  } catch {
    return undefined;
  }
  const [program = '', ...args] = commandLine.split('\0').filter((arg) => arg !== '');
  // options with a value (-o pipefail, -c COMMANDS) are left to those who use them
  const script = args.find((arg) => !/^-[a-bd-np-rt-z]*$/i.test(arg));
  if (!SHELL.test(path.basename(program)) || script === undefined || script.startsWith('-')) return undefined;
  return path.basename(script);
}

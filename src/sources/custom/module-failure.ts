import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { reason } from '../../base/fault.ts';
import { NODE_FLAGS, ownNodeEnvironment } from '../../base/own-node.ts';
import { CustomFailure } from './custom.ts';

/** Checking a file's syntax takes a tenth of this. */
const CHECK_MS = 5000;

/** Why a user's module could not be loaded: with the file and line of the user's code, and without ours. */
export async function loadFailure(error: unknown, module: string): Promise<CustomFailure> {
  if (!(error instanceof Error) || error instanceof CustomFailure) return new CustomFailure(reason(error));
  const missing = /^Cannot find (module|package) '(.+?)' imported from (.+)$/.exec(error.message);
  if (missing !== null) {
    const [, kind, what, from] = missing;
    if (pathOf(what!) === module) return new CustomFailure(`there is no file ${module}`);
    const absent = kind === 'package' ? `the package ${what}, which is not installed` : `${what}, which is not there`;
    return new CustomFailure(`${pathOf(from!)} imports ${absent}`);
  }
  const failurePlace =
    placeIn(error.stack ?? '') ??
    (error instanceof SyntaxError ? await placeOfSyntaxError(module) : undefined) ??
    // an error in a file that it imports has no place
    (error instanceof SyntaxError ? `${module}, or a file that it imports` : module);
  return new CustomFailure(`${failurePlace}: ${error.message}`);
}

/** "file:line" at the head of a stack, as Node sets it before errors of syntax, or of its first line that is a file. */
function placeIn(stack: string): string | undefined {
  const placeMatch =
    /^((?:file:\/\/)?\/.*):(\d+)\n/.exec(stack) ?? /^ +at (?:.* \()?(file:\/\/.*?):(\d+):\d+\)?$/m.exec(stack);
  return placeMatch === null ? undefined : `${pathOf(placeMatch[1]!)}:${placeMatch[2]}`;
}

/** JavaScript's errors of syntax do not say where they are; Node's own check does. */
function placeOfSyntaxError(module: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { timeout: CHECK_MS, env: ownNodeEnvironment(process.env) };
    execFile(process.execPath, [...NODE_FLAGS, '--check', module], options, (_, __, complaint) =>
      resolve(placeIn(complaint)),
    );
  });
}

const pathOf = (text: string): string => (text.startsWith('file://') ? fileURLToPath(text) : text);

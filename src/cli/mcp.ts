import * as fs from 'node:fs';
import { type Command, Option } from 'commander';
import { Fault, usage } from '../base/fault.ts';
import { pathsNamed } from './named-recordings.ts';
import { changedRules } from './rule-settings.ts';

interface Options {
  http?: boolean;
  port: string;
  format: string;
}

export function define(command: Command): void {
  command
    .argument('[folder...]', 'archives or folders of recordings (default: the current folder)')
    .option('--http', 'over HTTP on this machine, instead of standard input and output')
    .option('--port <port>', 'with --http: the port (0: any free one)', '0')
    .addOption(
      new Option('-f, --format <format>', 'with --http: how the address is printed')
        .choices(['text', 'json'])
        .default('text'),
    )
    .addHelpText(
      'after',
      `
Lets an assistant that speaks the Model Context Protocol ask about recordings: list jobs, report,
findings, compare, series, processes, history, advise. It can only read, and only what you may read in
these folders. Answers are of bounded length.

Examples:
  tacho mcp ~/runs                          the command to give to the assistant
  tacho mcp --http --port 8472 /archive/tacho
`,
    )
    .action(async (folders: string[], options: Options) => {
      const recordingPaths = await pathsNamed(folders);
      // an assistant would hear of it only with its first question
      for (const recordingPath of recordingPaths)
        if (!fs.existsSync(recordingPath)) throw new Fault(`cannot open ${recordingPath}: no such file or folder`);
      const port = Number(options.port);
      if (!Number.isInteger(port) || port < 0 || port > 65_535)
        throw usage(`"${options.port}" is not a port`, 'give a number from 0 to 65535');
      const { talkMcp } = await import('../mcp/start.ts');
      const http = options.http === true ? { port, isJson: options.format === 'json' } : undefined;
      await talkMcp(recordingPaths, http, await changedRules());
    });
}

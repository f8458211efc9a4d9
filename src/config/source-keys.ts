/** The keys of a [[source]] (see CustomSource), for the check and the reference. */
export const sourceKeys = [
  { key: 'name', kind: 'name', say: 'a name of lower case letters, digits and _', help: 'Name of its table.' },
  {
    key: 'module',
    kind: 'text',
    say: 'the path of a module',
    help: 'JavaScript or TypeScript file that exports a table and how to read it; relative to the configuration.',
  },
  { key: 'command', kind: 'text', say: 'a command', help: 'Command whose output is read; either this or `module`.' },
  {
    key: 'format',
    kind: 'format',
    say: '"prometheus" or "json"',
    help: 'What the command prints (default: "prometheus").',
  },
  {
    key: 'interval',
    kind: 'duration',
    say: 'a duration such as "10s"',
    help: 'Time between reads (default: every tick).',
  },
  {
    key: 'timeout',
    kind: 'duration',
    say: 'a duration such as "5s"',
    help: 'When to give up on a read (default: "10s").',
  },
] as const;

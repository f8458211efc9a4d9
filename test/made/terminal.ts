import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { eventually } from './eventually.ts';

export interface TerminalOptions {
  columns: number;
  rows: number;
  cwd: string;
  env?: NodeJS.ProcessEnv;
}

/** A terminal with a person before it: it shows lines at their places, is resized, and keys are pressed. */
export class Terminal {
  /** All that came, as it came. */
  output = '';
  private screen: string[][] = [];
  private at = { row: 0, column: 0 };
  private rows: number;
  private columns: number;
  private readonly child: ChildProcess;
  private rest = '';

  /** Runs a command line of the shell. */
  constructor(t: TestContext, command: string, { columns, rows, cwd, env = process.env }: TerminalOptions) {
    [this.rows, this.columns] = [rows, columns];
    this.clear();
    const line = `stty cols ${columns} rows ${rows}; echo "terminal $(tty)"; ${command}`;
    this.child = spawn('script', ['-qec', line, '/dev/null'], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] });
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.output += text;
      this.show(text);
    });
    t.after(() => this.child.kill());
  }

  press(keys: string): void {
    this.child.stdin!.write(keys);
  }

  async resize(columns: number, rows: number): Promise<void> {
    const name = await eventually('the name of the terminal', () => /terminal (\/dev\/\S+)/.exec(this.output)?.[1]);
    [this.rows, this.columns] = [rows, columns];
    this.clear();
    execFileSync('stty', ['-F', name, 'cols', String(columns), 'rows', String(rows)]);
  }

  /** The lines that are seen, without colours and blanks at their ends. */
  get lines(): string[] {
    return this.screen.map((line) => line.join('').trimEnd());
  }

  /** Waits for a line, and returns the screen that has it. */
  shows(what: RegExp): Promise<string[]> {
    return eventually(
      () => `a line like ${what} in\n${this.lines.join('\n')}`,
      () => (this.lines.some((line) => what.test(line)) ? this.lines : undefined),
    );
  }

  async ended(): Promise<number> {
    if (this.child.exitCode === null) await once(this.child, 'close');
    return this.child.exitCode!;
  }

  private clear(): void {
    this.screen = Array.from({ length: this.rows }, () => new Array<string>(this.columns).fill(' '));
    this.at = { row: 0, column: 0 };
  }

  private show(text: string): void {
    const all = this.rest + text;
    // what is not whole yet waits for the rest of it
    const whole = /^[\s\S]*?(?=\x1b(?:\[[?\d;]*)?$|$(?![\s\S]))/.exec(all)![0];
    this.rest = all.slice(whole.length);
    for (const [each, values, command] of whole.matchAll(/\x1b\[([?\d;]*)([A-Za-z])|[\s\S]/g)) {
      if (command === 'H') {
        const [row = 1, column = 1] = values!.split(';').map(Number);
        this.at = { row: row - 1, column: column - 1 };
      } else if (command === 'J') this.clear();
      else if (command === 'K') this.screen[this.at.row]?.fill(' ', this.at.column);
      else if (command === undefined) this.put(each);
    }
  }

  private put(character: string): void {
    if (character === '\r') this.at.column = 0;
    else if (character === '\n') this.at.row++;
    else if (character >= ' ') {
      const line = this.screen[this.at.row];
      if (line !== undefined) line[this.at.column] = character;
      this.at.column++;
    }
  }
}

/** The whole terminal for a while: it is left as it was, however that ends. */
export interface FullScreen {
  draw(lines: readonly string[]): void;
  readonly width: number;
  readonly height: number;
  close(): void;
}

interface Keys {
  key(name: string): void;
  resized(): void;
  /** A signal asked to end. */
  ended(signal: NodeJS.Signals): void;
}

const ENTER = '\x1b[?1049h\x1b[?25l\x1b[2J';
// cleared first: a terminal multiplexer whose window grew meanwhile shows what is left on the other screen
const LEAVE = '\x1b[0m\x1b[2J\x1b[?25h\x1b[?1049l';
const NAMES: Readonly<Record<string, string>> = {
  '\x1b[A': 'up',
  '\x1b[B': 'down',
  '\x1bOA': 'up',
  '\x1bOB': 'down',
  '\x1b[5~': 'page up',
  '\x1b[6~': 'page down',
  '\x1b': 'escape',
  '\r': 'enter',
  '\n': 'enter',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x03': 'interrupt',
};

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

export function fullScreen(input: NodeJS.ReadStream, output: NodeJS.WriteStream, keys: Keys): FullScreen {
  let isOpen = true;
  let last: string[] = [];
  const leave = (): void => {
    if (!isOpen) return;
    isOpen = false;
    input.off('data', onData);
    output.off('resize', onResize);
    process.off('exit', leave);
    for (const signal of SIGNALS) process.off(signal, onSignal);
    if (input.isTTY) input.setRawMode(false);
    input.pause();
    output.write(LEAVE);
  };
  const onData = (text: string): void => {
    // several keys may come at once, over a slow line
    for (const [each] of text.matchAll(/\x1b(?:\[\d*[A-Za-z~]|O[A-Z])|[\s\S]/g)) keys.key(NAMES[each] ?? each);
  };
  const onResize = (): void => {
    last = [];
    if (isOpen) output.write('\x1b[2J');
    keys.resized();
  };
  const onSignal = (signal: NodeJS.Signals): void => keys.ended(signal);
  process.on('exit', leave);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  output.on('resize', onResize);
  if (input.isTTY) input.setRawMode(true);
  input.setEncoding('utf8');
  input.on('data', onData);
  input.resume();
  output.write(ENTER);
  return {
    get width() {
      return output.columns || 80;
    },
    get height() {
      return output.rows || 24;
    },
    /** Only lines that have changed are written: that is little over ssh. */
    draw(lines) {
      if (!isOpen) return;
      const changed = lines.flatMap((line, i) => (line === last[i] ? [] : [`\x1b[${i + 1};1H\x1b[0m${line}\x1b[K`]));
      if (changed.length > 0) output.write(changed.join(''));
      last = [...lines];
    },
    close: leave,
  };
}

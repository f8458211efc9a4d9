/** Pictures inside a terminal, by the two ways that terminals have: kitty's (PNG) and sixel (DEC's). */
export type GraphicsKind = 'kitty' | 'sixel';

export interface Graphics {
  kind: GraphicsKind;
  /** Of one character, in pixels. */
  cell: { width: number; height: number };
  isDark: boolean;
}

const KITTY_PROBE = '\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\';
const BACKGROUND = '\x1b]11;?\x1b\\';
const CELL_SIZE = '\x1b[16t';
/** Every terminal answers this one: what was not answered before it is not known there. */
const ATTRIBUTES = '\x1b[c';
const QUESTIONS = KITTY_PROBE + BACKGROUND + CELL_SIZE + ATTRIBUTES;
/** Of terminals that do not say. */
const USUAL_CELL = { width: 9, height: 18 };
/** Sixel is the fourth attribute. */
const HAS_SIXEL = /\x1b\[\?(?:\d+;)*4(?:;\d+)*c/;
const WHOLE_ANSWER = /\x1b\[\?[\d;]*c/;
/** A terminal behind a slow line answers within this; milliseconds. */
const PATIENCE = 1000;

/** What a terminal has said about itself; undefined: it shows characters only. */
export function graphicsIn(terminalReply: string): Graphics | undefined {
  const kind = terminalReply.includes('\x1b_Gi=31;OK') ? 'kitty' : HAS_SIXEL.test(terminalReply) ? 'sixel' : undefined;
  if (kind === undefined) return undefined;
  const [, high, wide] = /\x1b\[6;(\d+);(\d+)t/.exec(terminalReply) ?? [];
  const cell = Number(high) > 0 && Number(wide) > 0 ? { width: Number(wide), height: Number(high) } : USUAL_CELL;
  const colourLevels = /\x1b\]11;rgba?:([\da-f]+)\/([\da-f]+)\/([\da-f]+)/i.exec(terminalReply)?.slice(1) ?? [];
  const levels = colourLevels.map((text) => Number.parseInt(text, 16) / (16 ** text.length - 1));
  return { kind, cell, isDark: levels.length === 0 || levels.reduce((sum, level) => sum + level, 0) < 1.5 };
}

/** Asks the terminal; what is typed meanwhile is lost. */
export async function askGraphics(input: NodeJS.ReadStream, output: NodeJS.WriteStream): Promise<Graphics | undefined> {
  // they print questions that they do not know, or cannot answer
  if (!input.isTTY || !output.isTTY || /^(?:dumb|linux|vt\d+)?$/.test(process.env.TERM ?? '')) return undefined;
  let terminalReply = '';
  input.setRawMode(true);
  try {
    await new Promise<void>((done) => {
      const timer = setTimeout(done, PATIENCE);
      input.on('data', (bytes: Buffer) => {
        terminalReply += bytes.toString('latin1');
        if (!WHOLE_ANSWER.test(terminalReply)) return;
        clearTimeout(timer);
        done();
      });
      output.write(QUESTIONS);
    });
  } finally {
    input.removeAllListeners('data');
    input.setRawMode(false);
    input.pause();
  }
  return graphicsIn(terminalReply);
}

const KITTY_CHUNK = 4096;

/** A PNG for a terminal that knows kitty's graphics. */
export function kittyText(png: Uint8Array): string {
  const text = Buffer.from(png).toString('base64');
  const chunks = text.match(new RegExp(`.{1,${KITTY_CHUNK}}`, 'g')) ?? [];
  return chunks
    .map((chunk, i) => `\x1b_G${i === 0 ? 'a=T,f=100,q=2,' : ''}m=${i === chunks.length - 1 ? 0 : 1};${chunk}\x1b\\`)
    .join('');
}

const MOST_COLOURS = 256;
/** Rows of pixels in one line of sixels. */
const BAND = 6;

interface Bitmap {
  width: number;
  height: number;
  rgba: Uint8Array;
}

/** Opaque pixels for a terminal that knows sixels, in the 256 colours that most of them have. */
export function sixelText({ width, height, rgba }: Bitmap): string {
  const { colours, colourIndexes } = paletteOf(rgba);
  const percent = (value: number): number => Math.round((value / 255) * 100);
  const palette = colours.map(([r, g, b], i) => `#${i};2;${percent(r)};${percent(g)};${percent(b)}`).join('');
  const lines: string[] = [];
  for (let top = 0; top < height; top += BAND) {
    const rows = new Map<number, Uint8Array>();
    for (let row = 0; row < Math.min(BAND, height - top); row++)
      for (let x = 0; x < width; x++) {
        const colour = colourIndexes[(top + row) * width + x]!;
        let bits = rows.get(colour);
        if (bits === undefined) {
          bits = new Uint8Array(width);
          rows.set(colour, bits);
        }
        bits[x]! |= 1 << row;
      }
    lines.push([...rows].map(([colour, bits]) => `#${colour}${runs(bits)}`).join('$'));
  }
  return `\x1bP0;1q"1;1;${width};${height}${palette}${lines.join('-')}\x1b\\`;
}

/** Six pixels above each other are one character; how often it comes on end stands before it. */
function runs(bits: Uint8Array): string {
  let text = '';
  for (let from = 0; from < bits.length; ) {
    let to = from + 1;
    while (to < bits.length && bits[to] === bits[from]) to++;
    // nothing follows: what is not drawn needs no character
    if (to === bits.length && bits[from] === 0) break;
    const character = String.fromCharCode(63 + bits[from]!);
    text += to - from > 3 ? `!${to - from}${character}` : character.repeat(to - from);
    from = to;
  }
  return text;
}

type Colour = readonly [red: number, green: number, blue: number];

/** The colours that most pixels have, and which of them each pixel gets. */
function paletteOf(rgba: Uint8Array): { colours: Colour[]; colourIndexes: Uint8Array } {
  const pixels = rgba.length / 4;
  const colourAt = (i: number): number => (rgba[i * 4]! << 16) | (rgba[i * 4 + 1]! << 8) | rgba[i * 4 + 2]!;
  const counts = new Map<number, number>();
  for (let i = 0; i < pixels; i++) counts.set(colourAt(i), (counts.get(colourAt(i)) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1]).slice(0, MOST_COLOURS);
  const colours = most.map(([c]): Colour => [c >> 16, (c >> 8) & 255, c & 255]);
  const indexOfColour = new Map(most.map(([colour], i) => [colour, i]));
  const colourIndexes = new Uint8Array(pixels);
  for (let i = 0; i < pixels; i++) {
    const colour = colourAt(i);
    let colourIndex = indexOfColour.get(colour);
    if (colourIndex === undefined) {
      colourIndex = nearest(colours, [colour >> 16, (colour >> 8) & 255, colour & 255]);
      indexOfColour.set(colour, colourIndex);
    }
    colourIndexes[i] = colourIndex;
  }
  return { colours, colourIndexes };
}

function nearest(colours: readonly Colour[], [r, g, b]: Colour): number {
  let [best, least] = [0, Number.POSITIVE_INFINITY];
  for (const [i, [red, green, blue]] of colours.entries()) {
    const distance = (red - r) ** 2 + (green - g) ** 2 + (blue - b) ** 2;
    if (distance < least) [best, least] = [i, distance];
  }
  return best;
}

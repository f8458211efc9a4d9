type Stroke = (text: string) => string;

export interface Paint {
  readonly bold: Stroke;
  readonly dim: Stroke;
  readonly red: Stroke;
  readonly yellow: Stroke;
  readonly green: Stroke;
  readonly cyan: Stroke;
}

const plain: Stroke = (text) => text;
const stroke =
  (on: number, off: number): Stroke =>
  (text) =>
    text === '' ? '' : `\x1b[${on}m${text}\x1b[${off}m`;

/** Colours for a terminal; plain text for anything else, when NO_COLOR is set and on a dumb terminal. */
export function paint(stream: { readonly isTTY?: boolean | undefined }): Paint {
  const coloured = stream.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb';
  if (!coloured) return { bold: plain, dim: plain, red: plain, yellow: plain, green: plain, cyan: plain };
  return {
    bold: stroke(1, 22),
    dim: stroke(2, 22),
    red: stroke(31, 39),
    yellow: stroke(33, 39),
    green: stroke(32, 39),
    cyan: stroke(36, 39),
  };
}

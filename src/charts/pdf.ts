import { deflateSync } from 'node:zlib';
import { coloursOf, type Matrix, type PathPart, type Picture, type Shape, shapesOf } from './svg-shapes.ts';

/** Widths of Helvetica and Helvetica-Bold from the space on, in thousandths: every reader of PDF has these two fonts. */
// biome-ignore format: a table
const WIDTHS = {
  plain: [278,278,355,556,556,889,667,191,333,333,389,584,278,333,278,278,556,556,556,556,556,556,556,556,556,556,278,278,584,584,584,556,1015,667,667,722,722,667,611,778,722,278,500,667,556,833,722,778,667,778,722,667,611,722,667,944,667,667,611,278,278,278,469,556,333,556,556,500,556,556,278,556,556,222,222,500,222,833,556,556,556,556,333,500,278,556,500,722,500,500,500,334,260,334,584],
  bold: [278,333,474,556,556,889,722,238,333,333,389,584,278,333,278,278,556,556,556,556,556,556,556,556,556,556,333,333,584,584,584,611,975,722,722,722,722,667,611,778,722,278,556,722,611,833,722,778,667,778,722,667,611,722,667,944,667,667,611,333,278,333,584,556,333,556,611,556,611,556,333,611,611,278,278,556,278,889,611,611,611,611,389,556,333,611,556,778,556,556,500,389,280,389,584],
};
/** Of each letter of Courier. */
const COURIER = 0.6;
/** What Windows' western letters have beyond Latin-1. */
const WESTERN: Record<string, number> = {
  '–': 0x96,
  '—': 0x97,
  '‘': 0x91,
  '’': 0x92,
  '“': 0x93,
  '”': 0x94,
  '…': 0x85,
  '•': 0x95,
  '€': 0x80,
};

/** The bytes of a text in the encoding of those fonts; what it lacks is a question mark. */
const bytesOf = (text: string): number[] =>
  [...text].map((letter) => {
    const code = letter.codePointAt(0)!;
    return (code >= 32 && code < 127) || (code >= 160 && code < 256) ? code : (WESTERN[letter] ?? 63);
  });

function widthOf(text: string, size: number, isBold: boolean, isMono: boolean): number {
  if (isMono) return text.length * COURIER * size;
  const widths = isBold ? WIDTHS.bold : WIDTHS.plain;
  return (bytesOf(text).reduce((sum, code) => sum + (widths[code - 32] ?? 556), 0) / 1000) * size;
}

const number = (value: number): string => String(Number(value.toFixed(3)));
const numbers = (values: readonly number[]): string => values.map(number).join(' ');
const pathText = (path: readonly PathPart[]): string =>
  path
    .map(({ to, at }) => ({ M: `${numbers(at)} m`, L: `${numbers(at)} l`, C: `${numbers(at)} c`, Z: 'h' })[to])
    .join('\n');

/** Pictures in SVG, each on a page of its own size, as a PDF with lines, areas and texts. Sizes are in points (1/72 inch). */
export function pdfOf(pictures: readonly { svg: string; width: number; height: number }[]): Buffer {
  const objects: (string | Buffer)[] = [];
  const add = (object: string | Buffer): number => objects.push(object);
  const pages: number[] = [];
  const [root, tree] = [add(''), add('')];
  const fonts = ['Helvetica', 'Helvetica-Bold', 'Courier', 'Courier-Bold'].map((font) =>
    add(`<< /Type /Font /Subtype /Type1 /BaseFont /${font} /Encoding /WinAnsiEncoding >>`),
  );
  for (const { svg, width, height } of pictures) {
    const picture = shapesOf(svg);
    const opacities = new Map<string, string>();
    const content = contentOf(picture, width, height, opacities);
    const packed = deflateSync(Buffer.from(content, 'latin1'));
    const stream = add(
      Buffer.concat([
        Buffer.from(`<< /Length ${packed.length} /Filter /FlateDecode >>\nstream\n`),
        packed,
        Buffer.from('\nendstream'),
      ]),
    );
    const states = [...opacities]
      .map(([key, name]) => `/${name} << /ca ${key.split(' ')[0]} /CA ${key.split(' ')[1]} >>`)
      .join(' ');
    pages.push(
      add(
        `<< /Type /Page /Parent ${tree} 0 R /MediaBox [0 0 ${numbers([width, height])}] /Contents ${stream} 0 R /Resources << /Font << ${fonts.map((font, i) => `/F${i + 1} ${font} 0 R`).join(' ')} >> /ExtGState << ${states} >> >> >>`,
      ),
    );
  }
  objects[root - 1] = `<< /Type /Catalog /Pages ${tree} 0 R >>`;
  objects[tree - 1] =
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((page) => `${page} 0 R`).join(' ')}] >>`;
  return fileOf(objects, root);
}

function fileOf(objects: readonly (string | Buffer)[], root: number): Buffer {
  const buffers: Buffer[] = [Buffer.from('%PDF-1.4\n%\xe2\xe3\xcf\xd3\n', 'latin1')];
  let length = buffers[0]!.length;
  const offsets: number[] = [];
  for (const [i, object] of objects.entries()) {
    offsets.push(length);
    const objectBytes = Buffer.concat([
      Buffer.from(`${i + 1} 0 obj\n`),
      Buffer.from(object as string),
      Buffer.from('\nendobj\n'),
    ]);
    buffers.push(objectBytes);
    length += objectBytes.length;
  }
  const table = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  buffers.push(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root ${root} 0 R >>\nstartxref\n${length}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(buffers);
}

function contentOf(picture: Picture, width: number, height: number, opacities: Map<string, string>): string {
  const [sx, sy] = [width / picture.width, height / picture.height];
  // PDF counts from below
  const lines = [`${numbers([sx, 0, 0, -sy, 0, height])} cm`];
  const cm = (matrix: Matrix): string => `${numbers(matrix)} cm`;
  for (const shape of picture.shapes) {
    const { matrix, fill, stroke, clips, text } = shape;
    if (fill === undefined && stroke === undefined) continue;
    lines.push('q');
    for (const clip of clips) lines.push(`${pathText(moved(clip.path, clip.matrix))}\nW n`);
    const opacity = `${number(shape.fillOpacity)} ${number(shape.strokeOpacity)}`;
    if (opacity !== '1 1') {
      if (!opacities.has(opacity)) opacities.set(opacity, `G${opacities.size}`);
      lines.push(`/${opacities.get(opacity)} gs`);
    }
    lines.push(cm(matrix));
    if (fill !== undefined) lines.push(`${numbers(coloursOf(fill))} rg`);
    if (text !== undefined) {
      if (fill !== undefined) lines.push(textOf(text));
    } else {
      if (stroke !== undefined) {
        lines.push(`${numbers(coloursOf(stroke))} RG ${number(shape.width)} w`);
        if (shape.dash.length > 0) lines.push(`[${numbers(shape.dash)}] 0 d`);
      }
      lines.push(pathText(shape.path), fill === undefined ? 'S' : stroke === undefined ? 'f' : 'B');
    }
    lines.push('Q');
  }
  return lines.join('\n');
}

const moved = (path: readonly PathPart[], [a, b, c, d, e, f]: Matrix): PathPart[] =>
  path.map(({ to, at }) => ({
    to,
    at: at.map((value, i) => (i % 2 === 0 ? a * value + c * at[i + 1]! + e : b * at[i - 1]! + d * value + f)),
  }));

function textOf({ text, x, y, size, bold, isMono, anchor }: NonNullable<Shape['text']>): string {
  const width = widthOf(text, size, bold, isMono);
  const left = anchor === 'middle' ? x - width / 2 : anchor === 'end' ? x - width : x;
  const hex = bytesOf(text)
    .map((code) => code.toString(16).padStart(2, '0'))
    .join('');
  const font = (isMono ? 3 : 1) + (bold ? 1 : 0);
  return `BT /F${font} ${number(size)} Tf 1 0 0 -1 ${numbers([left, y])} Tm <${hex}> Tj ET`;
}

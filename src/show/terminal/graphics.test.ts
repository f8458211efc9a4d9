import assert from 'node:assert/strict';
import { test } from 'node:test';
import { graphicsIn, kittyText, sixelText } from './graphics.ts';

test('what a terminal answers says which pictures it shows, how large its letters are, and on what', () => {
  const kitty = '\x1b_Gi=31;OK\x1b\\\x1b]11;rgb:ffff/ffff/eeee\x1b\\\x1b[6;40;20t\x1b[?62;c';
  assert.deepEqual(graphicsIn(kitty), { kind: 'kitty', cell: { width: 20, height: 40 }, isDark: false });
  assert.deepEqual(graphicsIn('\x1b]11;rgb:10/10/10\x07\x1b[?62;4;22c'), {
    ...{ kind: 'sixel', cell: { width: 9, height: 18 }, isDark: true },
  });
  assert.equal(graphicsIn('\x1b[?62;22c'), undefined);
  // an attribute 14 or 42 is no 4
  assert.equal(graphicsIn('\x1b[?14;42;24c'), undefined);
  assert.equal(graphicsIn('\x1b_Gi=31;ENOTSUPPORTED\x1b\\\x1b[?1;2c'), undefined);
  assert.equal(graphicsIn(''), undefined);
});

test('a PNG for kitty comes in chunks that make the whole', () => {
  const png = Buffer.from(Array.from({ length: 9000 }, (_, i) => (i * 7) % 256));
  const text = kittyText(png);
  const escapes = [...text.matchAll(/\x1b_G([^;]*);([^\x1b]*)\x1b\\/g)];
  assert.equal(escapes.map(([all]) => all).join(''), text);
  assert.deepEqual(
    escapes.map(([, keys]) => keys),
    ['a=T,f=100,q=2,m=1', 'm=1', 'm=0'],
  );
  assert.deepEqual(Buffer.from(escapes.map(([, , body]) => body).join(''), 'base64'), png);
  assert.ok(escapes.every(([, , body]) => body!.length <= 4096));
});

/** The colours of a picture in sixels, in percent, a row of pixels each. */
function drawn(text: string): string[][] {
  const [, wide, high, body] = /^\x1bP0;1q"1;1;(\d+);(\d+)(.*)\x1b\\$/s.exec(text)!;
  const rows = Array.from({ length: Number(high) }, () => new Array<string>(Number(wide)).fill('-'));
  const palette = new Map<string, string>();
  let [x, top, colour] = [0, 0, ''];
  for (const [all, index, rgb, times, bits] of body!.matchAll(/#(\d+)(?:;2;([\d;]+))?|(?:!(\d+))?([?-~])|[$-]/g)) {
    if (index !== undefined) {
      if (rgb !== undefined) palette.set(index, rgb);
      colour = palette.get(index)!;
    } else if (all === '$') x = 0;
    else if (all === '-') [x, top] = [0, top + 6];
    else
      for (let i = 0; i < Number(times ?? 1); i++, x++)
        for (let bit = 0; bit < 6; bit++) if (((bits!.charCodeAt(0) - 63) >> bit) & 1) rows[top + bit]![x] = colour;
  }
  return rows;
}

test('sixels have every pixel in its colour', () => {
  const [width, height] = [9, 8];
  const rgba = new Uint8Array(width * height * 4).fill(255);
  for (const [x, y] of [
    [2, 0],
    [3, 6],
    [8, 7],
  ])
    rgba.set([0, 0, 255, 255], (y! * width + x!) * 4);
  const rows = drawn(sixelText({ width, height, rgba }));
  assert.deepEqual(
    rows.flatMap((row, y) => row.flatMap((colour, x) => (colour === '0;0;100' ? [[x, y]] : []))),
    [
      [2, 0],
      [3, 6],
      [8, 7],
    ],
  );
  assert.equal(rows.flat().filter((colour) => colour === '100;100;100').length, width * height - 3);
});

test('of more than 256 colours the rarest become the nearest one', () => {
  const rgba = new Uint8Array(600 * 4);
  for (let i = 0; i < 600; i++) rgba.set([i % 256, Math.floor(i / 256) * 100, 0, 255], i * 4);
  const colours = new Set(drawn(sixelText({ width: 100, height: 6, rgba })).flat());
  assert.ok(colours.size <= 256 && colours.size > 90, `${colours.size} colours`);
});

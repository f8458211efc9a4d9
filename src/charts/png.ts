import * as fs from 'node:fs';
import * as path from 'node:path';
import { initWasm, Resvg } from '@resvg/resvg-wasm';
import { ours } from '../base/ours.ts';

/** Letters as wide as those of Helvetica, which charts are laid out for. */
const FONT = 'Arimo';
/** Beside the program in a release, where npm put them in a checkout. */
const RELEASED = ours('lib/png');
const PACKAGES = ours('node_modules');

/** What turns SVG into pixels; scripts/release.ts takes these files along. */
export const PNG_FILES = {
  'resvg.wasm': '@resvg/resvg-wasm/index_bg.wasm',
  'regular.ttf': '@expo-google-fonts/arimo/400Regular/Arimo_400Regular.ttf',
  'bold.ttf': '@expo-google-fonts/arimo/700Bold/Arimo_700Bold.ttf',
} as const;

function read(name: keyof typeof PNG_FILES): Buffer {
  const released = path.join(RELEASED, name);
  return fs.readFileSync(fs.existsSync(released) ? released : path.join(PACKAGES, PNG_FILES[name]));
}

let fonts: Promise<Uint8Array[]> | undefined;
const prepared = (): Promise<Uint8Array[]> => {
  fonts ??= initWasm(read('resvg.wasm')).then(() => [read('regular.ttf'), read('bold.ttf')]);
  return fonts;
};

export interface Pixels {
  width: number;
  height: number;
  /** Red, green, blue and opacity of each pixel. */
  rgba: Uint8Array;
  png: Uint8Array;
}

/** A picture in SVG as pixels, so many of them wide. */
export async function pixelsOf(svg: string, width: number): Promise<Pixels> {
  const fontBuffers = await prepared();
  const picture = new Resvg(svg, {
    fitTo: { mode: 'width', value: Math.round(width) },
    font: { fontBuffers, defaultFontFamily: FONT, sansSerifFamily: FONT },
  });
  const image = picture.render();
  try {
    return { width: image.width, height: image.height, rgba: image.pixels, png: image.asPng() };
  } finally {
    image.free();
    picture.free();
  }
}

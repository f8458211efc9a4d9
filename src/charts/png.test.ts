import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pixelsOf } from './png.ts';

const at = ({ rgba, width }: Awaited<ReturnType<typeof pixelsOf>>, x: number, y: number): number[] => [
  ...rgba.subarray((y * width + x) * 4, (y * width + x) * 4 + 4),
];

test('shapes of SVG are pixels of a PNG, as many as are wanted', async () => {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><rect width="40" height="20" fill="#fff"/><rect x="20" width="20" height="20" fill="#0072B2"/></svg>';
  const pixels = await pixelsOf(svg, 80);
  assert.deepEqual([pixels.width, pixels.height], [80, 40]);
  assert.deepEqual(at(pixels, 10, 20), [255, 255, 255, 255]);
  assert.deepEqual(at(pixels, 60, 20), [0, 0x72, 0xb2, 255]);
  const png = Buffer.from(pixels.png);
  assert.equal(png.toString('latin1', 1, 4), 'PNG');
  assert.deepEqual([png.readUInt32BE(16), png.readUInt32BE(20)], [80, 40]);
});

test('texts are drawn without any font of the machine, units and bold ones too', async () => {
  const dark = async (text: string, weight = 'normal'): Promise<number> => {
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="60" height="20"><rect width="60" height="20" fill="#fff"/><text x="4" y="15" font-family="Helvetica, Arial, sans-serif" font-weight="${weight}" font-size="14">${text}</text></svg>`;
    const { rgba } = await pixelsOf(svg, 60);
    return rgba.filter((value, i) => i % 4 === 0 && value < 128).length;
  };
  const [none, micro, plain, bold] = [
    await dark(''),
    await dark('µ'),
    await dark('GiB/s'),
    await dark('GiB/s', 'bold'),
  ];
  assert.equal(none, 0);
  assert.ok(micro > 5, `${micro} pixels of µ`);
  assert.ok(bold > plain && plain > 30, `${plain} and ${bold} pixels`);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inflateSync } from 'node:zlib';
import { pdfOf } from './pdf.ts';
import { shapesOf } from './svg-shapes.ts';

const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50">
<style>.law { fill: none; stroke: #00ff00 }</style>
<defs><clipPath id="c"><rect x="0" y="0" width="10" height="10"/></clipPath></defs>
<g transform="translate(5 7)" clip-path="url(#c)"><path d="M1 2L3 4l1 1" fill="none" stroke="rgb(255,0,0)" stroke-width="2"/></g>
<polyline class="law" points="0,0 4,4"/>
<rect width="3" height="2" fill="#0000ff" fill-opacity="0.5" stroke="#000" stroke-width="0"/>
<text x="50" y="20" text-anchor="middle" style="font-size:10px">40 °C &lt;é 漢&gt;</text></svg>`;

test('shapes are where they are drawn, with their looks', () => {
  const { width, height, shapes } = shapesOf(SVG);
  assert.deepEqual([width, height, shapes.length], [100, 50, 4]);
  const [path, law, area, text] = shapes;
  assert.deepEqual(path!.matrix, [1, 0, 0, 1, 5, 7]);
  assert.deepEqual(
    path!.path.map(({ to, at }) => [to, ...at]),
    [
      ['M', 1, 2],
      ['L', 3, 4],
      ['L', 4, 5],
    ],
  );
  assert.deepEqual([path!.fill, path!.stroke, path!.width, path!.clips.length], [undefined, 'rgb(255,0,0)', 2, 1]);
  assert.deepEqual([law!.fill, law!.stroke], [undefined, '#00ff00']);
  assert.deepEqual([area!.fill, area!.fillOpacity, area!.stroke], ['#0000ff', 0.5, undefined]);
  assert.equal(text!.text!.text, '40 °C <é 漢>');
});

test('a PDF has them on a page of the wanted size, and its table of objects leads to each', () => {
  const pdf = pdfOf([{ svg: SVG, width: 200, height: 100 }]);
  const text = pdf.toString('latin1');
  assert.match(text, /\/MediaBox \[0 0 200 100\]/);
  const table = text.slice(Number(/startxref\n(\d+)\n/.exec(text)![1]));
  const offsets = [...table.matchAll(/^(\d{10}) 00000 n/gm)].map(([, offset]) => Number(offset));
  for (const [i, offset] of offsets.entries()) assert.ok(text.startsWith(`${i + 1} 0 obj`, offset), `${i}`);
  const begin = text.indexOf('stream\n') + 'stream\n'.length;
  const content = inflateSync(pdf.subarray(begin, text.indexOf('\nendstream'))).toString('latin1');
  assert.match(content, /^2 0 0 -2 0 100 cm/);
  assert.match(content, /1 0 0 RG 2 w/);
  // "40 °C <é ?>": what the font lacks is a question mark
  assert.match(content, /<3430 ?20b043203ce9203f3e> Tj/);
});

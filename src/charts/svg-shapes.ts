/**
 * The shapes of an SVG picture, as far as Tacho's own charts use the format: groups, clips, lines, areas, texts and classes.
 * Whoever writes pictures of another format draws these.
 */

export type Matrix = readonly [a: number, b: number, c: number, d: number, e: number, f: number];

export interface Shape {
  kind: 'path' | 'text';
  matrix: Matrix;
  /** Of a path: M, L, C and Z with absolute places. */
  path: PathPart[];
  fill?: string;
  stroke?: string;
  width: number;
  dash: number[];
  fillOpacity: number;
  strokeOpacity: number;
  /** Rectangles that what is drawn is cut to, each with the matrix that it is in. */
  clips: { path: PathPart[]; matrix: Matrix }[];
  text?: { text: string; x: number; y: number; size: number; bold: boolean; isMono: boolean; anchor: string };
}

export type PathPart = { to: 'M' | 'L' | 'C' | 'Z'; at: number[] };
type Attributes = Record<string, string>;

interface Element {
  name: string;
  attributes: Attributes;
  children: Element[];
  text: string;
}

export interface Picture {
  width: number;
  height: number;
  shapes: Shape[];
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const plain = (text: string): string =>
  text.replace(/&(#x?[\da-f]+|\w+);/gi, (all, name: string) =>
    name.startsWith('#')
      ? String.fromCodePoint(Number(name[1] === 'x' ? `0x${name.slice(2)}` : name.slice(1)))
      : (ENTITIES[name] ?? all),
  );

function parse(text: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  for (const [, close, name, attributes, isEmpty, content] of text.matchAll(
    /<(\/?)([a-zA-Z][\w:-]*)((?:\s+[\w:-]+\s*=\s*"[^"]*")*)\s*(\/?)>|([^<]+)/g,
  )) {
    const parent = open.at(-1)!;
    if (content !== undefined) parent.text += plain(content);
    else if (close === '/') open.pop();
    else {
      const pairs = [...attributes!.matchAll(/([\w:-]+)\s*=\s*"([^"]*)"/g)].map(([, key, value]) => [
        key!,
        plain(value!),
      ]);
      const element: Element = { name: name!, attributes: Object.fromEntries(pairs), children: [], text: '' };
      parent.children.push(element);
      if (isEmpty !== '/') open.push(element);
    }
  }
  return root.children.find((each) => each.name === 'svg')!;
}

/** Rules of a style sheet: `.name { … }` and `tag { … }`. */
function rulesOf(root: Element): Map<string, Attributes> {
  const rules = new Map<string, Attributes>();
  const look = (element: Element): void => {
    if (element.name === 'style')
      for (const [, names, body] of element.text.matchAll(/([^{}]+)\{([^}]*)\}/g))
        for (const name of names!.split(',')) rules.set(name.trim(), { ...rules.get(name.trim()), ...declared(body!) });
    element.children.forEach(look);
  };
  look(root);
  return rules;
}

const declared = (text: string): Attributes =>
  Object.fromEntries(
    text
      .split(';')
      .map((each) => each.split(':').map((word) => word.trim()))
      .filter(([key, value]) => key && value) as [string, string][],
  );

const times = (m: Matrix, n: Matrix): Matrix => [
  m[0] * n[0] + m[2] * n[1],
  m[1] * n[0] + m[3] * n[1],
  m[0] * n[2] + m[2] * n[3],
  m[1] * n[2] + m[3] * n[3],
  m[0] * n[4] + m[2] * n[5] + m[4],
  m[1] * n[4] + m[3] * n[5] + m[5],
];

function matrixOf(text = ''): Matrix {
  let matrix: Matrix = [1, 0, 0, 1, 0, 0];
  for (const [, name, body] of text.matchAll(/(\w+)\(([^)]*)\)/g)) {
    const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = body!.split(/[\s,]+/).map(Number);
    if (name === 'translate') matrix = times(matrix, [1, 0, 0, 1, a, b]);
    else if (name === 'scale') matrix = times(matrix, [a, 0, 0, b || a, 0, 0]);
    else if (name === 'matrix') matrix = times(matrix, [a, b, c, d, e, f]);
    else if (name === 'rotate') {
      const [cos, sin] = [Math.cos((a * Math.PI) / 180), Math.sin((a * Math.PI) / 180)];
      matrix = times(times(times(matrix, [1, 0, 0, 1, b, c]), [cos, sin, -sin, cos, 0, 0]), [1, 0, 0, 1, -b, -c]);
    }
  }
  return matrix;
}

/** What children have from their parents. */
const INHERITED = [
  'fill',
  'stroke',
  'stroke-width',
  'stroke-dasharray',
  'font-size',
  'font-weight',
  'font',
  'text-anchor',
];

export function shapesOf(svg: string): Picture {
  const root = parse(svg);
  const rules = rulesOf(root);
  const byId = new Map<string, Element>();
  const index = (element: Element): void => {
    if (element.attributes.id !== undefined) byId.set(element.attributes.id, element);
    element.children.forEach(index);
  };
  index(root);
  const shapes: Shape[] = [];
  const walk = (element: Element, matrix: Matrix, above: Attributes, clips: Shape['clips']): void => {
    const { name, attributes } = element;
    if (['defs', 'style', 'clipPath', 'title'].includes(name)) return;
    const classes = (attributes.class ?? '')
      .split(/\s+/)
      .flatMap((one) => (one === '' ? [] : [rules.get(`.${one}`) ?? {}]));
    const own = Object.assign(
      {},
      ...[above, rules.get(name) ?? {}, ...classes, attributes, declared(attributes.style ?? '')],
    ) as Attributes;
    const placed = times(matrix, matrixOf(attributes.transform));
    const clip = /url\(#([^)]+)\)/.exec(own['clip-path'] ?? '')?.[1];
    const cut =
      clip === undefined
        ? clips
        : [
            ...clips,
            ...(byId.get(clip)?.children ?? []).map((child) => ({
              path: pathOf(child.name, child.attributes),
              matrix: placed,
            })),
          ];
    if (own.display === 'none' || own.visibility === 'hidden') return;
    const shape = { ...lookOf(own), matrix: placed, clips: cut };
    if (name === 'text') {
      const text = element.text.trim() || element.children.map((child) => child.text).join('');
      const font = /(\d+(?:\.\d+)?)px/.exec(`${own['font-size'] ?? ''}px ${own.font ?? ''}`)?.[1] ?? '12';
      const size = Number(font) || 12;
      const middle = own['dominant-baseline'] === 'central' || own['dominant-baseline'] === 'middle' ? size * 0.35 : 0;
      const bold = /bold|[6-9]00/.test(`${own['font-weight'] ?? ''} ${own.font ?? ''}`);
      const isMono = /monospace/.test(`${own['font-family'] ?? ''} ${own.font ?? ''}`);
      const shift = Number((attributes.dy ?? '0').replace('em', '')) * (attributes.dy?.endsWith('em') ? size : 1);
      const [x, y] = [Number(attributes.x ?? 0), Number(attributes.y ?? 0) + middle + shift];
      shapes.push({
        ...shape,
        kind: 'text',
        path: [],
        text: { text, x, y, size, bold, isMono, anchor: own['text-anchor'] ?? 'start' },
      });
      return;
    }
    const path = pathOf(name, attributes);
    if (path.length > 0) shapes.push({ ...shape, kind: 'path', path });
    const passed = Object.fromEntries(INHERITED.flatMap((key) => (own[key] === undefined ? [] : [[key, own[key]!]])));
    for (const child of element.children) walk(child, placed, passed, cut);
  };
  walk(root, [1, 0, 0, 1, 0, 0], {}, []);
  return {
    width: Number.parseFloat(root.attributes.width ?? '0'),
    height: Number.parseFloat(root.attributes.height ?? '0'),
    shapes,
  };
}

function lookOf(
  own: Attributes,
): Pick<Shape, 'width' | 'dash' | 'fillOpacity' | 'strokeOpacity'> & Partial<Pick<Shape, 'fill' | 'stroke'>> {
  const opacity = Number(own.opacity ?? 1);
  const fill = own.fill ?? '#000';
  return {
    ...(isColour(fill) ? { fill } : {}),
    // a line of no width would be a hairline elsewhere
    ...(isColour(own.stroke) && Number.parseFloat(own['stroke-width'] ?? '1') > 0 ? { stroke: own.stroke! } : {}),
    width: Number.parseFloat(own['stroke-width'] ?? '1'),
    dash: (own['stroke-dasharray'] ?? '')
      .split(/[\s,]+/)
      .map(Number)
      .filter((each) => each > 0),
    fillOpacity: Number(own['fill-opacity'] ?? 1) * opacity * alphaOf(fill),
    strokeOpacity: Number(own['stroke-opacity'] ?? 1) * opacity * alphaOf(own.stroke),
  };
}

const isColour = (colour: string | undefined): boolean =>
  colour !== undefined && colour !== 'none' && colour !== 'transparent' && !colour.startsWith('url');
const alphaOf = (colour = ''): number => Number(/^rgba\([^)]*,\s*([\d.]+)\)$/.exec(colour)?.[1] ?? 1);

/** Red, green and blue from 0 to 1. */
export function coloursOf(colour: string): [number, number, number] {
  const rgb = /^rgba?\((\d+)\s*,\s*(\d+)\s*,\s*(\d+)/.exec(colour);
  if (rgb !== null) return [Number(rgb[1]) / 255, Number(rgb[2]) / 255, Number(rgb[3]) / 255];
  const hex = colour.length === 4 ? [...colour.slice(1)].map((each) => each + each).join('') : colour.slice(1);
  const value = Number.parseInt(hex, 16);
  return Number.isNaN(value) ? [0, 0, 0] : [(value >> 16) / 255, ((value >> 8) & 255) / 255, (value & 255) / 255];
}

function pathOf(name: string, a: Attributes): PathPart[] {
  const n = (key: string): number => Number(a[key] ?? 0);
  switch (name) {
    case 'rect': {
      const [x, y, w, h] = [n('x'), n('y'), n('width'), n('height')];
      return closed([
        [x, y],
        [x + w, y],
        [x + w, y + h],
        [x, y + h],
      ]);
    }
    case 'line':
      return [
        { to: 'M', at: [n('x1'), n('y1')] },
        { to: 'L', at: [n('x2'), n('y2')] },
      ];
    case 'circle':
      return arc(n('cx') - n('r'), n('cy'), n('r'), n('r'), 0, 1, 1, n('cx') - n('r'), n('cy') - 1e-6, true);
    case 'polyline':
    case 'polygon': {
      const values = (a.points ?? '')
        .trim()
        .split(/[\s,]+/)
        .map(Number);
      const points = Array.from(
        { length: Math.floor(values.length / 2) },
        (_, i) => [values[2 * i]!, values[2 * i + 1]!] as const,
      );
      const segments = closed(points);
      return name === 'polygon' ? segments : segments.slice(0, -1);
    }
    case 'path':
      return parsePath(a.d ?? '');
    default:
      return [];
  }
}

const closed = (points: readonly (readonly [number, number])[]): PathPart[] => [
  ...points.map(([x, y], i): PathPart => ({ to: i === 0 ? 'M' : 'L', at: [x, y] })),
  { to: 'Z', at: [] },
];

const COUNTS: Record<string, number> = { M: 2, L: 2, H: 1, V: 1, C: 6, S: 4, Q: 4, A: 7, Z: 0 };

function parsePath(d: string): PathPart[] {
  const segments: PathPart[] = [];
  let [x, y, startX, startY] = [0, 0, 0, 0];
  for (const [, letter, body] of d.matchAll(/([MLHVCSQAZ])([^MLHVCSQAZ]*)/gi)) {
    const to = letter!.toUpperCase();
    const isRelative = letter !== to;
    const numbers = [...body!.matchAll(/-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?/gi)].map(([text]) => Number(text));
    const count = COUNTS[to]!;
    for (let i = 0; i === 0 || (count > 0 && i + count <= numbers.length); i += Math.max(1, count)) {
      const v = numbers.slice(i, i + count);
      const [dx, dy] = isRelative ? [x, y] : [0, 0];
      if (to === 'Z') {
        segments.push({ to: 'Z', at: [] });
        [x, y] = [startX, startY];
      } else if (to === 'A') {
        const [endX, endY] = [v[5]! + dx, v[6]! + dy];
        segments.push(...arc(x, y, v[0]!, v[1]!, v[2]!, v[3]!, v[4]!, endX, endY));
        [x, y] = [endX, endY];
      } else {
        const at =
          to === 'H'
            ? [v[0]! + dx, y]
            : to === 'V'
              ? [x, v[0]! + dy]
              : v.map((value, k) => value + (k % 2 === 0 ? dx : dy));
        const curve =
          to === 'Q'
            ? [
                x + (2 / 3) * (at[0]! - x),
                y + (2 / 3) * (at[1]! - y),
                at[2]! + (2 / 3) * (at[0]! - at[2]!),
                at[3]! + (2 / 3) * (at[1]! - at[3]!),
                at[2]!,
                at[3]!,
              ]
            : to === 'S'
              ? [x, y, ...at]
              : at;
        const isFirst = to === 'M' && i === 0;
        segments.push({ to: isFirst ? 'M' : curve.length === 6 ? 'C' : 'L', at: curve });
        [x, y] = [curve.at(-2)!, curve.at(-1)!];
        if (isFirst) [startX, startY] = [x, y];
      }
    }
  }
  return segments;
}

/** An arc of an ellipse as curves of a quarter at most. */
function arc(
  x0: number,
  y0: number,
  rx: number,
  ry: number,
  turn: number,
  large: number,
  sweep: number,
  x: number,
  y: number,
  isWhole = false,
): PathPart[] {
  const head: PathPart[] = isWhole ? [{ to: 'M', at: [x0, y0] }] : [];
  if (rx === 0 || ry === 0) return [...head, { to: 'L', at: [x, y] }];
  const phi = (turn * Math.PI) / 180;
  const [cos, sin] = [Math.cos(phi), Math.sin(phi)];
  const [px, py] = [(cos * (x0 - x) + sin * (y0 - y)) / 2, (-sin * (x0 - x) + cos * (y0 - y)) / 2];
  const grow = Math.max(1, Math.sqrt((px / rx) ** 2 + (py / ry) ** 2));
  const [a, b] = [rx * grow, ry * grow];
  const root =
    Math.sqrt(Math.max(0, (a * b) ** 2 - (a * py) ** 2 - (b * px) ** 2) / ((a * py) ** 2 + (b * px) ** 2 || 1)) *
    (large === sweep ? -1 : 1);
  const [mx, my] = [(root * a * py) / b, (-root * b * px) / a];
  const [cx, cy] = [cos * mx - sin * my + (x0 + x) / 2, sin * mx + cos * my + (y0 + y) / 2];
  const angle = (ux: number, uy: number): number => Math.atan2(uy / b, ux / a);
  const from = angle(px - mx, py - my);
  let span = angle(-px - mx, -py - my) - from;
  if (sweep && span < 0) span += 2 * Math.PI;
  if (!sweep && span > 0) span -= 2 * Math.PI;
  const arcs = Math.max(1, Math.ceil(Math.abs(span) / (Math.PI / 2)));
  const onEllipse = (u: number, v: number): [number, number] => [
    cx + cos * a * u - sin * b * v,
    cy + sin * a * u + cos * b * v,
  ];
  const curves = Array.from({ length: arcs }, (_, i): PathPart => {
    const [t, s] = [from + (span * i) / arcs, from + (span * (i + 1)) / arcs];
    const k = (4 / 3) * Math.tan((s - t) / 4);
    return {
      to: 'C',
      at: [
        ...onEllipse(Math.cos(t) - k * Math.sin(t), Math.sin(t) + k * Math.cos(t)),
        ...onEllipse(Math.cos(s) + k * Math.sin(s), Math.sin(s) - k * Math.cos(s)),
        ...onEllipse(Math.cos(s), Math.sin(s)),
      ],
    };
  });
  return [...head, ...curves];
}

import { greatest } from '../../base/extremes.ts';
import { figure, percent } from '../../base/readable.ts';
import { isIdle } from '../../judge/facts/stragglers.ts';
import type { CurvesReport, GpuReport, PhaseReport } from '../../judge/report-schema.ts';
import { safe } from './safe.ts';

/** A share as a bar, 160 wide. */
export function meterBar(share: number): string {
  const width = Math.min(1, Math.max(0, share)) * 160;
  return `<svg class="meter" width="160" height="12" role="img" aria-label="${percent(share)}"><rect class="track" width="160" height="12" rx="3"/><rect class="fill" width="${width.toFixed(1)}" height="12" rx="3"/></svg>`;
}

const CELL = 26;
const GAP = 3;

/** Every GPU as a tile, nodes below each other: dark is busy. Those with a finding are framed. */
export function gpuMap(gpus: readonly GpuReport[]): string {
  const nodes = [...new Set(gpus.map((g) => g.node))];
  const names = [...new Set(gpus.map((g) => g.gpu))];
  const left = greatest(nodes.map((node) => node.length)) * 7 + 12;
  const width = left + names.length * (CELL + GAP);
  const height = (nodes.length + 1) * (CELL + GAP);
  const svgTexts: string[] = [];
  names.forEach((name, x) => {
    svgTexts.push(`<text x="${left + x * (CELL + GAP) + CELL / 2}" y="16" text-anchor="middle">${safe(name)}</text>`);
  });
  nodes.forEach((node, y) => {
    svgTexts.push(`<text x="${left - 8}" y="${(y + 1) * (CELL + GAP) + 17}" text-anchor="end">${safe(node)}</text>`);
  });
  for (const gpu of gpus) {
    const x = left + names.indexOf(gpu.gpu) * (CELL + GAP);
    const y = (nodes.indexOf(gpu.node) + 1) * (CELL + GAP);
    const used = gpu.utilization_mean;
    const odd = gpu.straggler !== undefined || isIdle(gpu) || gpu.lost !== undefined;
    const titleParts = [
      `${gpu.node} GPU ${gpu.gpu}: ${used === undefined ? 'not measured' : `${percent(used)} busy`}`,
      gpu.power_mean_watts === undefined ? '' : `${figure(gpu.power_mean_watts)} W`,
      gpu.temperature_max_celsius === undefined ? '' : `up to ${figure(gpu.temperature_max_celsius)} °C`,
      ...(gpu.straggler ?? []),
    ].filter((word) => word !== '');
    const fill = used === undefined ? ' class="none"' : ` style="fill-opacity:${(0.08 + 0.92 * used).toFixed(2)}"`;
    svgTexts.push(
      `<g${odd ? ' class="odd"' : ''}><title>${safe(titleParts.join(', '))}</title><rect x="${x}" y="${y}" width="${CELL}" height="${CELL}" rx="3"${fill}/><text class="${(used ?? 0) > 0.5 ? 'on' : ''}" x="${x + CELL / 2}" y="${y + 17}" text-anchor="middle">${used === undefined ? '-' : (used * 100).toFixed(0)}</text></g>`,
    );
  }
  return `<svg class="map" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="Utilisation of each GPU in per cent">${svgTexts.join('')}</svg><p class="note">Mean utilisation of each GPU in per cent; framed: something is the matter.</p>`;
}

const CURVE = { width: 640, height: 44 };

/** A curve as a picture, from 0 to its greatest value; what was not measured is a gap. */
export function curvePicture({ what, values }: CurvesReport['lines'][number], description: string): string {
  const { width, height } = CURVE;
  const most = greatest(values.map((value) => value ?? 0)) || 1;
  const each = width / values.length;
  const paths: string[] = [];
  for (let i = 0; i < values.length; i++) {
    if (values[i] === null) continue;
    const begin = i;
    while (i + 1 < values.length && values[i + 1] !== null) i++;
    const tops = values.slice(begin, i + 1).map((value, k) => {
      const y = (height - (value! / most) * (height - 2)).toFixed(1);
      return `${((begin + k) * each).toFixed(1)},${y} ${((begin + k + 1) * each).toFixed(1)},${y}`;
    });
    paths.push(
      `<polygon points="${(begin * each).toFixed(1)},${height} ${tops.join(' ')} ${((i + 1) * each).toFixed(1)},${height}"/>`,
    );
  }
  return `<svg class="curve" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="${safe(`${what} over time, ${description}`)}">${paths.join('')}</svg>`;
}

/** Phases below the curves, with their names where these fit. */
export function phasePicture(phases: readonly PhaseReport[], { from, step, lines }: CurvesReport): string {
  const to = from + step * (lines[0]?.values.length ?? 0);
  const shown = phases.filter(({ start, end = to }) => start < to && end > from);
  if (shown.length === 0) return '';
  const at = (time: number): number => ((Math.min(to, Math.max(from, time)) - from) / (to - from)) * 100;
  const phaseTexts = shown.map(({ name, start, end = to }) => {
    const [left, width] = [at(start).toFixed(2), Math.max(0.2, at(end) - at(start)).toFixed(2)];
    return `<span style="left:${left}%;width:${width}%" title="${safe(name)}">${safe(name)}</span>`;
  });
  return `<div class="phases">${phaseTexts.join('')}</div>`;
}

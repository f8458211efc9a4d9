/**
 * Of several sources of the same figure, the first one that has a curve. What was read once in all the time (PSS in half a
 * minute) is a dot: a later source of the same scope that was read more often is preferred.
 */
export function firstCurve<Source extends { scope: string }, Curve>(
  sources: readonly Source[],
  curveOf: (source: Source) => Curve | undefined,
  isDot: (curve: Curve) => boolean,
): Curve | undefined {
  let dot: { curve: Curve; scope: string } | undefined;
  for (const source of sources) {
    // what the whole node did is no better answer to what the job did
    if (dot !== undefined && source.scope !== dot.scope) break;
    const curve = curveOf(source);
    if (curve === undefined) continue;
    if (!isDot(curve)) return curve;
    dot ??= { curve, scope: source.scope };
  }
  return dot?.curve;
}

/** Whether at most one value was measured; NaN: none. */
export const hasOneValue = (values: Float64Array): boolean =>
  values.reduce((count, value) => count + (Number.isNaN(value) ? 0 : 1), 0) < 2;

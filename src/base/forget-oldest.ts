/** An eighth of them goes at once: the first of a map is found slowly when those before it were removed. */
export function forgetOldest<K>(
  map: ReadonlyMap<K, unknown> & { delete(key: K): void },
  forget = (oldest: K): void => map.delete(oldest),
): void {
  let left = Math.ceil(map.size / 8);
  for (const oldest of map.keys()) {
    if (left-- === 0) return;
    forget(oldest);
  }
}

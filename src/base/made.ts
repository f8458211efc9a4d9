/** What a map has for a key; where it has nothing, that is made first. */
export function made<K, V>(
  map: { get(key: K): V | undefined; set(key: K, value: V): unknown },
  key: K,
  make: () => V,
): V {
  const there = map.get(key);
  if (there !== undefined) return there;
  const value = make();
  map.set(key, value);
  return value;
}

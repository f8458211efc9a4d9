/** A thread's number; one whose number nobody recorded is called by its place in its process: "#2" is −2. */
export function threadNumber(name: string): number {
  if (name === '') return Number.NaN;
  return name.startsWith('#') ? -Number(name.slice(1)) : Number(name);
}

/** As it is called in its table, where it has no number. */
export const threadName = (tid: number): number | string => (tid < 0 ? `#${-tid}` : tid);

/** What the jobs of one study have in common in their names: numbers in them may be sizes (`halo-16` is one with `halo-32`). */
export const nameStem = (name: string): string => name.replaceAll(/\d+/g, '#');

type Plain = Record<string, unknown>;

const isPlain = (value: unknown): value is Plain =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * A record from a file, with what it must have: a field that is missing, or of another kind than in `needed`, gets the
 * value that it has there, so that whoever reads it may rely on it. What was of another kind is named in `wrong`.
 */
export function shaped<T extends object>(record: object, needed: object, wrong: string[], path = ''): T {
  const whole: Plain = { ...(record as Plain) };
  for (const [key, initial] of Object.entries(needed)) {
    const value = whole[key];
    const name = path + key;
    if (isPlain(initial)) {
      if (value !== undefined && !isPlain(value)) wrong.push(name);
      whole[key] = shaped(isPlain(value) ? value : {}, initial, wrong, `${name}.`);
    } else if (typeof value !== typeof initial || Array.isArray(value) !== Array.isArray(initial)) {
      // null is how JSON writes a number that is not one
      if (value !== undefined && value !== null) wrong.push(name);
      whole[key] = initial;
    }
  }
  return whole as T;
}

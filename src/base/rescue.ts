/** What happens instead of an end when an error comes that nobody has caught. */
let rescue: ((error: unknown) => void) | undefined;

/** Says so; the last one counts. */
export function rescueWith(instead: (error: unknown) => void): void {
  rescue = instead;
}

/** False: nobody has something to bring to its end. */
export function rescued(error: unknown): boolean {
  rescue?.(error);
  return rescue !== undefined;
}

const SPECIAL = /[",\n\r]/;

/** A text as a cell of a CSV file (RFC 4180). */
export function cell(text: string): string {
  return SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A line of a CSV file. */
export function line(texts: readonly string[]): string {
  return `${texts.map(cell).join(',')}\n`;
}

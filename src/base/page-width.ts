interface Page {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** Narrower than this, nothing can be read. */
const LEAST = 40;

/** Places on a line: the terminal's, or what COLUMNS says of one that does not tell; else 80. */
export function pageWidth(page: Page = process.stdout): number {
  return Math.max(LEAST, (page.isTTY ? page.columns || asked() : undefined) ?? 80);
}

/** The same for tables and messages: in a pipe they are whole, whatever a shell has exported for its own terminal. */
export function tableWidth(page: Page = process.stdout): number {
  return page.isTTY ? pageWidth(page) : Number.POSITIVE_INFINITY;
}

function asked(): number | undefined {
  const text = process.env.COLUMNS ?? '';
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined;
}

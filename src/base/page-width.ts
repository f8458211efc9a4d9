interface Page {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/** Narrower than this, nothing can be read. */
const LEAST = 40;

/** Places on a line: what COLUMNS says, else the terminal's, else 80. */
export function pageWidth(page: Page = process.stdout): number {
  return Math.max(LEAST, asked() ?? (page.isTTY ? page.columns : undefined) ?? 80);
}

/** The same for tables: whoever reads a pipe, and says nothing else, gets every column. */
export function tableWidth(page: Page = process.stdout): number {
  return page.isTTY || asked() !== undefined ? pageWidth(page) : Number.POSITIVE_INFINITY;
}

function asked(): number | undefined {
  const text = process.env.COLUMNS ?? '';
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined;
}

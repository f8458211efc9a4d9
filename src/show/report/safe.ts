import { asMarkup } from '../../base/markup.ts';
import { printable } from '../terminal/text-table.ts';

/** Names and commands come from anybody: what of them can be seen, and nothing of it as markup. */
export const safe = (text: string): string => asMarkup(printable(text));

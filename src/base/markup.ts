const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** A text inside HTML or SVG, also of an attribute: names and commands come from anybody, and nothing in them becomes markup. */
export const asMarkup = (text: string): string => text.replace(/[&<>"']/g, (sign) => ENTITIES[sign]!);

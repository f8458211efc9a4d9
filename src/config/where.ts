type Path = readonly (string | number)[];

const HEADER = /^\s*\[(\[?)\s*([^\]]+?)\s*\]/;
const ASSIGNMENT = /^\s*((?:"[^"]*"|'[^']*'|[\w-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[\w-]+))*)\s*=/;

const keysOf = (dotted: string): string[] =>
  [...dotted.matchAll(/"([^"]*)"|'([^']*)'|([\w-]+)/g)].map((word) => word[1] ?? word[2] ?? word[3]!);

/**
 * The line (from 1) at which a key of a TOML text stands: parsers do not keep it. The line of the nearest thing
 * around it when the key itself is not found (inline tables), 1 at worst.
 */
export function lineOf(toml: string, path: Path): number {
  const wanted = path.map(String);
  const counts = new Map<string, number>();
  let section: string[] = [];
  let best = { depth: 0, line: 1 };
  const lines = toml.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const header = HEADER.exec(lines[i]!);
    let here: string[];
    if (header !== null) {
      section = keysOf(header[2]!);
      if (header[1] === '[') {
        const name = section.join('.');
        const index = counts.get(name) ?? 0;
        counts.set(name, index + 1);
        section.push(String(index));
      }
      here = section;
    } else {
      const assignment = ASSIGNMENT.exec(lines[i]!);
      if (assignment === null) continue;
      here = [...section, ...keysOf(assignment[1]!)];
    }
    let depth = 0;
    while (depth < here.length && here[depth] === wanted[depth]) depth++;
    // a line that leads elsewhere is no better than the section it stands in
    if (depth < here.length && depth <= section.length && header === null) continue;
    if (depth > best.depth) best = { depth, line: i + 1 };
  }
  return best.line;
}

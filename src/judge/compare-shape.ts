/**
 * A command without what differs from run to run: numbers, folders, names made up for the moment. Two processes with the
 * same shape did the same work, each on its own files.
 */
export function shapeOf(exename: string, args: string): string {
  const words = args.split(' ').filter((word) => word !== '');
  const shaped: string[] = [];
  for (const word of words) {
    const shape = wordShape(word);
    // twelve files or thirteen: still the same command
    if (shape !== shaped.at(-1)) shaped.push(shape);
  }
  return [exename, ...shaped].join(' ');
}

/** Folders of names that are made up for the moment. */
const PASSING = /^\/(?:tmp|var\/tmp|dev\/shm)\//;

function wordShape(word: string): string {
  const [, option = '', value = word] = /^(--?[\w-]+=)(.*)$/s.exec(word) ?? [];
  if (PASSING.test(value)) return `${option}#${/\.[a-z]{1,4}$/i.exec(value)?.[0] ?? ''}`;
  const name = value.slice(value.lastIndexOf('/', value.length - 2) + 1);
  return option + name.replace(/\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b/gi, '#').replace(/\d+/g, '#');
}

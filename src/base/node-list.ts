/** Names of nodes in short, as schedulers write them: "node[01-08]", "c1,login", "c[1,3].site". */
export function nodeList(names: readonly string[]): string {
  const groups = new Map<string, { prefix: string; domain: string; numbers: string[] }>();
  for (const name of names) {
    const [, prefix, number, domain = ''] = /^(.*?)(\d+)$/.exec(name) ??
      /^([^.]*?)(\d+)(\..*)$/.exec(name) ?? ['', name, ''];
    // 9 and 10 may stand in one range, 09 and 10 too, but not 9 and 010
    const padded = /^0\d/.test(number!) ? number!.length : 0;
    const id = `${prefix} ${domain} ${number === '' ? 'none' : padded}`;
    const group = groups.get(id) ?? { prefix: prefix!, domain, numbers: [] };
    if (padded === 0 && number !== '') {
      const same = groups.get(`${prefix} ${domain} ${number!.length}`);
      if (same !== undefined) {
        same.numbers.push(number!);
        continue;
      }
    }
    group.numbers.push(number!);
    groups.set(id, group);
  }
  return [...groups.values()].map(({ prefix, domain, numbers }) => ranges(prefix, numbers) + domain).join(',');
}

function ranges(prefix: string, numbers: readonly string[]): string {
  if (numbers.length === 1) return prefix + numbers[0];
  const sorted = [...numbers].sort((a, b) => Number(a) - Number(b));
  const rangeTexts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let last = i;
    while (last + 1 < sorted.length && Number(sorted[last + 1]) === Number(sorted[last]) + 1) last++;
    rangeTexts.push(last === i ? sorted[i]! : `${sorted[i]}-${sorted[last]}`);
    i = last + 1;
  }
  return `${prefix}[${rangeTexts.join(',')}]`;
}

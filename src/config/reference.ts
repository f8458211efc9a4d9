import { kinds } from './kinds.ts';
import { flagOf, type Setting, settings, variableOf } from './settings.ts';
import { sourceKeys } from './source-keys.ts';

/** The table of settings in docs/configuration.md. */
export function configReference(): string {
  const lines = ['| key | variable | flag | value | default | |', '|---|---|---|---|---|---|'];
  for (const setting of settings as readonly Setting[]) {
    const initial = setting.default === undefined ? '' : `\`${JSON.stringify(setting.default)}\``;
    const cells = [
      `\`${setting.key}\``,
      `\`${variableOf(setting)}\``,
      setting.flagless === true ? '' : `\`${flagOf(setting).long}\``,
      kinds[setting.kind].say + (setting.kind === 'list' ? '; variable and flag: one,two' : ''),
      initial,
      setting.help,
    ];
    lines.push(`| ${cells.join(' | ')} |`);
  }
  lines.push('', '### [[source]]', '', '| key | value | |', '|---|---|---|');
  for (const { key, say, help } of sourceKeys) lines.push(`| \`${key}\` | ${say} | ${help} |`);
  return lines.join('\n');
}

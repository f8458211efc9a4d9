import * as tables from '../../sources/tables.ts';
import { byName, openHelp, type Table } from '../../table/table.ts';

/*
 * Help texts are most of a table's description. Sealed files leave out those that Tacho itself has for the same table, key or
 * column; whoever reads them gets these again.
 */

let ownTables: Map<string, Table> | undefined;

function ownTable(name: string): Table | undefined {
  ownTables ??= byName(Object.values(tables) as Table[]);
  return ownTables.get(name);
}

type Helped = { readonly name: string; readonly help?: string };

/** A description to be stored. */
export function withoutOwnHelp<T extends Table>(table: T): T {
  const own = ownTable(table.name);
  if (own === undefined) return table;
  const strip = <H extends Helped>(all: readonly H[], own: (name: string) => string | undefined): H[] =>
    all.map((each) => without(each, own(each.name)));
  return {
    ...without(table, own.help),
    keys: strip(table.keys, keyHelp(own)),
    columns: strip(table.columns, columnHelp(own)),
  };
}

/** Empty, not left out: a description that is read again has its fields in the order of the definition. */
function without<H extends Helped>(described: H, own: string | undefined): H {
  return described.help === own ? { ...described, help: '' } : described;
}

/** What was stored, with help everywhere. */
export function withHelp<T extends Table>(table: T): T {
  const own = ownTable(table.name);
  const fill = <H extends Helped>(all: readonly H[], own: (name: string) => string | undefined): H[] =>
    all.map((each) => helped(each, own(each.name)));
  return {
    ...helped(table, own?.help),
    keys: fill(table.keys, keyHelp(own)),
    columns: fill(table.columns, columnHelp(own)),
  };
}

const helped = <H extends Helped>(described: H, own = ''): H =>
  described.help ? described : { ...described, help: own };

const keyHelp = (own: Table | undefined) => {
  const keysByName = byName(own?.keys ?? []);
  return (name: string): string | undefined => keysByName.get(name)?.help;
};

/** Fields that only some kernels have are described by their names. */
const columnHelp = (own: Table | undefined) => {
  const columnsByName = byName(own?.columns ?? []);
  return (name: string): string | undefined =>
    columnsByName.get(name)?.help ?? (own?.open?.file && openHelp(own.open.file, name));
};

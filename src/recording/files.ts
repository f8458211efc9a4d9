/** The files of one table of one node, as names inside the node's folder. */
export interface TableFiles {
  /** Live parts, oldest first: `<table>.0001.csv.zst`, …, `<table>.csv`. */
  parts: string[];
  /** `<table>.parquet`, once sealed. */
  sealed?: string;
  /** `<table>.stats.json`, left by seal. */
  statistics?: string;
}

const PART = /^(.+?)(?:\.(\d{4,}))?\.csv(\.zst)?$/;

/** Sorts the names in a node's folder by table; names that belong to no table are left out. */
export function tableFiles(names: readonly string[]): Map<string, TableFiles> {
  const tables = new Map<string, TableFiles>();
  const of = (table: string): TableFiles => {
    let files = tables.get(table);
    if (files === undefined) {
      files = { parts: [] };
      tables.set(table, files);
    }
    return files;
  };
  const order = new Map<string, number>();
  for (const name of names) {
    if (name.endsWith('.parquet')) of(name.slice(0, -8)).sealed = name;
    else if (name.endsWith('.stats.json')) of(name.slice(0, -11)).statistics = name;
    else {
      const part = PART.exec(name);
      if (part === null) continue;
      of(part[1]!).parts.push(name);
      order.set(name, part[2] === undefined ? Number.POSITIVE_INFINITY : Number(part[2]));
    }
  }
  for (const [table, files] of tables) {
    // the compressed form of the same part comes first: it is whole when it is there
    files.parts.sort((a, b) => order.get(a)! - order.get(b)! || (a < b ? 1 : -1));
    if (files.parts.length === 0 && files.sealed === undefined) tables.delete(table);
  }
  return new Map([...tables].sort(([a], [b]) => (a < b ? -1 : 1)));
}

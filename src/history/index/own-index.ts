import { withAccounting } from './accounting-rows.ts';
import { type Accounted, AccountingStore } from './accounting-store.ts';
import type { Entry } from './entry.ts';
import { fileAccounting } from './file-accounting.ts';
import { changeIndex } from './index-writer.ts';
import { summariseOne } from './summarise-one.ts';

/** Entries of an archive for their owner alone, below the owner's folder. */
export const fileOwnEntries = (folder: string, entries: readonly Entry[]): Promise<void> =>
  quietly(() =>
    file(
      folder,
      entries.map((entry) => below(folder, entry)),
    ),
  );

/** What accounting knows of the owner's jobs: the rows of those that are recorded are made again with it. */
export const fileOwnAccounting = (folder: string, runs: readonly Accounted[]): Promise<void> =>
  quietly(async () => {
    const { recordings } = await fileAccounting(folder, runs);
    const listed = await changeIndex(folder, async ({ catalogue }) => recordings.map((id) => catalogue.get(id)));
    await file(
      folder,
      listed.flatMap((one) => (one === undefined ? [] : summariseOne(folder, one))),
    );
  });

const file = (folder: string, entries: readonly Entry[]): Promise<void> =>
  changeIndex(folder, (index) => {
    const store = new AccountingStore(folder);
    if (!store.exists) return index.change(entries);
    const made = withAccounting(store, index, entries);
    return index.change(made.entries, made.replaced);
  });

/** What a user does to an index of their own is nobody else's trouble. */
async function quietly(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
  }
}

/** In the owner's index paths begin in the owner's folder. */
function below(folder: string, { id, summaries, ...rest }: Entry): Entry {
  const own = id.slice(folder.length + 1);
  if (summaries === undefined) return { id: own, ...rest };
  const moved = Object.entries(summaries).map(([table, rows]: [string, object[]]) => [
    table,
    rows.map((row) => ({ ...row, recording: own })),
  ]);
  return { id: own, ...rest, summaries: Object.fromEntries(moved) };
}

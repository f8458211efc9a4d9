import { fileRuns, recordedIn } from './accounting-rows.ts';
import { type Accounted, AccountingStore } from './accounting-store.ts';
import { accountingId } from './entry.ts';
import { changeIndex } from './index-writer.ts';
import { startedArrays } from './started-arrays.ts';

/** What became of runs that were filed. */
interface FiledAccounting {
  /** Runs that are new, or of which accounting says something else than before. */
  changed: number;
  recorded: number;
  /** Recordings of such runs: their rows have to be made again. */
  recordings: string[];
}

/** Puts what accounting knows of runs beside the index of an archive, and rows of those that are not recorded into it. */
export function fileAccounting(archive: string, runs: readonly Accounted[]): Promise<FiledAccounting> {
  return changeIndex(archive, async (index) => {
    const store = new AccountingStore(archive);
    const over = startedArrays(runs);
    const news = store.add(runs, over);
    const recordedRowsOf = recordedIn(index, runs);
    const unrecorded: Accounted[] = [];
    const isNew = new Set(news);
    const recordings = new Set<string>();
    let recorded = 0;
    for (const run of runs) {
      const same = recordedRowsOf(run.summaries.jobs[0]!);
      recorded += same.length > 0 ? 1 : 0;
      if (!isNew.has(run)) continue;
      if (same.length === 0) unrecorded.push(run);
      for (const { recording } of same) recordings.add(recording!);
    }
    const gone = over.map(accountingId).filter((id) => index.catalogue.get(id) !== undefined);
    await index.change([], gone);
    await fileRuns(index, unrecorded);
    return { changed: news.length, recorded, recordings: [...recordings] };
  });
}

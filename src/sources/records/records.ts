import type { Frame } from '../../table/frame.ts';
import type { Table } from '../../table/table.ts';
import { type Source, type SourceKind, Unavailable } from '../source.ts';
import { processEndTable, processStartTable, recordTables, threadEndTable } from './tables.ts';
import { type RecordTail, tailOf } from './tail.ts';

/** The three tables come from one file: whichever is asked first at a tick reads it for all. */
function kind(table: Table, event: 'start' | 'end' | 'thread'): SourceKind {
  return {
    table,
    open(host, scope): Source {
      if (scope.records === undefined) throw new Unavailable('absent', 'processes do not record themselves');
      const tail: RecordTail = tailOf(host, scope.records, scope.redact, recordTables(scope.records.events));
      return {
        table: tail.frames[event].table,
        read(frame: Frame) {
          tail.advance(event);
          tail.frames[event].giveTo(frame);
        },
        behind: () => tail.behind(),
        skip: () => tail.skip(),
        ...(event === 'end' ? { lost: () => tail.lost() } : {}),
        last: () => tail.last(),
        close: () => tail.close(),
      };
    },
  };
}

export const processStart = kind(processStartTable, 'start');
export const processEnd = kind(processEndTable, 'end');
export const threadEnd = kind(threadEndTable, 'thread');

export const RECORD_KINDS: readonly SourceKind[] = [processStart, processEnd, threadEnd];

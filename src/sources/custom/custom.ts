import type { Frame } from '../../table/frame.ts';
import type { Table } from '../../table/table.ts';

/** A user's own source, as the configuration gives it: a module or a command. */
export interface CustomSource {
  readonly name: string;
  /** Path of a module that exports a table and how to read it. */
  readonly module?: string;
  /** A command for the shell whose output is read. */
  readonly command?: string;
  readonly format: 'prometheus' | 'json';
  /** Seconds between reads; undefined: every tick. */
  readonly interval?: number;
  /** Seconds after which a read is given up. */
  readonly timeout: number;
}

/** A GPU as a user's module gets it. */
export interface CustomDevice {
  readonly gpu: string;
  readonly vendor: string;
  readonly model: string;
  readonly uuid: string;
  /** nvmlDevice_t or amdsmi_processor_handle; undefined when no library is open. */
  readonly handle: bigint | undefined;
}

/** A user's own source, opened. Its table may be known only after the first read. */
export interface CustomReader {
  readonly table: Table | undefined;
  /** Resolves to the rows; rejects with words for the user. */
  read(time: number): Promise<Frame>;
  close(): void;
}

/** An error of the user's source, in words for the user. */
export class CustomFailure extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CustomFailure';
  }
}

/** What a user's source finds around it. */
export interface CustomSurroundings {
  devices(): readonly CustomDevice[];
  /** Its table, if that has been begun already. */
  readonly begun: Table | undefined;
  /** Says something that does not keep the source from being read. */
  note(why: string): void;
}

export async function openCustom(source: CustomSource, around: CustomSurroundings): Promise<CustomReader> {
  if (source.module !== undefined) {
    const { openModule } = await import('./module.ts');
    return openModule(source, around);
  }
  const { openCommand } = await import('./command.ts');
  return openCommand(source, around);
}

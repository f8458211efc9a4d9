/** What one node writes of one recording: the unit that sinks follow. */
export interface Stream {
  /** The recording's folder, absolute. */
  readonly recording: string;
  /** The node's folder in it. */
  readonly folder: string;
  readonly node: string;
  /** The number of the user whose files these are; of others nothing is read. Missing: it does not matter. */
  readonly owner?: number;
}

/** Two streams are the same when they are written to the same folder. */
export const streamKey = (stream: Stream): string => stream.folder;

/** Nobody can have changed what is in it but those who run Tacho: in an archive users own what is of their jobs. */
export const isOurs = ({ owner }: Stream): boolean => owner === undefined || owner === process.getuid?.();

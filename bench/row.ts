/** A line of the table that `npm run bench` prints. */
export interface Row {
  what: string;
  must: string;
  /** NaN: it could not be measured here, and `unit` says why. */
  measured: number;
  unit: string;
  /** Whom it is compared with, and what that one reaches. */
  peer: string;
  /** Ours divided by the peer's; NaN without one. */
  ratio: number;
}

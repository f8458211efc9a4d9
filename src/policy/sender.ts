import type { Delivery, Message } from './ledger.ts';

/** How an attempt to send ended. */
export interface Outcome {
  state: Exclude<Delivery, 'sending'>;
  error?: string;
  /** Nobody is there: what else there is need not be tried now. */
  down?: boolean;
}

export type Sender = (message: Message) => Promise<Outcome>;

import { formatMoment } from '../base/moment.ts';
import { count, listed } from '../base/readable.ts';
import type { Delivered } from './deliver.ts';
import type { Sending } from './ledger.ts';
import type { Channel, Policy } from './policy.ts';

const WORDS: Record<Sending['state'], string> = {
  sent: 'sent',
  waiting: 'waits',
  sending: 'being sent',
  unsure: 'may have arrived',
  refused: 'refused',
};

/** What became of a case, or would: after its cost. Nothing for a policy that only lists. */
export function deliveryText(policy: Policy, done: Delivered, isSent: boolean): string | undefined {
  const ways = listed(policy.actions.filter((action) => action === 'mail' || action === 'webhook'));
  switch (done.plan) {
    case 'list':
      return undefined;
    case 'tell':
      return isSent ? sendingWords(done) : `${ways} would be sent`;
    case 'cancel':
      return isSent ? cancelWords(done) : 'would be cancelled';
    case 'later':
      return `heard of it in this period, again from ${formatMoment(done.next!)} on`;
    case 'waiting':
      return 'a message waits to be sent';
    case 'notified':
      return 'has heard of these jobs';
  }
}

const sendingWords = ({ message }: Delivered): string =>
  listed(
    (Object.entries(message?.sendings ?? {}) as [Channel, Sending][]).map(([by, { state }]) => `${by} ${WORDS[state]}`),
  );

function cancelWords(done: Delivered): string {
  const { cancelled = [], not_cancelled: failed = [] } = done;
  const why = failed.map((one) => `job ${one.job} could not be cancelled: ${one.why}`);
  const ended = cancelled.length === 0 ? [] : [`${count(cancelled.length, 'job')} cancelled, ${sendingWords(done)}`];
  return [...ended, ...why].join('; ');
}

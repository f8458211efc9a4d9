import { Fault } from '../base/fault.ts';
import type { Config } from '../config/config.ts';
import { cancelJob } from './cancel.ts';
import type { Case, Judged } from './evaluate.ts';
import type { KeptMessage, Ledger, Message, Sending } from './ledger.ts';
import { messageId, messageOf } from './message.ts';
import { type Plan, planOf } from './plan.ts';
import type { Channel, Policy } from './policy.ts';
import { withJobs } from './replay.ts';
import type { Sender } from './sender.ts';

/** What became of a case, or would. */
export interface Delivered {
  policy: string;
  user: string;
  plan: Plan['kind'];
  /** From when on the user may hear of the policy again. */
  next?: number;
  /** The message, when one was made. */
  message?: Message;
  cancelled?: string[];
  /** Jobs that could not be cancelled, and why. */
  not_cancelled?: { job: string; why: string }[];
}

type Senders = { [C in Channel]?: Sender };

const CHANNELS: readonly Channel[] = ['mail', 'webhook'];

/** Opens the ways that policies send on; what is not configured for one of them is thrown. */
export async function openSenders(config: Config, channels: ReadonlySet<Channel>): Promise<Senders> {
  const senders: Senders = {};
  if (channels.has('mail')) senders.mail = await (await import('./send-mail.ts')).openMailer(config);
  if (channels.has('webhook')) senders.webhook = (await import('./send-webhook.ts')).openWebhook(config);
  return senders;
}

export const channelsOf = (policies: readonly Policy[]): Set<Channel> =>
  new Set(CHANNELS.filter((channel) => policies.some(({ actions }) => actions.includes(channel))));

/** The same for what waits: what is no longer configured is said, and goes on waiting. */
export async function sendersFor(
  config: Config,
  policies: readonly Policy[],
  ledger: Ledger,
  say: (text: string) => void,
): Promise<Senders> {
  const senders = await openSenders(config, channelsOf(policies));
  for (const channel of CHANNELS) {
    const waits = ledger.messages().filter(({ message }) => message.sendings[channel]?.state === 'waiting').length;
    if (waits === 0 || senders[channel] !== undefined) continue;
    try {
      Object.assign(senders, await openSenders(config, new Set([channel])));
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      say(`messages that wait cannot be sent: ${error.message}`);
    }
  }
  return senders;
}

export interface Delivery {
  now: () => number;
  senders: Senders;
  /** Told of each attempt. */
  tried?: (message: Message, channel: Channel, sending: Sending) => void;
}

/** Sends what has waited, then what is new. The ledger is held. */
export async function deliver(
  judgedPolicies: readonly { policy: Policy; judged: Judged }[],
  ledger: Ledger,
  delivery: Delivery,
): Promise<Delivered[]> {
  const down = new Set<Channel>();
  for (const kept of ledger.messages()) await send(kept, ledger, delivery, down);
  const done: Delivered[] = [];
  for (const { policy, judged } of judgedPolicies)
    for (const one of judged.cases) done.push(await carryOut(policy, one, ledger, delivery, down));
  return done;
}

/** What `deliver` would do, without what waits. */
export const planned = (
  judgedPolicies: readonly { policy: Policy; judged: Judged }[],
  ledger: Ledger,
  now: number,
): Delivered[] =>
  judgedPolicies.flatMap(({ policy, judged }) =>
    judged.cases.map((one) => deliveredOf(policy, one, planOf(policy, one, ledger, now))),
  );

const deliveredOf = (policy: Policy, { user }: Case, plan: Plan): Delivered => ({
  policy: policy.name,
  user,
  plan: plan.kind,
  ...(plan.kind === 'later' ? { next: plan.from } : {}),
});

async function carryOut(
  policy: Policy,
  one: Case,
  ledger: Ledger,
  delivery: Delivery,
  down: Set<Channel>,
): Promise<Delivered> {
  const now = delivery.now();
  const plan = planOf(policy, one, ledger, now);
  const done = deliveredOf(policy, one, plan);
  if (plan.kind === 'cancel') {
    const results = plan.about.jobs.map((job) => ({ job, why: cancelJob(policy.cancel!.command, job.summary) }));
    const cancelled = results.filter(({ why }) => why === undefined).map(({ job }) => job);
    done.cancelled = cancelled.map(({ summary }) => summary.job);
    const failed = results.flatMap(({ job, why }) => (why === undefined ? [] : { job: job.summary.job, why }));
    if (failed.length > 0) done.not_cancelled = failed;
    if (cancelled.length === 0) return done;
    const facts = { now, cancelled: true };
    done.message = await keepAndSend(messageOf(policy, withJobs(policy, plan.about, cancelled), facts));
  } else if (plan.kind === 'tell') {
    const facts = { now, ...(plan.warnings === undefined ? {} : { warnings: plan.warnings }) };
    done.message = await keepAndSend(messageOf(policy, plan.about, facts));
  }
  return done;

  async function keepAndSend(message: Omit<Message, 'id'>): Promise<Message> {
    const kept = ledger.add(message, (number) => messageId(message.policy, message.user, message.made, number));
    await send(kept, ledger, delivery, down);
    return kept.message;
  }
}

/** Tries what of a message waits. That it is tried is noted before, how it ended after. */
async function send(
  kept: KeptMessage,
  ledger: Ledger,
  { now, senders, tried }: Delivery,
  down: Set<Channel>,
): Promise<void> {
  for (const channel of CHANNELS) {
    const sending = kept.message.sendings[channel];
    const sender = senders[channel];
    if (sending?.state !== 'waiting' || sender === undefined || down.has(channel)) continue;
    Object.assign(sending, { state: 'sending', attempts: sending.attempts + 1, last: now() } satisfies Sending);
    ledger.save(kept);
    const { down: isDown = false, ...outcome } = await sender(kept.message);
    delete sending.error;
    Object.assign(sending, outcome);
    ledger.save(kept);
    if (isDown) down.add(channel);
    tried?.(kept.message, channel, sending);
  }
}

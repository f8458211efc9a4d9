import type { TestContext } from 'node:test';
import { type Hub, type HubOptions, startHub } from '../../src/hub/hub.ts';
import type { Job } from '../../src/recording/folder/job.ts';
import type { OpenReply } from '../../src/sinks/hub/protocol.ts';
import type { Gatekeeper, Identity } from '../../src/trust/identity.ts';
import { loadTable } from '../make-recording.ts';
import { type Answer, agentOf, Client, jobOf } from './hub-process.ts';

/** Two users whom every machine knows. */
export const DAEMON = { user: 'daemon', uid: 1 };
export const NOBODY = { user: 'nobody', uid: 65534 };

/** As MUNGE would vouch for them: `node c1` is the agent of c1, `user nobody 65534` is a person. */
const vouched: Gatekeeper = {
  method: 'munge',
  identify(authorization): Promise<Identity> {
    const [kind, name = '', uid] = (authorization ?? '').split(' ');
    return Promise.resolve(kind === 'node' ? { kind, nodes: [name] } : { kind: 'user', user: name, uid: Number(uid) });
  },
};

/** A hub to which agents and users send. */
export async function hubFor(t: TestContext, options: Omit<HubOptions, 'listen' | 'gatekeeper'>): Promise<Hub> {
  const hub = await startHub({ ...options, listen: '127.0.0.1:0', gatekeeper: vouched });
  t.after(() => hub.close());
  return hub;
}

/** Somebody who has proved to be who they are. */
export async function senderTo(t: TestContext, hub: Hub, who: string): Promise<Client> {
  const client = new Client(hub.address);
  t.after(() => client.close());
  await client.begin(who);
  return client;
}

const HEADER = 'time,load1\n';

/** Begins a recording of job 436 on c1 whose load is `load`, twice, and ends it. */
export async function record(
  client: Client,
  whose: { user: string; uid: number },
  load: number,
  start: number,
  facts: Partial<Job> = {},
): Promise<Answer<OpenReply>> {
  const job = jobOf('436', ['c1'], { ...whose, start, ...facts });
  const agent = agentOf('c1', { start, tables: [loadTable], end: start + 3e6 });
  const opened = await client.open({ node: 'c1', job, agent });
  if (opened.status !== 200) return opened;
  const { stream } = opened.body;
  const text = `${HEADER}${start + 1e6},${load}\n${start + 2e6},${load}\n`;
  await client.append([stream, 'load', 1, 0, text]);
  await client.record({
    stream,
    agent,
    job: { ...job, end: start + 3e6, state: 'completed' },
    end: { load: { part: 1, bytes: text.length } },
  });
  return opened;
}

import { useState } from 'preact/hooks';
import type { JobShare, MadeShare } from '../../../src/serve/api.ts';
import { ask, latest, useAnswer } from '../ask.ts';
import { BASE } from '../base.ts';
import { moment } from '../value-text.ts';
import { CopyLink } from './copy-link.tsx';

const USUAL_DAYS = 14;

/** Links to this job alone: made, listed and revoked by whoever owns it. */
export function Share({ job }: { job: string }) {
  const [again, setAgain] = useState(0);
  const [days, setDays] = useState(String(USUAL_DAYS));
  const [made, setMade] = useState<MadeShare>();
  const [trouble, setTrouble] = useState('');
  const shares = latest(useAnswer<JobShare[]>(`/api/jobs/${job}/shares`, again));
  // whoever does not own the job cannot share it
  if (shares === undefined) return null;
  const doing = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      setTrouble('');
    } catch (error) {
      setTrouble((error as Error).message);
    }
    setAgain((n) => n + 1);
  };
  const make = () =>
    doing(async () => setMade(await ask<MadeShare>(`/api/jobs/${job}/shares`, undefined, { days: Number(days) })));
  const revoke = (id: string) =>
    doing(async () => {
      const response = await fetch(`${BASE}/api/shares/${encodeURIComponent(id)}`, { method: 'DELETE' });
      if (!response.ok) throw new Error('the link could not be revoked: try again');
      if (made?.id === id) setMade(undefined);
    });
  return (
    <section class="card notes share" aria-label="Share this job">
      <h2>Share this job</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void make();
        }}
      >
        <label>
          A link that shows this job, and nothing else, for{' '}
          <input
            type="number"
            min="1"
            max="366"
            required
            value={days}
            onInput={({ currentTarget }) => setDays(currentTarget.value)}
          />{' '}
          days
        </label>
        <button type="submit">Make a link</button>
      </form>
      {made !== undefined && (
        <p class="made" role="status">
          Copy the link now: it is shown only once.
          <input
            aria-label="The link"
            readOnly
            value={made.url}
            onFocus={({ currentTarget }) => currentTarget.select()}
          />
          <CopyLink text={made.url} said="Link copied" />
        </p>
      )}
      {shares.length > 0 && (
        <ul>
          {shares.map(({ id, by, created, expires, state }) => (
            <li key={id}>
              made {moment(created)}
              {by === '' ? '' : ` by ${by}`},{' '}
              {state === 'revoked' ? 'revoked' : `${state === 'expired' ? 'expired' : 'expires'} ${moment(expires)}`}{' '}
              {state === 'good' && (
                <button type="button" onClick={() => void revoke(id)}>
                  Revoke
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {trouble !== '' && (
        <p class="trouble" role="alert">
          {trouble}
        </p>
      )}
    </section>
  );
}

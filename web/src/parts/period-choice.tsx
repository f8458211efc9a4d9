import { setQuery } from '../address.ts';
import { PERIODS, type Period, periodName } from '../periods.ts';

/** `period`: the one that is shown. */
export function PeriodChoice({ period }: { period: Period }) {
  return (
    <label>
      Period{' '}
      <select value={period.id} onChange={({ currentTarget }) => setQuery({ period: currentTarget.value })}>
        {PERIODS.map(([value, name]) => (
          <option key={value} value={value}>
            {periodName(name, period.to, Date.now() * 1000)}
          </option>
        ))}
      </select>
    </label>
  );
}

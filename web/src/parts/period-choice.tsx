import { setQuery } from '../address.ts';
import { PERIODS } from '../periods.ts';

export function PeriodChoice({ query }: { query: URLSearchParams }) {
  return (
    <label>
      Period{' '}
      <select
        value={query.get('period') ?? '7'}
        onChange={({ currentTarget }) => setQuery({ period: currentTarget.value })}
      >
        {PERIODS.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

import { setQuery } from '../address.ts';

/** Text that rows are searched for; it stays in the address. */
export function SearchField({ query, label, hint }: { query: URLSearchParams; label: string; hint: string }) {
  return (
    <input
      type="search"
      placeholder={hint}
      aria-label={label}
      value={query.get('q') ?? ''}
      onInput={({ currentTarget }) => setQuery({ q: currentTarget.value })}
    />
  );
}

interface ChoiceProps {
  /** As the address calls it. */
  name: string;
  label: string;
  value: string;
  all: readonly (readonly [value: string, text: string, ...rest: unknown[]])[];
}

/** One of several; it stays in the address. */
export function Choice({ name, label, value, all }: ChoiceProps) {
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={({ currentTarget }) => setQuery({ [name]: currentTarget.value })}>
        {all.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

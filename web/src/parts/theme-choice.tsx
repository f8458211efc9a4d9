import { useState } from 'preact/hooks';
import { type Wanted, want, wanted } from '../theme.ts';

export function ThemeChoice() {
  const [now, set] = useState(wanted());
  return (
    <label class="theme">
      <span>Theme</span>
      <select
        value={now}
        onChange={({ currentTarget: { value } }) => {
          want(value as Wanted);
          set(value as Wanted);
        }}
      >
        <option value="system">system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </label>
  );
}

import { useEffect, useState } from 'preact/hooks';
import { type ChartTheme, DARK, LIGHT } from '../../src/charts/option.ts';

export type Wanted = 'light' | 'dark' | 'system';
const KEY = 'tacho-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

let isPrinting = false;

export const wanted = (): Wanted => (localStorage.getItem(KEY) as Wanted | null) ?? 'system';
const isDark = (): boolean => !isPrinting && (wanted() === 'system' ? system.matches : wanted() === 'dark');

function apply(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

export function want(theme: Wanted): void {
  localStorage.setItem(KEY, theme);
  apply();
}

system.addEventListener('change', apply);
// paper is white
const print = (now: boolean) => (): void => {
  isPrinting = now;
  apply();
};
addEventListener('beforeprint', print(true));
addEventListener('afterprint', print(false));
apply();

export function useTheme(): ChartTheme {
  const [theme, set] = useState(isDark() ? DARK : LIGHT);
  useEffect(() => {
    const listener = (): void => set(isDark() ? DARK : LIGHT);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return theme;
}

import { useEffect, useState } from 'preact/hooks';
import { BASE } from './base.ts';
import { isJobFile } from './filed-job.ts';

/** Where the page is: all that is seen follows from it, so that a link shows the same. */
export interface Address {
  path: string;
  query: URLSearchParams;
}

/** Browsers let a file change nothing of its address but what stands after #. */
export const here = (): Address =>
  isJobFile
    ? { path: '', query: new URLSearchParams(location.hash.startsWith('#?') ? location.hash.slice(2) : '') }
    : { path: location.pathname.slice(BASE.length), query: new URLSearchParams(location.search) };
const listeners = new Set<() => void>();
const notify = (): void => {
  for (const listener of listeners) listener();
};
addEventListener('popstate', notify);

export function useAddress(): Address {
  const [address, set] = useState(here);
  useEffect(() => {
    const listener = (): void => set(here());
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, []);
  return address;
}

export function go(to: string): void {
  history.pushState(null, '', BASE + to);
  notify();
  scrollTo(0, 0);
}

/** Changes some words of the query; undefined takes one away. What is typed or dragged replaces the entry of the history. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>, isNew = false): void {
  const { path, query } = here();
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  const text = query.toString();
  const address = isJobFile ? `#?${text}` : BASE + (text === '' ? path : `${path}?${text}`);
  history[isNew ? 'pushState' : 'replaceState'](null, '', address);
  notify();
}

/** A link inside the page. */
export const link = (to: string) => ({
  href: BASE + to,
  onClick(event: MouseEvent) {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(to);
  },
});

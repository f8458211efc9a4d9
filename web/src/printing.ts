import { useEffect, useState } from 'preact/hooks';

/** Whether the page is being printed: what only shows what is in sight then shows more. */
export function usePrinting(): boolean {
  const [isPrinting, set] = useState(false);
  useEffect(() => {
    const [begin, end] = [() => set(true), () => set(false)];
    addEventListener('beforeprint', begin);
    addEventListener('afterprint', end);
    return () => {
      removeEventListener('beforeprint', begin);
      removeEventListener('afterprint', end);
    };
  }, []);
  return isPrinting;
}

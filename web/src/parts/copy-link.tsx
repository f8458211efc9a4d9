import { useEffect, useState } from 'preact/hooks';

/** Copies the address of exactly what is seen; where the browser does not allow that, it is there to be copied by hand. */
export function CopyLink() {
  const [state, set] = useState<'' | 'copied' | 'refused'>('');
  useEffect(() => {
    if (state === '') return undefined;
    const timer = setTimeout(() => set(''), 4000);
    return () => clearTimeout(timer);
  }, [state]);
  return (
    <span class="copy">
      <button
        type="button"
        onClick={() =>
          void navigator.clipboard.writeText(location.href).then(
            () => set('copied'),
            () => set('refused'),
          )
        }
      >
        Copy link
      </button>{' '}
      <span role="status">
        {state === 'copied' ? 'Link to this view copied' : state === 'refused' ? location.href : ''}
      </span>
    </span>
  );
}

import { useEffect, useState } from 'preact/hooks';

interface Props {
  /** What is copied (default: the address of exactly what is seen), and what is said then. */
  text?: string;
  said?: string;
}

/** Copies a link; where the browser does not allow that, it is there to be copied by hand. */
export function CopyLink({ text, said = 'Link to this view copied' }: Props) {
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
          void navigator.clipboard.writeText(text ?? location.href).then(
            () => set('copied'),
            () => set('refused'),
          )
        }
      >
        Copy link
      </button>{' '}
      <span role="status">{state === 'copied' ? said : state === 'refused' ? (text ?? location.href) : ''}</span>
    </span>
  );
}

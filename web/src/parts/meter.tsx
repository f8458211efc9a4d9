import { percent } from '../value-text.ts';

/** How much of what was asked for was used. */
export function Meter({ name, share, text }: { name: string; share?: number | undefined; text: string }) {
  return (
    <div class="meter">
      <span class="name">{name}</span>
      {share === undefined ? (
        <span class="bar none" />
      ) : (
        <span
          class="bar"
          role="meter"
          aria-label={name}
          aria-valuenow={Math.round(share * 100)}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <span style={{ width: `${Math.min(100, share * 100)}%` }} />
        </span>
      )}
      <b>{share === undefined ? '' : percent(share)}</b>
      <span class="text">{text}</span>
    </div>
  );
}

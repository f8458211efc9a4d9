import type { ComponentChildren } from 'preact';

interface Props {
  label: string;
  /** It may be long: it scrolls by itself. */
  tall?: boolean;
  kind?: string;
  children: ComponentChildren;
}

/** A table that may be wider than the window; keys scroll it, too. */
export function ScrollTable({ label, tall = false, kind = 'figures', children }: Props) {
  return (
    <div class={tall ? 'scroll tall' : 'scroll'} tabIndex={0} role="region" aria-label={label}>
      <table class={kind}>{children}</table>
    </div>
  );
}

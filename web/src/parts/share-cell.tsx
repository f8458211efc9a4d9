import { percent } from '../value-text.ts';

/** A share (0 to 1) in a table, with its colour; empty where it is not known. */
export const ShareCell = ({ value }: { value: number | undefined }) => (
  <td
    class="number"
    data-heat={value === undefined ? undefined : ''}
    style={value === undefined ? undefined : { '--heat': String(Math.min(1, value)) }}
  >
    {value === undefined ? '' : percent(value)}
  </td>
);

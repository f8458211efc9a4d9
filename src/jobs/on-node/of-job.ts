/** Whether an id is the wanted one, or a task of the array (Slurm's 4_1, PBS's 4[1]) or a step (4.0) that it names. */
export const isOfJob = (id: string, wanted: string): boolean =>
  id === wanted ||
  (/^\d+$/.test(wanted) && (id.startsWith(`${wanted}_`) || id.startsWith(`${wanted}[`))) ||
  (/^[\d_.]+$/.test(wanted) && id.startsWith(`${wanted}.`));

/** A step (4.0) or a task of one (4.0.3) of a Slurm job that was recorded alone. */
export const isStepId = (id: string): boolean => /^\d+(_\d+)?(\.\d+){1,2}$/.test(id);

/** An id that a scheduler's variable says, where the scheduler itself could not be asked: a number, or Flux's word. */
export const isSchedulersId = (id: string): boolean => /^(\d+([[_]\d*\]?)?|\u0192\w+|f(?=\w*[\dA-Z])\w+)$/.test(id);

/** Ids for people: each once, in order, the first few of many. */
export function idsText(ids: readonly string[], most = 12): string {
  const order = new Intl.Collator('en', { numeric: true });
  const all = [...new Set(ids)].sort(order.compare);
  const rest = all.length - most;
  return rest > 0 ? `${all.slice(0, most).join(', ')} and ${rest} more` : all.join(', ');
}

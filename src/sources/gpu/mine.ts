/**
 * Which of the node's GPUs are the job's, as far as its environment says: 'yes', 'no', or '' when nothing says so.
 * A scheduler that lets the job see only its own GPUs still numbers them by the node, so numbers are believed only when
 * they fit what is seen.
 */
export function mine(
  cards: readonly { gpu: string; uuid: string; vendor: string }[],
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const whole = cards.filter((card) => !card.gpu.includes(':'));
  const listed = parse(environment.SLURM_JOB_GPUS ?? environment.SLURM_STEP_GPUS);
  if (listed !== undefined && listed.length === whole.length) return cards.map(() => 'yes');
  return cards.map((card) => {
    const visible =
      card.vendor === 'AMD'
        ? parse(environment.ROCR_VISIBLE_DEVICES ?? environment.HIP_VISIBLE_DEVICES)
        : parse(environment.CUDA_VISIBLE_DEVICES);
    const named = visible?.filter((word) => !/^\d+$/.test(word)) ?? [];
    if (named.length > 0) return yes(named.some((word) => card.uuid !== '' && card.uuid.startsWith(word)));
    const numbers = listed ?? visible;
    if (numbers === undefined) return '';
    const index = /\d+/.exec(card.gpu)?.[0] ?? '';
    if (numbers.some((word) => Number(word) >= whole.length)) return '';
    return yes(numbers.includes(index));
  });
}

const yes = (isMine: boolean): string => (isMine ? 'yes' : 'no');

/** '0,2' or '0-3,5' or uuids; undefined when the variable is not set or is empty. */
function parse(list: string | undefined): string[] | undefined {
  if (list === undefined || list.trim() === '') return undefined;
  return list.split(',').flatMap((entry) => {
    const word = entry.trim();
    const range = /^(\d+)-(\d+)$/.exec(word);
    if (range === null) return [word];
    const [from, to] = [Number(range[1]), Number(range[2])];
    return Array.from({ length: Math.max(0, Math.min(to - from + 1, 1024)) }, (_, i) => String(from + i));
  });
}

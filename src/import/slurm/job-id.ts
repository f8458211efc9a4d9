/** What the id of a line of `sacct` says. */
export interface LineId {
  /** Without the component and the step. */
  id: string;
  array?: string;
  component?: number;
  step?: string;
}

const ID = /^(\d+)(?:_(\d+|\[[^\]\s]*\](?:%\d+)?))?(?:\+(\d+))?(?:\.(.+))?$/;

/** `4711`, `4711_3`, `4711_[4-9%2]`, `4711+1`, each with `.batch` or `.0` for a step; undefined: it is no id. */
export function parseId(text: string): LineId | undefined {
  const [, job, task, component, step] = ID.exec(text) ?? [];
  if (job === undefined) return undefined;
  return {
    id: task === undefined ? job : `${job}_${task}`,
    ...(task === undefined ? {} : { array: job }),
    ...(component === undefined ? {} : { component: Number(component) }),
    ...(step === undefined ? {} : { step }),
  };
}

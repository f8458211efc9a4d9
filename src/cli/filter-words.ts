import { usage } from '../base/fault.ts';
import { didYouMean } from '../base/suggest.ts';
import { JOB_STATES } from '../recording/folder/job.ts';

const isGlob = (text: string): boolean => /[*?]/.test(text);

/** Where nothing matched: refuses states and findings that no job can have. `ofRecordings` are states that a list has besides. */
export async function refuseUnknown(
  { states = [], findings = [] }: { states?: readonly string[] | undefined; findings?: readonly string[] | undefined },
  ofRecordings: readonly string[] = [],
): Promise<void> {
  const allStates = [...new Set([...JOB_STATES, ...ofRecordings])];
  const state = states.find((text) => !isGlob(text) && !allStates.includes(text));
  if (state !== undefined)
    throw usage(`no job has the state "${state}"${didYouMean(state, allStates)}`, `there are ${allStates.join(', ')}`);
  if (findings.length === 0) return;
  const ids = (await import('../judge/rules/index.ts')).rules.map(({ id }) => id);
  const finding = findings.find((text) => !isGlob(text) && !ids.includes(text));
  if (finding !== undefined)
    throw usage(`there is no finding "${finding}"${didYouMean(finding, ids)}`, 'docs/findings.md lists them');
}

import { readKeptReport } from '../../judge/kept-report.ts';
import { report } from '../../judge/report.ts';
import type { Report } from '../../judge/report-schema.ts';
import type { RuleSettings } from '../../judge/rules/shared/settings.ts';
import type { Material } from '../../query/material.ts';
import type { Recording } from '../../recording/folder/open.ts';
import { silentEnd } from '../../recording/folder/silent-end.ts';
import type { Entry, OpenJob } from './collection.ts';

/** A recording that stopped without an end has ended, as far as anybody can tell: `tacho report` says so, too. */
export function endedIfSilent(recording: Recording): Recording {
  const job = recording.job.end === undefined ? silentEnd(recording) : undefined;
  return job === undefined ? recording : { ...recording, job };
}

/** A job as everybody asks for it; its report is the one that was kept with it, or made once, when somebody wants it. */
export function openedJob(
  entry: Entry,
  recording: Recording,
  material: Material,
  rules: RuleSettings | undefined,
): OpenJob {
  let made: Report | undefined;
  return {
    entry,
    recording,
    material,
    report() {
      if (rules === undefined) made ??= readKeptReport(recording);
      made ??= report(material, rules);
      return made;
    },
    isLive: recording.job.end === undefined,
  };
}

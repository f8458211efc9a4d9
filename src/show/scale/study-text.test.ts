import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recommendationText } from './study-text.ts';

test('a size to ask for: by the law, and what runs of it had where that is less', () => {
  const of = { efficiency: 0.7, size: 2, efficiency_there: 0.7, speedup: 1.41, beyond: false, more: false };
  const study = { by: 'cores', largest: 2 } as const;
  const byLaw = 'Use 2 cores for an efficiency of 70 %: speed-up 1.41, efficiency 70 %.';
  assert.equal(recommendationText(of, study), byLaw);
  assert.equal(
    recommendationText({ ...of, efficiency_measured: 0.48 }, study),
    `${byLaw} The runs of this size had only 48 %: repeat them before you rely on it.`,
  );
});

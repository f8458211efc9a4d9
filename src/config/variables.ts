import { ASIDE } from '../base/own-node.ts';
import { suggest } from '../base/suggest.ts';
import { settings, variableOf } from './settings.ts';

const PREFIX = 'TACHO_';

/** Variables that are no settings: users' own for one run, and those by which Tacho's programs speak to each other. */
const OTHERS = [
  'TACHO_AMD_SMI',
  'TACHO_CONFIG',
  'TACHO_DEBUG',
  'TACHO_DESCRIPTORS',
  'TACHO_MARKS',
  'TACHO_MODELS',
  'TACHO_NVML',
  'TACHO_OWN',
  'TACHO_RECORD',
  'TACHO_RECORDING',
  'TACHO_RECORD_ADDED',
  'TACHO_RECORD_EVENTS',
  'TACHO_RECORD_LIBRARY',
  'TACHO_RECORD_OFF',
  'TACHO_RECORD_SIGNALS',
  'TACHO_RECORD_THREAD_MS',
  'TACHO_ROCM_SMI',
  'TACHO_TAGS',
];

/** A sentence for every variable that looks like one of Tacho's and is none: it would be ignored without a word. */
export function unknownVariables(environment: Readonly<Record<string, string | undefined>>): string[] {
  const knownNames = [...OTHERS, ...settings.map(variableOf)];
  return Object.keys(environment)
    .filter((name) => name.startsWith(PREFIX) && !name.startsWith(ASIDE) && !knownNames.includes(name))
    .sort()
    .map((name) => {
      const [word, ...knownWords] = [name, ...knownNames].map((each) => each.slice(PREFIX.length));
      const meant = suggest(word!, knownWords);
      const question = meant === undefined ? '' : `; did you mean ${PREFIX}${meant}?`;
      return `the variable ${name} is not one of Tacho's and is not used${question}`;
    });
}

import * as os from 'node:os';

/**
 * A folder for what a test makes many files of and no disk is tested with: it lies in memory, where the one who tests may
 * mount that (scripts/test.ts). A file is made there in a tenth of the CPU time.
 */
export const IN_MEMORY = process.env.TEST_MEMORY_FOLDER ?? os.tmpdir();

import * as path from 'node:path';

/** The folder in that of a user which has a name for each job (src/agent/service/user-folders.ts). */
export const USER_JOBS = 'jobs';

/** Beside the job files: a folder for each user. */
export const usersFolder = (jobs: string): string => path.join(path.dirname(path.resolve(jobs)), 'users');

/** Why something is missing that a job's programs said: they said more than the agent of a node can take. */
export const TOO_MANY_RECORDS = 'processes of the job wrote records faster than they could be read';
export const TOO_MANY_MARKS = 'programs of the job wrote more marks than are kept';

/** Whether the job itself was too much: no disk was full, and no sample of the node is missing. */
export const isTooMuch = (why: string): boolean => why === TOO_MANY_RECORDS || why === TOO_MANY_MARKS;

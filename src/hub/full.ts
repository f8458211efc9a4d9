import { code, reason } from '../base/fault.ts';

const FULL = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE']);

/** The archive takes nothing just now, whatever it is. */
export const isFull = (error: unknown): boolean => FULL.has(code(error) ?? '');

/** As agents and administrators read it. */
export const fullWords = (error: unknown): string => `the hub cannot write to its archive: ${reason(error)}`;

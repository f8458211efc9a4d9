export { warn } from '../base/warn.ts';

/** Does nothing for so many milliseconds, where nothing else is to happen meanwhile. */
export const pause = (milliseconds: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
};

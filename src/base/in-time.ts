/** What `work` gives, or undefined when it takes longer. */
export async function inTime<T>(milliseconds: number, work: Promise<T> | undefined): Promise<T | undefined> {
  const late = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => late.resolve(undefined), milliseconds);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

interface Server {
  start(): Promise<void>;
  remove(): Promise<void>;
}

/** A server that runs; of one that does not start nothing stays. */
export async function started<T extends Server>(server: T): Promise<T> {
  try {
    await server.start();
  } catch (error) {
    await server.remove();
    throw error;
  }
  return server;
}

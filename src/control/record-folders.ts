/** Where processes record themselves, on every node. Memory file systems first: a line must never wait for a disk or a network. */
export const RECORD_FOLDERS: readonly string[] = ['/dev/shm', '/tmp'];

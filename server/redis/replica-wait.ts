/** The timeout of WAIT, which blocks the connection; it is shorter after a WAIT that timed out. */
const [WAIT_MS, WAIT_MS_SHORT] = [1_000, 50];

/**
 * Makes the wait of one connection: it resolves with true when `replicas` replicas have all writes that the connection was
 * answered before. `askCount` sends WAIT with a timeout, and gives the number of replicas. One WAIT is in flight at a time.
 */
export function createReplicaWait(
  replicas: number,
  askCount: (timeoutMs: number) => Promise<number>,
  onCall: ((name: string, startedAt: number, hasFailed: boolean) => void) | undefined,
): () => Promise<boolean> {
  let last: Promise<unknown> = Promise.resolve();
  let next: Promise<boolean> | undefined;
  let isShort = false;
  const ask = async (): Promise<boolean> => {
    next = undefined;
    const startedAt = performance.now();
    const count = await askCount(isShort ? WAIT_MS_SHORT : WAIT_MS);
    isShort = count < replicas;
    onCall?.('WAIT', startedAt, isShort);
    return !isShort;
  };
  return () => {
    if (next === undefined) {
      next = last.then(ask, ask);
      last = next;
    }
    return next;
  };
}

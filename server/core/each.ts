const AT_ONCE = 4;

/** Runs work on each item, at most `atOnce` at once. After a failure nothing more is started, and what runs is waited for. */
export async function eachOf<T>(
  source: AsyncIterable<T> | Iterable<T>,
  work: (item: T) => Promise<void>,
  atOnce = AT_ONCE,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const failures: unknown[] = [];
  for await (const item of source) {
    const started: Promise<void> = work(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => running.delete(started));
    running.add(started);
    if (running.size >= atOnce) {
      await Promise.race(running);
    }
    if (failures.length > 0) {
      break;
    }
  }
  await Promise.all(running);
  if (failures.length > 0) {
    throw failures[0];
  }
}

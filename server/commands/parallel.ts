/** Does the works of a list, at most `limit` at once; stops at the first that fails, and throws what it threw. */
export async function eachOf<Entry>(
  entries: readonly Entry[],
  limit: number,
  work: (entry: Entry) => Promise<void>,
): Promise<void> {
  let next = 0;
  let hasFailed = false;
  const worker = async (): Promise<void> => {
    for (let entry = entries[next++]; entry !== undefined && !hasFailed; entry = entries[next++]) {
      try {
        await work(entry);
      } catch (error) {
        hasFailed = true;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, entries.length) }, worker));
}

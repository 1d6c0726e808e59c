/** Makes what is asked for once for each key, and keeps it; what failed is tried again. */
export const keep = <Key, Made>(make: (key: Key) => Promise<Made>): ((key: Key) => Promise<Made>) => {
  const kept = new Map<Key, Promise<Made>>();
  return (key) => {
    const made =
      kept.get(key) ??
      make(key).catch((error: unknown) => {
        kept.delete(key);
        throw error;
      });
    kept.set(key, made);
    return made;
  };
};

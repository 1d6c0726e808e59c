/**
 * Makes what is asked for once for each key, also for many who ask before it is made, and keeps it. What failed, and
 * what is not there, is looked for again, so that keys that somebody makes up take no room.
 */
export const keep = <Key, Made>(make: (key: Key) => Promise<Made>): ((key: Key) => Promise<Made>) => {
  const kept = new Map<Key, Promise<Made>>();
  const makeOnce = async (key: Key): Promise<Made> => {
    let made: Made | undefined;
    try {
      made = await make(key);
      return made;
    } finally {
      if (made === undefined) {
        kept.delete(key);
      }
    }
  };
  return (key) => {
    const made = kept.get(key) ?? makeOnce(key);
    kept.set(key, made);
    return made;
  };
};

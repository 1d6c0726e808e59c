/** Cached texts: short ones that cannot contain a part of a number. */
const TEXTS_MAX = 1_000;
const MAY_BE_KEPT = /^(?!.*\d{3}).{0,64}$/s;

/** Caches the results of a function for texts that recur, such as the names in most messages. */
export function remembered<T>(of: (text: string) => T, textsMax = TEXTS_MAX): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) {
      return found;
    }
    const value = of(text);
    if (MAY_BE_KEPT.test(text)) {
      if (known.size >= textsMax) {
        known.clear();
      }
      known.set(text, value);
    }
    return value;
  };
}

/** How many texts are remembered, and which: short ones that cannot have a part of a number. */
const TEXTS_MAX = 1_000;
const MAY_BE_KEPT = /^(?!.*\d{3}).{0,64}$/s;

/** The same function, with its results remembered: for texts of which few are ever used, and those with each message. */
export function remembered<T extends string | boolean>(of: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) {
      return found;
    }
    const value = of(text);
    if (MAY_BE_KEPT.test(text)) {
      // Whoever fills it with other texts makes the usual ones cost a little once more.
      if (known.size >= TEXTS_MAX) {
        known.clear();
      }
      known.set(text, value);
    }
    return value;
  };
}

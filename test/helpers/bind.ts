/** The functions of `F` without their first parameter. A generic function loses its type parameter: bind it by hand. */
type Bound<P, F> = {
  readonly [K in keyof F]: F[K] extends (parts: P, ...rest: infer A) => infer R ? (...rest: A) => R : never;
};

/**
 * An object out of module functions that take what they work with as their first parameter, which is given once. Its type follows
 * from the functions.
 */
export function bindParts<P, F extends Readonly<Record<string, (parts: P, ...rest: never[]) => unknown>>>(
  parts: P,
  functions: F,
): Bound<P, F> {
  const bound = Object.entries(functions).map(([name, fn]) => [name, fn.bind(undefined, parts)]);
  return Object.fromEntries(bound) as Bound<P, F>; // `bind` and `fromEntries` lose what each name stands for
}

/** The functions of `F` without their first parameter. A generic function loses its type parameter: bind it by hand. */
type Bound<P, F> = {
  readonly [K in keyof F]: F[K] extends (parts: P, ...rest: infer A) => infer R ? (...rest: A) => R : never;
};

/**
 * A service out of module functions that take the parts they work with as their first parameter. The parts are given
 * once, by the service's factory, and the type of the service follows from its functions.
 */
export function bindParts<P, F extends Readonly<Record<string, (parts: P, ...rest: never[]) => unknown>>>(
  parts: P,
  functions: F,
): Bound<P, F> {
  const bound = Object.entries(functions).map(([name, fn]) => [name, fn.bind(undefined, parts)]);
  return Object.fromEntries(bound) as Bound<P, F>; // `bind` and `fromEntries` lose what each name stands for
}

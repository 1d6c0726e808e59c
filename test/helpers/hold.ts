import { VaultError } from '../../server/core/errors.ts';

/** A call that a test has stopped on its way. */
export interface Held {
  /** Resolves when the call has been made. */
  readonly reached: Promise<void>;
  /** Lets the call go on, or no longer waits for one. */
  readonly release: () => void;
}

function methodOf(target: object, name: string): CallableFunction {
  const method: unknown = Reflect.get(target, name);
  if (typeof method !== 'function') {
    throw new TypeError(`${name} is no method`);
  }
  return method;
}

/**
 * Stops a call of a method until it is released, so that a test can put something between two steps of the
 * vault: the next call, or the one after `skip` others. The method is the vault's own again afterwards.
 */
export function holdNext<Target extends object>(
  target: Target,
  name: keyof Target & string,
  { skip = 0 }: { readonly skip?: number } = {},
): Held {
  const method = methodOf(target, name);
  const reached = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let left = skip;
  const holding = async (...given: unknown[]): Promise<unknown> => {
    if (left > 0) {
      left -= 1;
      return Reflect.apply(method, target, given);
    }
    putBack();
    reached.resolve();
    await released.promise;
    return Reflect.apply(method, target, given);
  };
  const putBack = (): void => {
    if (Reflect.get(target, name) === holding) {
      Reflect.set(target, name, method);
    }
  };
  Reflect.set(target, name, holding);
  return {
    reached: reached.promise,
    release: () => {
      putBack();
      released.resolve();
    },
  };
}

/** Has the next call of a method answered without reaching the vault's own. */
export function answerNext<Target extends object>(
  target: Target,
  name: keyof Target & string,
  answer: () => Promise<unknown>,
): void {
  const method = methodOf(target, name);
  Reflect.set(target, name, () => {
    Reflect.set(target, name, method);
    return answer();
  });
}

/** Makes the next call of a method fail without reaching the vault's own. */
export function failNext<Target extends object>(
  target: Target,
  name: keyof Target & string,
  error: Error,
): void {
  answerNext(target, name, () => Promise.reject(error));
}

/** Lets the next call of a method happen, and loses its reply. */
export function loseNext<Target extends object>(target: Target, name: keyof Target & string): void {
  const method = methodOf(target, name);
  Reflect.set(target, name, async (...given: unknown[]) => {
    Reflect.set(target, name, method);
    await Reflect.apply(method, target, given);
    throw new VaultError('store_unavailable');
  });
}

/** Makes an object that has some methods of its own and takes the others from the given one. */
export function overriding<Target extends object>(target: Target, methods: Partial<Target>): Target {
  return Object.assign(Object.create(target) as Target, methods);
}

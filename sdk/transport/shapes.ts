import type { components, operations } from '../api.d.ts';

/** Every shape of the API. */
export type Schemas = components['schemas'];
/** A shape of the API. Exports extend it as interfaces, which compilers and editors show by their name. */
export type Schema<Name extends keyof Schemas> = Schemas[Name];

/** Input of a caller: a list may be readonly, and an optional member undefined. */
export type Given<T> = Loose<Named<T>>;
type Loose<T> = {
  readonly [K in keyof T]: Partial<Pick<T, K>> extends Pick<T, K> ? Value<T[K]> | undefined : Value<T[K]>;
};
/** Where the name of a vault key can be `user`, `key` can be missing: calls add `KeyName`, which demands one of them. */
type Named<T> = 'key' | 'user' extends keyof T ? Partial<Pick<T, 'key' & keyof T>> & Omit<T, 'key'> : T;
type Value<V> = V extends readonly (infer Entry)[] ? readonly Entry[] : V;

/** The parameters of an operation; the passphrase, where there is one, goes into a header instead. */
export type Query<Id extends keyof operations> = Given<
  Omit<NonNullable<operations[Id]['parameters']['query']>, 'passphrase'>
>;
/** The parameters in the path of an operation. */
export type PathOf<Id extends keyof operations> = Given<NonNullable<operations[Id]['parameters']['path']>>;

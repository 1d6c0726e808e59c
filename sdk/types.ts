/**
 * The shapes of the API, by the names of their members on the wire. All of them come from `api.d.ts`, which is
 * generated from the service's OpenAPI document.
 */
import type { components, operations } from './api.d.ts';

type Schemas = components['schemas'];

/** What a caller gives: a list may be readonly, and an optional member undefined. */
type Given<T> = {
  readonly [K in keyof T]: Partial<Pick<T, K>> extends Pick<T, K> ? Value<T[K]> | undefined : Value<T[K]>;
};
type Value<V> = V extends readonly (infer Entry)[] ? readonly Entry[] : V;

/** The parameters of an operation; the passphrase, where there is one, goes into a header instead. */
type Query<Id extends keyof operations> = Given<
  Omit<NonNullable<operations[Id]['parameters']['query']>, 'passphrase'>
>;

interface Unlocking {
  /** Of the vault key; the client's own where it is left out. */
  readonly passphrase?: string | undefined;
}

interface Carrying {
  /** An object, or the exact JSON text of one. */
  readonly data: StoredObject | string;
}

/** Every `code` that the service refuses with. */
export type ErrorCode = Schemas['Error']['code'];

/** Any JSON object; a member named `__proto__` is data like any other: never merge it into other objects. */
export type StoredObject = Schemas['StoredObject'];
export type TokenInfo = Schemas['TokenInfo'];
export type CardMetadata = Schemas['CardMetadata'];
export type TreeItem = Schemas['TreeItem'];
export type Tree = Schemas['Tree'];
export type LogEntry = Schemas['LogEntry'];
export type Key = Schemas['Key'];
export type KeyWithPassphrase = Schemas['KeyWithPassphrase'];
export type LuhnResult = Schemas['LuhnResult'];
export type GeneratedPassphrase = Schemas['GeneratedPassphrase'];
export type WhoAmI = Schemas['WhoAmI'];
export type Message = Schemas['Message'];

/** An item with its data, as opening a whole key yields it. */
export type DecryptedItem = TreeItem & { readonly data: StoredObject };

export type StoreItem = Omit<Query<'storeItem'>, 'card_number' | 'account_number' | 'n'> &
  Unlocking &
  Carrying;
export type UpdateItem = Query<'updateItem'> & Unlocking & Carrying;
export type DeleteItem = Query<'deleteItem'>;
export type ReadLog = Query<'readLog'>;

/** Names one item, and how to show it. */
export type DecryptItem = Pick<
  Query<'readItems'>,
  'reference' | 'mask_fields' | 'rules' | 'return_card_metadata'
> & { readonly user: string; readonly token: string } & Unlocking;

/** What to list; nothing means every item of the account. */
export type ListItems = Omit<
  Query<'readItems'>,
  'decrypt_all' | 'mask_fields' | 'rules' | 'return_card_metadata'
>;

/** Which items of a key to open, and how to show them. */
export type DecryptAll = Omit<Query<'readItems'>, 'user' | 'token' | 'decrypt_all' | 'next_token'> & {
  readonly user: string;
} & Unlocking;

export type CreateKey = Given<Schemas['CreateKey']>;
export type ChangePassphrase = Given<Schemas['ChangePassphrase']>;
export type ListKeys = Query<'listKeys'>;
export type DeleteKey = Query<'deleteKey'>;

export type CheckLuhn = Query<'checkLuhn'>;
export type GeneratePassphrase = Query<'generatePassphrase'>;

/** What the handlers of a thread share: the sealer of service records, keys of the process and of the root. */
import { IntegrityError } from '../crypto/primitives/bytes.ts';
import type { Argon2Params } from '../crypto/primitives/kdf.ts';
import {
  createServiceSealer,
  createSubkeys,
  type ServiceSealer,
  type Subkeys,
} from '../crypto/record/service-record.ts';
import type { Handlers, Jobs } from './define.ts';
import { createOpenings, type Openings } from './openings.ts';

/** What every thread is started with. */
export interface ThreadData {
  readonly env: 'staging' | 'production';
  /** The id of the master key that records are sealed under. */
  readonly writeId: string;
  /** All master keys of the ring by id. */
  readonly keys: readonly (readonly [id: string, key: Uint8Array])[];
  /** Random per process; warm blobs open only in the process that made them. */
  readonly processKey: Uint8Array;
  readonly argon2: Argon2Params;
  /** The sealed root that index keys derive from; absent only while it is being made. */
  readonly root?: Uint8Array;
}

/** What a handler may use; made once per thread. */
export interface ThreadContext extends Pick<ThreadData, 'env' | 'processKey' | 'argon2'> {
  readonly sealer: ServiceSealer;
  /**
   * A 32-byte key that stays the same when the master key is rotated: for indexes, peppers and cursors. Throws an
   * `IntegrityError` in a thread that was started without the root.
   */
  readonly rootKey: Subkeys;
  /** The keys that are open for the jobs of the frame that the thread serves. */
  readonly openings: Openings;
}

/** A handler for each job of a group. */
export type ThreadHandlers<Group extends Jobs> = Handlers<Group, ThreadContext>;

/** The place of the sealed root among the service records: purpose, account, kind and path. */
export const ROOT_PLACE = ['record', '', 'root', ['root']] as const;

function missingRoot(): never {
  throw new IntegrityError('root');
}

/** The context of a thread. Throws an `IntegrityError` when the master key does not open the root. */
export function createThreadContext(data: ThreadData): ThreadContext {
  const { env, writeId, keys, processKey, argon2, root } = data;
  const sealer = createServiceSealer({ env, ring: { writeId, keys: new Map(keys) } });
  const rootKey = root
    ? createSubkeys(sealer.open(...ROOT_PLACE, root), 'cardvault root key', env)
    : missingRoot;
  return { env, sealer, processKey, argon2, rootKey, openings: createOpenings() };
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** A value as the bytes of its JSON text. */
export function toJsonBytes(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

/** The text of bytes that a caller sent; what is not UTF-8 becomes U+FFFD. */
export function toText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** The value of JSON text of our own: part of an opened record, or of an order between two jobs. */
export function parseOwn<T>(bytes: Uint8Array): T {
  return JSON.parse(toText(bytes)) as T;
}

import { lockMemory } from '../../server/core/process-memory.ts';
import { type Argon2Params, divideArgon2Memory } from '../crypto/primitives/kdf.ts';
import { ServiceSealer } from '../crypto/record/service-record.ts';
import type { Handlers, Jobs } from './define.ts';
import { createOpenings, type Openings } from './openings.ts';
import { createRootSource, type RootSource } from './root-keys.ts';

/** The data that every thread is started with. */
export interface ThreadData {
  readonly env: 'staging' | 'production';
  /** The id of the master key that records are sealed under. */
  readonly writeId: string;
  /** All master keys of the ring by id. */
  readonly keys: readonly (readonly [id: string, key: Uint8Array])[];
  /** Random per process; warm blobs open only in the process that made them. */
  readonly processKey: Uint8Array;
  readonly argon2: Argon2Params;
  /** Makes Argon2id cheaper in tests, see `divideArgon2Memory`. */
  readonly argon2Divisor?: number;
  /** The sealed root that index keys derive from, or shared memory that has it before the first use of a root key. */
  readonly root?: Uint8Array | SharedArrayBuffer;
}

/** The context of the handlers of a thread: the sealer of service records, keys of the process and of the root. */
export interface ThreadContext extends Pick<ThreadData, 'env' | 'processKey' | 'argon2'>, RootSource {
  readonly sealer: ServiceSealer;
  /** The keys that are open for the jobs of the frame that the thread serves. */
  readonly openings: Openings;
}

export type ThreadHandlers<Group extends Jobs> = Handlers<Group, ThreadContext>;

/** The context of a thread. Throws an `IntegrityError` when the master key does not open the root that is given as bytes. */
export function createThreadContext(data: ThreadData): ThreadContext {
  const { env, writeId, keys, processKey, argon2, argon2Divisor, root } = data;
  if (argon2Divisor !== undefined) {
    if (env === 'production') {
      throw new RangeError('Argon2id cannot be made cheaper in production');
    }
    divideArgon2Memory(argon2Divisor);
  }
  lockMemory([processKey, ...keys.map(([, key]) => key)]);
  const sealer = new ServiceSealer(env, writeId, keys);
  return {
    env,
    sealer,
    processKey,
    argon2,
    ...createRootSource(sealer, env, root),
    openings: createOpenings(),
  };
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

export function toJsonBytes(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

/** The text of bytes that a caller sent; invalid UTF-8 becomes U+FFFD. */
export function toText(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** The value of trusted JSON text: part of an opened record, or of an order between two jobs. */
export function parseOwn<T>(bytes: Uint8Array): T {
  return JSON.parse(toText(bytes)) as T;
}

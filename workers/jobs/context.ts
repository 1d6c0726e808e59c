import { causeOf } from '../../server/core/error-cause.ts';
import { VaultError } from '../../server/core/errors.ts';
import { CertificateError } from '../crypto/certificate/certificate.ts';
import { EndpointSecretError } from '../crypto/endpoint/record.ts';
import { IntegrityError, PassphraseError } from '../crypto/primitives/bytes.ts';
import type { Argon2Params } from '../crypto/primitives/kdf.ts';
import { createServiceSealer, createSubkeys, type ServiceSealer } from '../crypto/record/service-record.ts';
import type { Failure } from '../pool/failure.ts';
import type { ThreadData } from './kinds.ts';

/** What a handler may use; made once per thread. */
export interface ThreadContext {
  readonly env: 'staging' | 'production';
  readonly sealer: ServiceSealer;
  readonly processKey: Uint8Array;
  readonly argon2: Argon2Params;
  /** A 32-byte key that stays the same when the master key is rotated: for indexes, peppers and cursors. */
  rootKey(
    purpose: 'ref-index' | 'idem' | 'cursor' | 'password' | 'audit' | 'audit-sign',
    account: string,
  ): Uint8Array;
}

export type Fields = readonly Uint8Array[];
export type Handler = (context: ThreadContext, fields: Fields) => Uint8Array[] | Promise<Uint8Array[]>;

/** A refusal that goes back as a code and a place, since an Error's class is lost between threads. */
export class JobFailure extends Error {
  readonly code: string;
  readonly field: string | undefined;

  constructor(code: string, field?: string) {
    super(code);
    this.code = code;
    this.field = field;
  }
}

export const ROOT_PATH = { account: '', kind: 'root', path: ['root'] as const };

export function createThreadContext(data: ThreadData): ThreadContext {
  const ring = { writeId: data.writeId, keys: new Map(data.keys) };
  const sealer = createServiceSealer({ env: data.env, ring });
  const root =
    data.root && sealer.open('record', ROOT_PATH.account, ROOT_PATH.kind, ROOT_PATH.path, data.root);
  const subkeys = root && createSubkeys(root, 'cardvault root key', data.env);
  return {
    env: data.env,
    sealer,
    processKey: data.processKey,
    argon2: data.argon2,
    rootKey(purpose, account) {
      if (!subkeys) {
        throw new IntegrityError('no root');
      }
      return subkeys(purpose, account);
    },
  };
}

/** The code and the place that an error has for callers; undefined for one that nobody expected. */
function expected(
  error: unknown,
): { readonly code: string; readonly field?: string | undefined } | undefined {
  if (error instanceof JobFailure || error instanceof VaultError) {
    return error;
  }
  if (error instanceof IntegrityError) {
    return { code: 'integrity_failed' };
  }
  if (error instanceof PassphraseError) {
    return { code: 'passphrase_wrong' };
  }
  if (error instanceof CertificateError) {
    return { code: error.code, field: 'body' };
  }
  return error instanceof EndpointSecretError ? { code: 'endpoint_refused' } : undefined;
}

/** How an error crosses to the server: with its cause, unless a caller caused it. */
export function toFailure(error: unknown): Failure {
  const { code, field } = expected(error) ?? { code: 'internal' };
  const isOurs = code === 'internal' || code === 'integrity_failed';
  return { code, field, cause: isOurs ? causeOf(error) : undefined };
}

/** What `open` gives; undefined when that fails with an `IntegrityError`. */
export function openedOrNot<T>(open: () => T): T | undefined {
  try {
    return open();
  } catch (error) {
    if (error instanceof IntegrityError) {
      return undefined;
    }
    throw error;
  }
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();
export const EMPTY = new Uint8Array(0);

/** A job's field; a missing one is a mistake of the caller, never of the data. */
export function field(fields: Fields, index: number): Uint8Array {
  const found = fields[index];
  if (!found) {
    throw new JobFailure('internal');
  }
  return found;
}

/** Reads the parameters of a job. They come from this process's own server, which built them from its types. */
export const paramsOf = <T>(fields: Fields): T => JSON.parse(decoder.decode(field(fields, 0))) as T;

export const toBytes = (text: string): Uint8Array => encoder.encode(text);
export const toJsonBytes = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));
export const toText = (bytes: Uint8Array): string => decoder.decode(bytes);

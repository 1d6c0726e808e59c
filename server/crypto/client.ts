/** The typed client of the worker threads: every sealing, opening and derivation goes through it. */
import { randomBytes } from 'node:crypto';
import type { Given, Taken } from '../../workers/jobs/codec.ts';
import { type AnyJob, DEADLINE_MS, type Numbered } from '../../workers/jobs/define.ts';
import type { Pool } from '../../workers/pool/pool.ts';
import { JOBS } from '../../workers/table.ts';
import type { Secret } from '../core/secret.ts';
import type { Limiter } from '../limits/limiter.ts';

/** A key's private halves after an unlock: they open only together with the passphrase. */
export type WarmBlob = Uint8Array;

/** A job whose input has no members is called without one. */
type Arguments<Input> = keyof Input extends never ? [] : [input: Input];

/**
 * Each job of the threads as a method. It rejects with a VaultError: that of the handler, `overloaded` when no thread has
 * done the job in time, or `internal`, whose cause names class and frames of the error in the thread. The code of a job is
 * the handler of its name in `workers/jobs/<noun>/`.
 */
type Jobs = {
  readonly [Name in keyof typeof JOBS]: (
    ...input: Arguments<Given<(typeof JOBS)[Name]['input']>>
  ) => Promise<Taken<(typeof JOBS)[Name]['output']>>;
};

/** The jobs of the threads, and operations on secrets in this thread. */
export interface Crypto extends Jobs {
  /** A digest of a secret and its context (without NUL), for comparisons within this process only. */
  digestSecret(context: string, secret: Secret<Uint8Array> | Secret<string>): string;
  /** A digest of a random secret of 256 bits, which may be stored: it cannot be guessed. */
  digestCredential(secret: Secret<string>): string;
  lengthOf(secret: Secret<Uint8Array>): number;
  /** The result of a function of a secret, which must not keep it. */
  passTo<T, Result>(secret: Secret<T>, read: (value: T) => Result): Result;
}

/** Receives each job that has ended: its name, when it started (`performance.now()`), and whether it failed. */
type JobReport = (name: string, startedAt: number, hasFailed: boolean) => void;

/** The class of long jobs, which wait for each other. Requests bound the number of hot ones. */
const WORK = { bulk: 'page', cold: 'unlock', guess: 'guess' } as const;

/** A pool of threads, as far as jobs need it. */
interface Runner {
  run: Pool['run'];
}

export function createCrypto(pool: Runner, limiter: Limiter, report?: JobReport): Crypto {
  const digestKey = randomBytes(32);
  const methods = Object.values(JOBS).map((job) => [
    job.name,
    (input: never) => runJob(pool, limiter, job, input, report),
  ]);
  return {
    // Each name has the method of its job; the loop cannot say so name by name.
    ...(Object.fromEntries(methods) as Jobs),
    digestSecret: (context, secret) =>
      new Bun.CryptoHasher('sha256', digestKey)
        .update(`${context}\0`)
        .update(secret.expose())
        .digest('base64'),
    digestCredential: (secret) =>
      new Bun.CryptoHasher('sha256').update(`credential\0${secret.expose()}`).digest('base64url'),
    lengthOf: (secret) => secret.expose().length,
    passTo: (secret, read) => read(secret.expose()),
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Encrypts a value as JSON text, bound to its account, kind and id. */
export function sealJson(crypto: Crypto, account: string, kind: string, id: string, value: object) {
  const place = { purpose: 'record', account, kind, path: [id] } as const;
  return crypto.sealRecord({ place, plaintext: encoder.encode(JSON.stringify(value)) });
}

/** Opens a record of `sealJson`; `T` is the type of its value. Rejects with `integrity_failed` for any other bytes. */
export async function openJson<T>(
  crypto: Crypto,
  account: string,
  kind: string,
  id: string,
  record: Uint8Array,
): Promise<T> {
  const place = { purpose: 'record', account, kind, path: [id] } as const;
  return JSON.parse(decoder.decode(await crypto.openRecord({ place, record }))) as T; // The record is authenticated.
}

function runJob(
  pool: Runner,
  limiter: Limiter,
  job: Numbered<AnyJob>,
  input: never,
  report: JobReport | undefined,
): Promise<unknown> {
  const { name, lane: laneOf, share } = job;
  const lane = typeof laneOf === 'function' ? laneOf(input) : laneOf;
  const startedAt = performance.now();
  const request = { job, input, lane, queuedAt: startedAt, deadlineMs: DEADLINE_MS[lane] };
  const result =
    lane === 'hot'
      ? pool.run(request)
      : limiter.run(WORK[lane], share?.(input) ?? '', () => pool.run(request));
  if (report !== undefined) {
    const end = (hasFailed: boolean) => (): void => report(name, startedAt, hasFailed);
    void result.then(end(false), end(true));
  }
  return result;
}

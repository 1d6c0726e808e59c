import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { Memory } from '../core/cache.ts';
import { VaultError } from '../core/errors.ts';
import { MIN_VERSION, type OutboundRequest } from './call.ts';

type ClientCert = NonNullable<OutboundRequest['clientCert']>;

/** Options of contexts; tests set the limits. */
export interface ContextOptions {
  /** PEM of the authorities to trust. */
  readonly authorities: readonly string[];
  readonly keptMs?: number;
  readonly keptMax?: number;
}

/** Gives what a TLS connection is made with: whom to trust, and what to show where the target asks for it. */
export type ContextOf = (call: Pick<OutboundRequest, 'owner' | 'clientCert'>) => SecureContext;

/** How long a context with a private key is kept, from when it was made, and how many are. */
const KEPT_MS = 60_000;
const KEPT_MAX = 64;

/** Checks the pair, because the runtime would ignore an invalid one and connect without a client certificate. */
function pairOf({ certPem, keyPem }: ClientCert): { readonly cert: string; readonly key: string } {
  const key = keyPem.expose();
  if (!new X509Certificate(certPem).checkPrivateKey(createPrivateKey(key))) {
    throw new TypeError('the key is not that of the certificate');
  }
  return { cert: certPem, key };
}

/** The message of an error is dropped, since it could contain a part of a key. */
function contextWith(authorities: readonly string[], clientCert?: ClientCert): SecureContext {
  try {
    const pair = clientCert === undefined ? {} : pairOf(clientCert);
    return createSecureContext({ ca: [...authorities], minVersion: MIN_VERSION, ...pair });
  } catch (error) {
    throw new VaultError('internal', { cause: error });
  }
}

/** A name for an owner's pair of certificate and key that tells nothing of them. */
function nameOf(owner: string, { certPem, keyPem }: ClientCert): string {
  const texts = [owner, certPem, keyPem.expose()];
  return createHash('sha256').update(JSON.stringify(texts)).digest('base64');
}

/**
 * Makes the contexts of a process: one without a client certificate, and one for each owner's pair of certificate and key. To
 * make one takes a millisecond, in which nothing else happens, so the last 64 are kept for a minute: for so long the memory of
 * the process holds a private key whose last call is over. A pair whose certificate was deleted is not asked for again.
 */
export function createContexts({
  authorities,
  keptMs = KEPT_MS,
  keptMax = KEPT_MAX,
}: ContextOptions): ContextOf {
  const anonymous = contextWith(authorities);
  const kept = new Memory<SecureContext>(keptMax, keptMs, () => performance.now());
  return ({ owner, clientCert }) => {
    if (clientCert === undefined) {
      return anonymous;
    }
    const name = nameOf(owner, clientCert);
    const known = kept.get(name);
    if (known !== undefined) {
      return known;
    }
    const context = contextWith(authorities, clientCert);
    kept.set(name, context);
    // Behind its end, for a private key must not wait to be asked for.
    setTimeout(() => kept.sweep(), keptMs + 1).unref();
    return context;
  };
}

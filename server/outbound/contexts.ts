import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import { Memory } from '../core/cache.ts';
import { VaultError } from '../core/errors.ts';
import { MIN_VERSION, type OutboundRequest } from './call.ts';

type ClientCert = NonNullable<OutboundRequest['clientCert']>;

/** Returns the TLS context of a call: the trusted authorities, and the client certificate for targets that request one. */
export type ContextOf = (owner: string, clientCert?: ClientCert) => SecureContext;

/** The lifetime of a context with a private key, and the maximum number of them. */
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

/** Drops the message of an error, since it could contain a part of a key. */
function contextWith(authorities: readonly string[], clientCert?: ClientCert): SecureContext {
  try {
    const pair = clientCert === undefined ? {} : pairOf(clientCert);
    return createSecureContext({ ca: [...authorities], minVersion: MIN_VERSION, ...pair });
  } catch (error) {
    throw new VaultError('internal', { cause: error });
  }
}

/** Creates the contexts of a process. One blocks for a millisecond, so the last 64 with a private key are cached for a minute. */
export function createContexts(
  authorities: readonly string[],
  keptMs = KEPT_MS,
  keptMax = KEPT_MAX,
): ContextOf {
  const anonymous = contextWith(authorities);
  const kept = new Memory<SecureContext>(keptMax, keptMs, () => performance.now());
  return (owner, clientCert) => {
    if (clientCert === undefined) {
      return anonymous;
    }
    // The name is a digest: it must reveal nothing of the key.
    const texts = [owner, clientCert.certPem, clientCert.keyPem.expose()];
    const name = createHash('sha256').update(JSON.stringify(texts)).digest('base64');
    const known = kept.get(name);
    if (known !== undefined) {
      return known;
    }
    const context = contextWith(authorities, clientCert);
    kept.set(name, context);
    // A private key must not stay until the next lookup.
    setTimeout(() => kept.sweep(), keptMs + 1).unref();
    return context;
  };
}

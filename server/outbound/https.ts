import { rootCertificates } from 'node:tls';
import { type AddressPolicy, normalAddress } from './addresses.ts';
import {
  type OutboundLimits,
  type OutboundRequest,
  type OutboundResult,
  outboundFailure,
  type StreamingRequest,
  type StreamingResult,
} from './call.ts';
import { createConnectionPool } from './connections.ts';
import { createContexts } from './contexts.ts';
import { checkDestination } from './destination.ts';
import { exchange } from './exchange.ts';
import { checkHeaders } from './headers.ts';
import { type Resolve, resolveBySystem, resolveVetted } from './resolve.ts';

/** Sends requests to third parties. */
export interface Outbound {
  /**
   * Sends one request and reads the reply, over a new connection or one that an earlier request of the same owner to the
   * same host and addresses has just left. A redirect is a reply and is not followed. With `stream` it gives the reply at its
   * head.
   *
   * @throws {VaultError} before anything is sent: `invalid_request` for headers that `checkHeaders` rejects, `internal` for
   * an unusable client certificate.
   */
  readonly send: {
    (request: StreamingRequest): Promise<StreamingResult>;
    (request: OutboundRequest): Promise<OutboundResult>;
  };
}

/** Options of outbound requests; tests set `resolve` and `limits`. */
export interface OutboundOptions {
  readonly policy: AddressPolicy;
  /** Certificate authorities to trust in addition to the built-in ones. */
  readonly caPem?: string | undefined;
  readonly resolve?: Resolve;
  readonly limits?: Partial<OutboundLimits>;
}

const LIMITS: OutboundLimits = Object.freeze({
  dnsMs: 5000,
  connectMs: 10_000,
  replyHeaderBytes: 65_536,
  replyBodyBytes: 1_048_576,
});

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/**
 * Creates the only client for third parties: https with TLS 1.2 or newer, verified against the built-in roots and `caPem`, to
 * an address that was checked and is the one connected to, within the limits, without redirects, proxies or cookies.
 */
export function createOutbound(options: OutboundOptions): Outbound {
  const { policy, resolve = resolveBySystem } = options;
  const limits = { ...LIMITS, ...options.limits };
  const authorities = [...rootCertificates, ...(options.caPem?.match(PEM_CERTIFICATE) ?? [])];
  const contextOf = createContexts({ authorities });
  const pool = createConnectionPool();

  function send(call: StreamingRequest): Promise<StreamingResult>;
  function send(call: OutboundRequest): Promise<OutboundResult>;
  async function send(call: OutboundRequest | StreamingRequest): Promise<OutboundResult | StreamingResult> {
    const startedAt = performance.now();
    checkHeaders(call.headers, { field: 'headers' });
    const context = contextOf(call);
    const destination = checkDestination(call.url, { policy, hosts: call.hosts });
    if (typeof destination === 'string') {
      return outboundFailure('destination_refused', false, destination);
    }
    const timeoutMs = Math.min(limits.dnsMs, call.deadlineMs);
    const found = destination.isAddress
      ? ({ kind: 'found', addresses: [normalAddress(destination.host) ?? ''] } as const)
      : await resolveVetted(destination.host, { resolve, policy, timeoutMs });
    if (found.kind === 'failed') {
      return outboundFailure(found.code, false, found.reason);
    }
    const remainingMs = call.deadlineMs - (performance.now() - startedAt);
    if (remainingMs <= 0) {
      return outboundFailure('target_timeout', false);
    }
    const { addresses } = found;
    const result = await exchange({ call, destination, addresses, context, limits, remainingMs, pool });
    if (!result.ok && !result.sent) {
      // The target may have moved.
      resolve.forget?.(destination.host);
    }
    return result;
  }
  return Object.freeze({ send });
}

import { rootCertificates } from 'node:tls';
import { VaultError } from '../core/errors.ts';
import { HEADER_NAME, type HeaderEntries } from '../core/headers.ts';
import { certificatesIn } from '../core/pem.ts';
import { type AddressPolicy, normalAddress } from './addresses.ts';
import {
  type OutboundLimits,
  type OutboundRequest,
  type OutboundResult,
  outboundFailure,
  type StreamingRequest,
  type StreamingResult,
} from './call.ts';
import { ConnectionPool } from './connections.ts';
import { createContexts } from './contexts.ts';
import { checkDestination } from './destination.ts';
import { Exchange } from './exchange.ts';
import { type Resolve, resolveBySystem, resolveVetted } from './resolve.ts';

export interface Outbound {
  /**
   * Sends one request and reads the reply, over a new connection or the idle one of an earlier request of the same owner to
   * the same host and addresses. A redirect is a reply and is not followed. Throws before anything is sent:
   * `invalid_request` for headers that `checkHeaders` rejects, `internal` for an unusable client certificate.
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

const NAME_LENGTH_MAX = 256;
/** Bytes (obs-text of RFC 9110, section 5.5, which includes UTF-8) except ASCII control characters and tab. */
const VALUE = /^[\u0020-\u007e\u0080-\u00ff]*$/;
/** Headers of the connection and of framing (RFC 9110, section 7.6.1), which only this code sets. */
const RESERVED =
  /^(?:host|connection|content-length|transfer-encoding|te|trailer|upgrade|expect|keep-alive|http2-settings|proxy-.*)$/i;
const COUNT_MAX = 128;
const BYTES_MAX = 32_768;

/**
 * Checks headers, so that none can inject another header or change the framing. Throws `invalid_request`, with `field` at
 * the list or at its member (`FIELD[2]`), for malformed names, values with control characters or characters beyond Latin-1,
 * reserved names, and lists of more than 128 headers or 32 KB.
 */
export function checkHeaders(headers: HeaderEntries, field: string): void {
  let bytes = 0;
  for (const [at, [name, value]] of headers.entries()) {
    const isName = HEADER_NAME.test(name) && name.length <= NAME_LENGTH_MAX;
    if (!isName || !VALUE.test(value) || RESERVED.test(name)) {
      const expected =
        'must be a header with a name that may be set, and a value of Latin-1 without control characters';
      throw new VaultError('invalid_request', { field: `${field}[${at}]`, expected });
    }
    bytes += name.length + value.length + 4;
  }
  if (headers.length > COUNT_MAX || bytes > BYTES_MAX) {
    const expected = `must be at most ${COUNT_MAX} headers with ${BYTES_MAX} bytes`;
    throw new VaultError('invalid_request', { field, expected });
  }
}

/**
 * Creates the only client for third parties: https with TLS 1.2 or newer, verified against the built-in roots and `caPem`, to
 * an address that was checked and is the one connected to, within the limits, without redirects, proxies or cookies.
 */
export function createOutbound(options: OutboundOptions): Outbound {
  const { policy, resolve = resolveBySystem } = options;
  const limits = { ...LIMITS, ...options.limits };
  const authorities = [...rootCertificates, ...certificatesIn(options.caPem ?? '')];
  const contextOf = createContexts(authorities);
  const pool = new ConnectionPool();

  function send(call: StreamingRequest): Promise<StreamingResult>;
  function send(call: OutboundRequest): Promise<OutboundResult>;
  async function send(call: OutboundRequest | StreamingRequest): Promise<OutboundResult | StreamingResult> {
    const startedAt = performance.now();
    checkHeaders(call.headers, 'headers');
    const context = contextOf(call.owner, call.clientCert);
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
    const result = await new Exchange({
      call,
      destination,
      addresses,
      context,
      limits,
      remainingMs,
      pool,
    }).run();
    if (!result.ok && !result.sent) {
      // The target may have moved.
      resolve.forget?.(destination.host);
    }
    return result;
  }
  return Object.freeze({ send });
}

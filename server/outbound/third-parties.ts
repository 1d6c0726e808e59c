import { VaultError } from '../core/errors.ts';
import type { HeaderEntries } from '../core/headers.ts';
import type { Secret } from '../core/secret.ts';
import { METHODS, type OutboundRequest, type OutboundResult, type StreamingResult } from './call.ts';
import { checkDestination, destinationError, isListedUrl } from './destination.ts';
import { checkHeaders } from './headers.ts';
import { createOutbound, type OutboundOptions } from './https.ts';
import { resolveBySystem, resolveVetted } from './resolve.ts';
import { isDelivered, type WebhookMessage, webhookHeaders } from './webhook.ts';

/** The timeout of the name lookup when a request is accepted; it is repeated when the request is sent. */
const VET_MS = 2_000;
const REQUEST_ID = 'X-Vault-Request-Id';

/** A request that is ready to be sent. */
export interface OutgoingRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderEntries;
  readonly body?: Uint8Array | undefined;
}

/** The URL of a network token requester; the headers contain credentials. */
export interface Requester {
  readonly url: string;
  readonly headers: Secret<Readonly<Record<string, string>>>;
}

/** One attempt to send a filled request. */
export interface ProxiedRequest extends Pick<OutboundRequest, 'clientCert' | 'deadlineMs' | 'room'> {
  readonly owner: string;
  /** The value of `X-Vault-Request-Id`, the same in every attempt. */
  readonly id: string;
  readonly request: Secret<OutgoingRequest>;
  /** Replaces URL and headers of the request. The operator configured it, so `hosts` does not apply. */
  readonly requester?: Requester | undefined;
  /** The hosts that the account may call; empty: any. */
  readonly hosts: readonly string[];
}

/** A request that passes through, with headers as they are. */
export interface RelayedRequest
  extends Pick<ProxiedRequest, 'owner' | 'hosts' | 'clientCert' | 'deadlineMs' | 'room'> {
  readonly request: Secret<{
    readonly head: Omit<OutgoingRequest, 'body'>;
    readonly body?: Uint8Array | undefined;
  }>;
  /** Whether the reply is passed on as it comes; otherwise it is read whole, and decoded. */
  readonly stream: boolean;
  /** See `StreamingRequest`. */
  readonly decodes: boolean;
}

/** One attempt to deliver a webhook. */
export interface WebhookRequest extends WebhookMessage {
  readonly owner: string;
  readonly url: string;
  readonly hosts: readonly string[];
  readonly deadlineMs: number;
}

/** The result of an attempt, with the status or the error code for the log. */
export type WebhookOutcome =
  | { readonly delivered: boolean; readonly status: number }
  | { readonly delivered: false; readonly code: string; readonly reason?: string | undefined };

/** The method of a stored request, which was checked when it was accepted. */
function methodOf({ method }: Pick<OutgoingRequest, 'method'>): OutboundRequest['method'] {
  const known = METHODS.find((name) => name === method);
  if (known === undefined) {
    throw new VaultError('internal');
  }
  return known;
}

function headOf({ url, headers }: Requester): Pick<OutboundRequest, 'url' | 'headers'> {
  return { url, headers: [['Content-Type', 'application/json'], ...Object.entries(headers.expose())] };
}

/** Sends a request once, with nothing added to it but what HTTP needs. */
function sendBare(
  { send }: ReturnType<typeof createOutbound>,
  { request, stream, decodes, ...call }: RelayedRequest,
): Promise<OutboundResult | StreamingResult> {
  const { head, body } = request.expose();
  const { url, headers } = head;
  const whole = { ...call, method: methodOf(head), url, headers, body, bare: true } as const;
  return stream ? send({ ...whole, stream, decodes }) : send(whole);
}

/**
 * Throws `destination_refused` at `field` for a URL that would fail when a request is sent: because of its form, its host,
 * or the current addresses of its name. A name without addresses, or with a slow lookup, passes.
 */
async function vet(
  { policy, resolve = resolveBySystem }: OutboundOptions,
  url: string,
  hosts: readonly string[],
  field: string,
): Promise<void> {
  const destination = checkDestination(url, { policy, hosts });
  if (typeof destination === 'string') {
    throw destinationError(destination, field);
  }
  if (destination.isAddress) {
    return;
  }
  const found = await resolveVetted(destination.host, { resolve, policy, timeoutMs: VET_MS });
  if (found.kind === 'failed' && found.code === 'destination_refused') {
    throw destinationError('address', field);
  }
}

/** The third parties: targets of proxied requests, network token requesters, and webhooks. */
export type ThirdParties = ReturnType<typeof createThirdParties>;

/** Creates the only access of services to third parties. */
export function createThirdParties(options: OutboundOptions) {
  const outbound = createOutbound(options);
  return Object.freeze({
    /** See the function of this name. */
    vet: (url: string, hosts: readonly string[], field: string) => vet(options, url, hosts, field),

    /** Whether the host of a URL is one of these. */
    isListed: isListedUrl,

    /** Throws `invalid_request`, at the place below `field`, for headers that cannot be sent. */
    checkHeaders(request: Secret<OutgoingRequest>, field: string): void {
      checkHeaders(request.expose().headers, { field });
    },

    /** The content of a request as bytes, which are equal for equal requests. */
    contentOf(request: Secret<OutgoingRequest>): Uint8Array {
      const { body, ...head } = request.expose();
      return Buffer.concat([Buffer.from(JSON.stringify(head)), body ?? Buffer.alloc(0)]);
    },

    /** The length of a request's body. */
    lengthOf(request: Secret<OutgoingRequest>): number {
      return request.expose().body?.length ?? 0;
    },

    /** Sends a request once, to an address that is checked at that time. */
    send({
      owner,
      id,
      request,
      requester,
      hosts,
      clientCert,
      deadlineMs,
      room,
    }: ProxiedRequest): Promise<OutboundResult> {
      const filled = request.expose();
      const { url, headers } = requester === undefined ? filled : headOf(requester);
      return outbound.send({
        owner,
        method: methodOf(filled),
        url,
        hosts: requester === undefined ? hosts : [],
        headers: [...headers, [REQUEST_ID, id]],
        body: filled.body,
        clientCert,
        deadlineMs,
        room,
      });
    },

    relay: (request: RelayedRequest) => sendBare(outbound, request),

    /** Sends a webhook once. Only status 200 counts as delivered. */
    async deliver(webhook: WebhookRequest): Promise<WebhookOutcome> {
      const { owner, hosts, url, body, deadlineMs, ...message } = webhook;
      const headers = webhookHeaders({ ...message, body });
      const result = await outbound.send({ owner, method: 'POST', url, hosts, headers, body, deadlineMs });
      return result.ok
        ? { delivered: isDelivered(result.status), status: result.status }
        : { delivered: false, code: result.code, reason: result.reason };
    },
  });
}

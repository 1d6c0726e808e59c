import { VaultError } from '../core/errors.ts';
import type { HeaderEntries } from '../core/headers.ts';
import type { Secret } from '../core/secret.ts';
import { PROXY_METHODS, type ProxyMethod } from '../core/third-party.ts';
import type { CallTerms, OutboundFailure, OutboundResult, StreamingResult } from './call.ts';
import { checkDestination, destinationError, isListedUrl } from './destination.ts';
import { checkHeaders, createOutbound, type Outbound, type OutboundOptions } from './https.ts';
import { resolveBySystem, resolveVetted } from './resolve.ts';
import { isDelivered, type WebhookMessage, webhookHeaders } from './webhook.ts';

/** The timeout of the name lookup when a request is accepted; it is repeated when the request is sent. */
const VET_MS = 2_000;
const REQUEST_ID = 'X-Vault-Request-Id';

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

/** The terms of a call for an account. Its hosts cannot be left out, since a call without hosts may go to any. */
interface AccountTerms extends CallTerms {
  readonly hosts: readonly string[];
}

export interface ProxiedRequest extends AccountTerms {
  /** The value of `X-Vault-Request-Id`, the same in every attempt. */
  readonly id: string;
  readonly request: Secret<OutgoingRequest>;
  /** Replaces URL and headers of the request. The operator configured it, so `hosts` does not apply. */
  readonly requester?: Requester | undefined;
}

/** A request that passes through, with headers as they are. */
export interface RelayedRequest extends AccountTerms {
  readonly request: Secret<OutgoingRequest>;
  /** Returns the reply with its head; otherwise it is read whole, and decoded. */
  readonly stream: boolean;
  readonly decodes: boolean;
}

export interface WebhookRequest extends WebhookMessage, Pick<AccountTerms, 'owner' | 'hosts' | 'deadlineMs'> {
  readonly url: string;
}

/** The result of an attempt, with the status or the error code for the log. */
export type WebhookOutcome =
  | { readonly delivered: boolean; readonly status: number }
  | (OutboundFailure & { readonly delivered: false });

/** The method of a stored request, which was checked when it was accepted. */
function methodOf({ method }: OutgoingRequest): ProxyMethod {
  const known = PROXY_METHODS.find((name) => name === method);
  if (known === undefined) {
    throw new VaultError('internal');
  }
  return known;
}

/** The only access of services to third parties: targets of requests, network token requesters, and webhooks. */
export class ThirdParties {
  private readonly outbound: Outbound;

  constructor(private readonly options: OutboundOptions) {
    this.outbound = createOutbound(options);
  }

  /**
   * Throws `destination_refused` at `field` for a URL that would fail when a request is sent: because of its form, its host,
   * or the current addresses of its name. A name without addresses, or with a slow lookup, passes.
   */
  async vet(url: string, hosts: readonly string[], field: string): Promise<void> {
    const { policy, resolve = resolveBySystem } = this.options;
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

  isListed(url: string, hosts: readonly string[]): boolean {
    return isListedUrl(url, hosts);
  }

  /** Throws `invalid_request`, at the place below `field`, for headers that cannot be sent. */
  checkHeaders(request: Secret<OutgoingRequest>, field: string): void {
    checkHeaders(request.expose().headers, field);
  }

  /** Returns the content of a request as bytes, which are equal for equal requests. */
  contentOf(request: Secret<OutgoingRequest>): Uint8Array {
    const { body, ...head } = request.expose();
    return Buffer.concat([Buffer.from(JSON.stringify(head)), body ?? Buffer.alloc(0)]);
  }

  lengthOf(request: Secret<OutgoingRequest>): number {
    return request.expose().body?.length ?? 0;
  }

  /** Sends a request once, to an address that is checked at that time. */
  send({ id, request, requester, ...terms }: ProxiedRequest): Promise<OutboundResult> {
    const { body, ...filled } = request.expose();
    const headers: HeaderEntries =
      requester === undefined
        ? filled.headers
        : [['Content-Type', 'application/json'], ...Object.entries(requester.headers.expose())];
    return this.outbound.send({
      ...terms,
      method: methodOf(filled),
      url: requester?.url ?? filled.url,
      hosts: requester === undefined ? terms.hosts : [],
      headers: [...headers, [REQUEST_ID, id]],
      body,
    });
  }

  /** Sends a request once, adding nothing to it but what HTTP needs. */
  relay({ request, stream, decodes, ...terms }: RelayedRequest): Promise<OutboundResult | StreamingResult> {
    const given = request.expose();
    const call = { ...terms, ...given, method: methodOf(given), bare: true } as const;
    return stream ? this.outbound.send({ ...call, stream, decodes }) : this.outbound.send(call);
  }

  /** Sends a webhook once. Only status 200 counts as delivered. */
  async deliver({ owner, hosts, url, deadlineMs, ...message }: WebhookRequest): Promise<WebhookOutcome> {
    const headers = webhookHeaders(message);
    const { body } = message;
    const result = await this.outbound.send({ owner, method: 'POST', url, hosts, headers, body, deadlineMs });
    return result.ok
      ? { delivered: isDelivered(result.status), status: result.status }
      : { ...result, delivered: false };
  }
}

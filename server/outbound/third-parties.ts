import { VaultError } from '../core/errors.ts';
import type { Secret } from '../core/secret.ts';
import { METHODS, type OutboundRequest, type OutboundResult } from './call.ts';
import { checkDestination } from './destination.ts';
import { checkHeaders, type HeaderList } from './headers.ts';
import { createOutbound, type OutboundOptions } from './https.ts';
import { resolveBySystem, resolveVetted } from './resolve.ts';
import { isDelivered, webhookHeaders } from './webhook.ts';

/** How long a name may take when a request is accepted; who is slower is asked again when it is sent. */
const VET_MS = 2_000;
const REQUEST_ID = 'X-Vault-Request-Id';

/** A request that is filled and ready to be sent. */
export interface FilledRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HeaderList;
  readonly body?: Uint8Array | undefined;
}

/** Where network tokens are asked for: its headers hold credentials. */
export interface Requester {
  readonly url: string;
  readonly headers: Secret<Readonly<Record<string, string>>>;
}

/** One attempt to send a filled request. */
export interface ProxiedRequest extends Pick<OutboundRequest, 'clientCert' | 'deadlineMs'> {
  /** Goes along as `X-Vault-Request-Id`, the same with every attempt. */
  readonly id: string;
  readonly request: Secret<FilledRequest>;
  /** Gives the URL and the headers instead of the request. The operator has chosen it: `hosts` says nothing of it. */
  readonly requester?: Requester | undefined;
  /** The hosts that the account may reach; empty: any. */
  readonly hosts: readonly string[];
}

/** A webhook and what it is to be told. */
export interface WebhookCall {
  readonly id: string;
  readonly url: string;
  readonly secret?: Secret<string> | undefined;
  readonly body: Uint8Array;
  readonly hosts: readonly string[];
  readonly timestampSeconds: number;
  readonly deadlineMs: number;
}

/** What became of a call: delivered or not, and for the log the status or the code of a failure. */
export type WebhookOutcome =
  | { readonly delivered: boolean; readonly status: number }
  | { readonly delivered: false; readonly code: string; readonly reason?: string | undefined };

/** The third parties of proxied requests: targets, requesters of network tokens, and webhooks. */
export interface ThirdParties {
  /**
   * Refuses, with `destination_refused` at `field`, a URL that is certain to be refused when it is sent to: its
   * form, its host, and the addresses that its name has now. A name that has none or takes long passes.
   */
  readonly vet: (url: string, hosts: readonly string[], field: string) => Promise<void>;
  /** Refuses headers that cannot be sent, with `invalid_request` at their place below `field`. */
  readonly checkHeaders: (request: Secret<FilledRequest>, field: string) => void;
  /** Everything of a request that its target sees, as bytes that are the same for the same request. */
  readonly contentOf: (request: Secret<FilledRequest>) => Uint8Array;
  /** Sends a request once over a new connection, to an address that is vetted at that moment. */
  readonly send: (request: ProxiedRequest) => Promise<OutboundResult>;
  /** Calls a webhook once. Only status 200 counts as delivered. */
  readonly tell: (call: WebhookCall) => Promise<WebhookOutcome>;
}

/** The orders that are sent were checked when they were read. */
const methodOf = ({ method }: FilledRequest): OutboundRequest['method'] => {
  const known = METHODS.find((name) => name === method);
  if (known === undefined) {
    throw new VaultError('internal');
  }
  return known;
};

const addressTo = ({ url, headers }: Requester): Pick<OutboundRequest, 'url' | 'headers'> => ({
  url,
  headers: [['Content-Type', 'application/json'], ...Object.entries(headers.expose())],
});

/** Builds the one way out for services; `options` are those of `createOutbound`. */
export const createThirdParties = (options: OutboundOptions): ThirdParties => {
  const { policy, resolve = resolveBySystem } = options;
  const outbound = createOutbound(options);

  const vet: ThirdParties['vet'] = async (url, hosts, field) => {
    const { host, isAddress } = checkDestination(url, { policy, hosts, field });
    if (isAddress) {
      return;
    }
    const found = await resolveVetted(host, { resolve, policy, timeoutMs: VET_MS });
    if ('code' in found && found.code === 'destination_refused') {
      throw new VaultError('destination_refused', { field });
    }
  };

  const tell: ThirdParties['tell'] = async ({ hosts, url, body, deadlineMs, ...call }) => {
    const headers = webhookHeaders({ ...call, body });
    const result = await outbound.send({ method: 'POST', url, hosts, headers, body, deadlineMs });
    return result.ok
      ? { delivered: isDelivered(result.status), status: result.status }
      : { delivered: false, code: result.code, reason: result.reason };
  };

  return Object.freeze({
    vet,
    tell,
    checkHeaders: (request: Secret<FilledRequest>, field: string) => {
      checkHeaders(request.expose().headers, { field });
    },
    contentOf: (request: Secret<FilledRequest>) => {
      const { body, ...head } = request.expose();
      return Buffer.concat([Buffer.from(JSON.stringify(head)), body ?? Buffer.alloc(0)]);
    },
    send: ({ id, request, requester, hosts, clientCert, deadlineMs }: ProxiedRequest) => {
      const filled = request.expose();
      const { url, headers } = requester === undefined ? filled : addressTo(requester);
      return outbound.send({
        method: methodOf(filled),
        url,
        hosts: requester === undefined ? hosts : [],
        headers: [...headers, [REQUEST_ID, id]],
        body: filled.body,
        clientCert,
        deadlineMs,
      });
    },
  });
};

import type { Certificates, ClientCredential } from '../certificate/certificates.ts';
import type { Connections, SealedConnection } from '../connection/connections.ts';
import type { Connection } from '../connection/schema.ts';
import { VaultError } from '../core/errors.ts';
import { type HeaderEntries, headerIn } from '../core/headers.ts';
import type { Secret } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { takesPath } from '../domain/connection/connection.ts';
import { headersToReturn } from '../domain/relay/headers.ts';
import type { Showing } from '../domain/relay/sight.ts';
import type { AsksForRoom } from '../outbound/call.ts';
import type { OutgoingRequest, ThirdParties } from '../outbound/third-parties.ts';
import { type AccountContext, senderOf } from '../request/context.ts';
import { outsideScope } from '../request/permission.ts';
import { errorOf, isOutcomeUnknown } from './outcome.ts';
import type { CallSender, LogNames } from './send.ts';

/** A connection that a request may go through, with what sending needs. */
export interface Target {
  readonly id: string;
  readonly shown: Connection;
  readonly record: SealedConnection['record'];
  readonly clientCert: ClientCredential | undefined;
}

/** A request with the headers of its connection, and what may be shown of the reply. */
export interface ReadyRequest {
  readonly request: Secret<OutgoingRequest>;
  readonly showing: Secret<Showing>;
}

/** The reply of a third party, with headers for the caller. */
export interface Forwarded {
  readonly status: number;
  readonly headers: HeaderEntries;
  readonly body: Uint8Array | ReadableStream<Uint8Array>;
}

/** How a request is sent. */
interface Sending {
  readonly target: Target;
  /** The method of the caller: HEAD is sent as GET. */
  readonly method: string;
  readonly room: AsksForRoom;
  /** Returns the reply with its head; otherwise it is read whole, and decoded. */
  readonly stream: boolean;
}

const DEADLINE_MS = 20_000;
/** Escapes in a path that a third party may decode twice, or that may end a line of its log. */
const NOT_IN_PATH = /%(?:25|[01][\da-f]|7f)/i;

/** Sends requests through connections, for the relay and for inbounds. */
export class Forwarder {
  constructor(
    private readonly crypto: Crypto,
    private readonly thirdParties: ThirdParties,
    private readonly connections: Connections,
    private readonly certificates: Certificates,
    private readonly sender: CallSender,
  ) {}

  /**
   * Returns the connection for a request, before anything of it is used. Rejects with `path_invalid`, `connection_not_found`,
   * `certificate_not_found`, or `not_allowed` by the caller's hosts or the connection's methods and paths.
   */
  async targetOf(
    { account }: AccountContext,
    id: string,
    { method, path }: { readonly method: string; readonly path: string },
  ): Promise<Target> {
    if (NOT_IN_PATH.test(path)) {
      throw new VaultError('path_invalid', { field: 'path' });
    }
    const { shown, record } = await this.connections.find(account.aid, id);
    const { methods, paths, base_url: url, client_cert_id: certId } = shown;
    const { credential } = account;
    if (credential?.hosts !== undefined && !this.thirdParties.isListed(url, credential.hosts)) {
      throw outsideScope(account, 'the host of this connection');
    }
    if (methods !== undefined && !methods.some((allowed) => allowed === method)) {
      throw new VaultError('not_allowed', {
        field: 'method',
        expected: 'must be among the `methods` of the connection',
      });
    }
    if (!takesPath({ paths }, path)) {
      throw new VaultError('not_allowed', {
        field: 'path',
        expected: 'must be among the `paths` of the connection, or below one of them',
      });
    }
    const clientCert = certId === undefined ? undefined : await this.certificates.find(account.aid, certId);
    if (certId !== undefined && clientCert === undefined) {
      throw new VaultError('certificate_not_found', { field: 'connection' });
    }
    return { id, shown, record, clientCert };
  }

  /** Sends a request once. Rejects with `target_unreachable`, `target_timeout`, `outcome_unknown` or `reply_too_large`. */
  async send(
    { account, requestId }: AccountContext,
    { request, showing }: ReadyRequest,
    { target, method, room, stream }: Sending,
  ): Promise<Forwarded & { readonly names: LogNames }> {
    const { id, shown, clientCert } = target;
    const names = { request_id: requestId, account: account.name, connection: id };
    const startedAt = performance.now();
    const result = await this.thirdParties.relay({
      ...{ owner: senderOf(account.aid, account.credential?.id), hosts: account.hosts },
      ...{ request, clientCert, room, stream },
      deadlineMs: shown.timeout_ms ?? DEADLINE_MS,
      decodes: stream && this.crypto.passTo(showing, ({ secrets }) => secrets.length > 0),
    });
    this.sender.recordAttempt(names, 1, startedAt, result);
    if (!result.ok) {
      throw errorOf(result.code, isOutcomeUnknown(result));
    }
    const { status, headers: given, body } = result;
    const back = headersToReturn(given);
    // Without a body, a length is that of the reply to GET.
    const length = method === 'HEAD' ? headerIn(given, 'content-length') : undefined;
    const headers: HeaderEntries = length === undefined ? back : [...back, ['Content-Length', length]];
    return { status, headers, body, names };
  }
}

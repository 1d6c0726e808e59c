import type { Forwarded, Forwarder, ReadyRequest, Target } from '../call/forward.ts';
import { CallRoom } from '../call/room.ts';
import { VaultError } from '../core/errors.ts';
import { type HeaderEntries, headerIn } from '../core/headers.ts';
import type { Secret } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import type { RelayRequest } from '../domain/relay/fill.ts';
import { headersToSend } from '../domain/relay/headers.ts';
import { sourceOf } from '../domain/text/network.ts';
import type { EndpointAddress, EndpointAuth, OpenEndpoint } from '../endpoint/auth.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { AsksForRoom } from '../outbound/call.ts';
import type { ThirdParties } from '../outbound/third-parties.ts';
import { type AccountContext, actFor, type RequestContext, rejectAbandoned } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import type { InboundCards } from './cards.ts';
import { locationBelow } from './location.ts';
import { inboundOf, STORED_HEADER } from './settings.ts';

/** A request to an inbound. */
interface InboundRequest extends EndpointAddress, RelayRequest {
  readonly body: Uint8Array;
  /** The URL of the inbound, to which senders append their paths. */
  readonly url: string;
}

/** The reply of the merchant. */
interface InboundReply extends Forwarded {
  /** Secrets of the connection, which must still be removed from it. */
  readonly secrets: Secret<readonly string[]>;
}

const ENDPOINT_SECRET = /v[cr]s1_/;
const CREDENTIAL_SECRET = /vak1_/;

/** Takes requests for a merchant, stores their cards, and forwards them with tokens. */
export class InboundUses {
  constructor(
    private readonly crypto: Crypto,
    private readonly thirdParties: ThirdParties,
    private readonly auth: EndpointAuth,
    private readonly cards: InboundCards,
    private readonly forwarder: Forwarder,
    private readonly limiter: Limiter,
    private readonly metering: Metering,
  ) {}

  /**
   * Stores the cards of a request, and forwards it once if all of them are stored. Rejects as the authentication does, with what is
   * wrong with the message, `not_allowed`, `destination_refused`, `redirect_refused`, and as the relay does.
   */
  async use(ctx: RequestContext, request: InboundRequest): Promise<InboundReply> {
    // The call itself has room of its own.
    const endpoint = await this.limiter.run('write', sourceOf(ctx.ip), () =>
      this.auth.admit(ctx, 'inbound', request),
    );
    const owner = actFor(ctx, endpoint.account);
    owner.endpointId = endpoint.id;
    try {
      return await this.pass(owner, endpoint, { ...request, headers: headersOf(request.headers) });
    } catch (error) {
      await this.auth.recordFailure(owner, endpoint, 'encrypt', undefined, error);
      throw error;
    }
  }

  private async pass(
    ctx: AccountContext,
    endpoint: OpenEndpoint,
    request: InboundRequest,
  ): Promise<InboundReply> {
    const { connection } = inboundOf(endpoint);
    const target = await this.forwarder.targetOf(ctx, connection, request);
    this.requireOpen(ctx, target);
    return new CallRoom(this.limiter, ctx.account.aid, request.body.length).hold(async (room) => {
      const { stored, ...ready } = await this.auth.whileLive(endpoint, (key) =>
        this.store(ctx, { ...endpoint, key }, target, request),
      );
      await this.metering.countNow(ctx, 'proxy_attempt');
      rejectAbandoned(ctx);
      const reply = await this.send(ctx, target, ready, request, room);
      const headers: HeaderEntries = [...reply.headers, [STORED_HEADER, String(stored)]];
      return { ...reply, headers, secrets: ready.showing.map(({ secrets }) => secrets) };
    });
  }

  /** Rejects a connection that takes no requests of inbounds, or to a host that the account may not send to. */
  private requireOpen({ account: { hosts } }: AccountContext, { shown }: Target): void {
    const field = 'connection';
    if (shown.inbound !== true) {
      throw new VaultError('not_allowed', {
        field,
        expected: 'of the inbound takes no requests of inbounds',
      });
    }
    if (!this.thirdParties.isListed(shown.base_url, hosts)) {
      const expected = 'must have a host that the account may send data to';
      throw new VaultError('destination_refused', { field, expected });
    }
  }

  /** Stores the cards of a request. Returns the request with their tokens. */
  private store(
    ctx: AccountContext,
    endpoint: OpenEndpoint,
    target: Target,
    { secret, body, method, path, query, headers }: InboundRequest,
  ) {
    const { id, key, records } = endpoint;
    const own = { endpoint: { id, gen: key.gen }, connection: target.id, method, path, query, headers };
    return this.cards.store(ctx, key, inboundOf(endpoint), (params) =>
      this.crypto.takeRequest({
        params: { ...params, ...own },
        records,
        secret,
        connection: target.record,
        body,
      }),
    );
  }

  /** Sends the request. A redirection within the connection becomes one within the inbound; any other is rejected. */
  private async send(
    ctx: AccountContext,
    target: Target,
    ready: ReadyRequest,
    { method, path, query, url }: InboundRequest,
    room: AsksForRoom,
  ): Promise<Forwarded> {
    const reply = await this.forwarder.send(ctx, ready, { target, method, room, stream: true });
    const { status, headers, body } = reply;
    if (status < 300 || status > 399) {
      return { status, headers, body };
    }
    const base = target.shown.base_url;
    const rewritten: (readonly [string, string])[] = [];
    for (const [name, value] of headers) {
      const isLocation = name.toLowerCase() === 'location';
      const location = isLocation ? locationBelow(value, `${base}${path}${query}`, base, url) : value;
      if (location === undefined) {
        await (body instanceof ReadableStream ? body.cancel().catch(() => undefined) : undefined);
        throw new VaultError('redirect_refused');
      }
      rewritten.push([name, location]);
    }
    return { status, headers: rewritten, body };
  }
}

/** The text in an Authorization header in which a secret may be. */
function credentialsIn(authorization: string): string {
  const [, encoded = ''] = /^basic +([A-Za-z0-9+/]+={0,2})$/i.exec(authorization) ?? [];
  return `${authorization} ${Buffer.from(encoded, 'base64').toString('latin1')}`;
}

/**
 * The headers that go on. An Authorization goes on that holds no secret of an endpoint; one with the secret of a credential is a
 * mistake of the sender.
 */
function headersOf(headers: HeaderEntries): HeaderEntries {
  const sent = headersToSend(headers);
  const authorization = headerIn(headers, 'authorization');
  if (authorization === undefined) {
    return sent;
  }
  const text = credentialsIn(authorization);
  if (CREDENTIAL_SECRET.test(text)) {
    const expected = 'must not hold the secret of a credential: the merchant would get it';
    throw new VaultError('invalid_request', { field: 'header.Authorization', expected });
  }
  return ENDPOINT_SECRET.test(text) ? sent : [...sent, ['Authorization', authorization]];
}

import type { CallBounds } from '../call/bounds.ts';
import { errorOf, isOutcomeUnknown } from '../call/outcome.ts';
import type { CallSender } from '../call/send.ts';
import type { Certificates, ClientCredential } from '../certificate/certificates.ts';
import type { Connections } from '../connection/connections.ts';
import type { Connection } from '../connection/schema.ts';
import type { Clock } from '../core/clock.ts';
import { recover } from '../core/concurrency.ts';
import { VaultError } from '../core/errors.ts';
import { type HeaderEntries, headerIn } from '../core/headers.ts';
import type { Secret, SecretBytes } from '../core/secret.ts';
import type { Crypto, WarmBlob } from '../crypto/client.ts';
import { takesPath } from '../domain/connection/connection.ts';
import { type RelayRequest, textsOf } from '../domain/relay/fill.ts';
import { headersToReturn, headersToSend } from '../domain/relay/headers.ts';
import { findPlaceholders, tokensOf } from '../domain/relay/placeholder.ts';
import { type Showing, staysAsItIs } from '../domain/relay/sight.ts';
import { done, type KeyOpener, type KeyRef } from '../key/opener.ts';
import type { AsksForRoom } from '../outbound/call.ts';
import type { RelayedRequest, ThirdParties } from '../outbound/third-parties.ts';
import type { Fenced } from '../redis/records/fence.ts';
import { type Account, type AccountContext, actorOf, confirmAccount, senderOf } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import { outsideScope, requireKey, sightOf } from '../request/permission.ts';
import type { ItemReader, ReadParts } from '../vault/reader.ts';
import type { Rejections } from '../vault/rejections.ts';
import type { ItemParts, ItemStore } from '../vault/store/items.ts';

/** Takes the secrets of a connection out of a reply, for the layer that may see them. */
export { withoutSecretsInPassing } from '../domain/relay/sight.ts';

/** A request to be sent on through a connection. */
export interface RelayInput extends RelayRequest {
  /** The id of the connection. */
  readonly connection: string;
  readonly user: string;
  readonly passphrase: SecretBytes;
  readonly body: Uint8Array;
}

/** The reply of a third party, as its caller gets it. */
export interface Relayed {
  readonly status: number;
  readonly headers: HeaderEntries;
  readonly body: Uint8Array | ReadableStream<Uint8Array>;
  /** The connection's own values, which must still be hidden in it. */
  readonly secrets?: Secret<readonly string[]>;
}

/** A filled request. */
type Ready = Extract<Awaited<ReturnType<Crypto['fillRelay']>>, { readonly kind: 'ready' }>;

/** A request to be filled from the items of its tokens. */
interface Filling {
  readonly input: RelayInput;
  readonly tokens: readonly string[];
  /** The connection, sealed. */
  readonly record: Uint8Array;
  readonly readParts: ReadParts;
}

interface Sending {
  readonly input: RelayInput;
  readonly key: KeyRef;
  readonly tokens: readonly string[];
  readonly ready: Ready;
  readonly shown: Connection;
  readonly clientCert: ClientCredential | undefined;
  readonly room: AsksForRoom;
}

const DEADLINE_MS = 20_000;
/** Escapes in a path that a third party may decode twice, or that may end a line of its log. */
const NOT_IN_PATH = /%(?:25|[01][\da-f]|7f)/i;

/** `Retry-After` in one of the forms that RFC 9110 has: seconds, or a date. */
const RETRY_AFTER = /^(?:\d{1,10}|[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT)$/;

/** Requests that pass through: a payment service's own, with placeholders that become stored values on the way. */
export class Relay {
  constructor(
    private readonly itemStore: ItemStore,
    private readonly crypto: Crypto,
    private readonly thirdParties: ThirdParties,
    private readonly keys: KeyOpener,
    private readonly connections: Connections,
    private readonly certificates: Certificates,
    private readonly reader: ItemReader,
    private readonly rejections: Rejections,
    private readonly sender: CallSender,
    private readonly bounds: CallBounds,
    private readonly metering: Metering,
    private readonly now: Clock,
  ) {}

  /**
   * Sends a request on, once, with the headers of its connection and with stored values for its placeholders; the use of
   * each item is logged before. Returns the reply with the numbers that were sent masked. Rejects with
   * `connection_not_found`, `not_allowed`, `placeholder_unknown`, and as the proxy does.
   */
  async relay(ctx: AccountContext, given: RelayInput): Promise<Relayed> {
    const { account } = ctx;
    // Headers that are not sent on are not searched for placeholders.
    const input = { ...given, headers: headersToSend(given.headers) };
    requireKey(account, input.user);
    const tokens = namedTokens(input);
    const readParts = this.reader.startReads(account, input.user, tokens);
    const { shown, record } = await this.connections.find(account.aid, input.connection);
    requireAllowed(this.thirdParties, account, shown, input);
    const { client_cert_id: clientCertId } = shown;
    const clientCert =
      clientCertId === undefined ? undefined : await this.certificates.find(account.aid, clientCertId);
    if (clientCertId !== undefined && clientCert === undefined) {
      throw new VaultError('certificate_not_found', { field: 'connection' });
    }
    const { room, leave } = this.bounds.enter(account.aid, input.body.length);
    try {
      const { key, ready } = await this.fill(ctx, { input, tokens, record, readParts });
      await this.metering.settleAhead(ctx, 'proxy_attempt');
      const reply = await this.send(ctx, { input, key, tokens, ready, shown, clientCert, room });
      if (reply.body instanceof ReadableStream) {
        return { ...reply, body: leaveWhenRead(reply.body, leave) };
      }
      leave();
      return reply;
    } catch (error) {
      leave();
      throw error;
    }
  }

  /** Fills a request, and logs the use of its items; an error is in the log of each item that the request names. */
  private async fill(
    ctx: AccountContext,
    filling: Filling,
  ): Promise<{ readonly key: KeyRef; readonly ready: Ready }> {
    const { input, tokens } = filling;
    const { user, passphrase } = input;
    try {
      const filled = await this.keys.withUnlocked(ctx, user, passphrase, (key, blob) =>
        this.fillUnder(ctx, filling, key, blob),
      );
      if (filled instanceof VaultError) {
        this.rejections.ignore(filled);
        throw filled;
      }
      return filled;
    } catch (error) {
      for (const token of tokens) {
        this.rejections.record(ctx, { user, token }, 'decrypt', error);
      }
      const isUnknownKey = error instanceof VaultError && error.code === 'key_not_found';
      throw isUnknownKey ? new VaultError(error.code, { field: 'header.X-Vault-User' }) : error;
    }
  }

  /** Fills a request under its key. The result may be an error, too, whose entries are in the logs. */
  private async fillUnder(
    ctx: AccountContext,
    { input, tokens, record, readParts }: Filling,
    key: KeyRef,
    blob: WarmBlob,
  ) {
    const { connection, method, path, query, headers, body } = input;
    const { aid, kid } = key;
    const request = { connection, method, path, query, headers, sight: sightOf(ctx.account) };
    const opening = { kind: 'warm', blob, secret: input.passphrase } as const;
    const made = await this.readAndFill(key, tokens, readParts, (found) => {
      const stored = found.flatMap((item) => (item === undefined ? [] : [item]));
      const existing = tokens.filter((_, at) => found[at] !== undefined);
      const items = existing.map((token, at) => ({ token, seen: stored[at]?.logLength ?? 0 }));
      const params = { ...actorOf(ctx, this.now()), aid, kid, ...request, items };
      return this.crypto.fillRelay({ params, opening, connection: record, items: stored, body });
    });
    if (!('logEntries' in made)) {
      return made;
    }
    await confirmAccount(ctx);
    if (made.kind === 'ready') {
      this.metering.countAhead(ctx, 'proxy_attempt');
    }
    const logged = await this.logUses(key, tokens, made.logEntries);
    return logged ?? done(made.kind === 'ready' ? { key, ready: made } : made.error);
  }

  /** Fills by all items as they were read, as `ItemReader.readAndOpen` does of one. Items that do not exist are undefined. */
  private async readAndFill<T>(
    { kid, gen }: KeyRef,
    tokens: readonly string[],
    readParts: ReadParts,
    fillBy: (found: readonly (ItemParts | undefined)[]) => Promise<T>,
  ): Promise<T | Fenced> {
    const found = await Promise.all(tokens.map((token) => readParts(kid, token)));
    const filled = found.includes(undefined)
      ? undefined
      : await recover(fillBy(found), 'integrity_failed', undefined);
    if (filled !== undefined) {
      return filled;
    }
    const again = await Promise.all(tokens.map((token) => this.itemStore.read(kid, token, gen)));
    const fenced = again.find((item): item is Fenced => item !== undefined && item.kind !== 'item');
    return fenced ?? fillBy(again.map((item) => (item?.kind === 'item' ? item : undefined)));
  }

  /** Logs the use of the items that were opened; returns why that must be tried again. An item that has gone is unknown. */
  private async logUses(
    { kid, gen }: KeyRef,
    tokens: readonly string[],
    entries: readonly Uint8Array[],
  ): Promise<Fenced | undefined> {
    const logged = await Promise.all(
      tokens.map((token, at) => {
        const entry = entries[at];
        return entry === undefined || entry.length === 0
          ? undefined
          : this.itemStore.appendOne(kid, token, entry, gen);
      }),
    );
    for (const result of logged) {
      if (result !== undefined && result.kind !== 'appended') {
        return result;
      }
      if (result?.present[0] === false) {
        throw new VaultError('placeholder_unknown');
      }
    }
    return undefined;
  }

  /** Makes the one attempt, and returns its reply. */
  private async send(ctx: AccountContext, sending: Sending): Promise<Relayed> {
    const { crypto } = this;
    const { aid } = ctx.account;
    const { input, key, tokens, ready } = sending;
    const { showing } = ready;
    const names = { request_id: ctx.requestId, account: ctx.account.name, connection: input.connection };
    const startedAt = performance.now();
    const result = await this.thirdParties.relay(this.requestOf(ctx.account, sending));
    this.sender.recordAttempt(names, 1, startedAt, result);
    if (!result.ok) {
      throw errorOf(result.code, isOutcomeUnknown(result));
    }
    const { status, headers: given, body } = result;
    await this.sender.dropSad(status, { aid, kid: key.kid }, tokens, names);
    const back = headersToReturn(given);
    // Without a body, a length is that of the reply to GET.
    const length = input.method === 'HEAD' ? headerIn(given, 'content-length') : undefined;
    const headers: HeaderEntries = length === undefined ? back : [...back, ['Content-Length', length]];
    if (!(body instanceof Uint8Array) || crypto.passes(showing, isPassedOn)) {
      return { status, headers, body, secrets: showing.map(({ secrets }) => secrets) };
    }
    if (crypto.passes(showing, (by) => staysAsItIs({ status, headers, body }, by))) {
      return { status, headers, body };
    }
    const shown = await crypto.showRelay({ aid, showing, status, headers, body });
    return shown.withheld
      ? { status, headers: withheldHeaders(headers, shown.body), body: shown.body }
      : { status, headers: shown.headers, body: shown.body };
  }

  private requestOf(
    { aid, credential, hosts }: Account,
    { ready: { request, showing }, shown, clientCert, room }: Sending,
  ): RelayedRequest {
    const { crypto } = this;
    const owner = senderOf(aid, credential?.id);
    const deadlineMs = shown.timeout_ms ?? DEADLINE_MS;
    // A reply that must be read to be shown is read whole.
    const stream = crypto.passes(showing, isPassedOn);
    const decodes = stream && crypto.passes(showing, ({ secrets }) => secrets.length > 0);
    return { owner, hosts, request, clientCert, deadlineMs, room, stream, decodes };
  }
}

/** Rejects a request that the connection, or the credential of the caller, does not allow. */
function requireAllowed(
  thirdParties: ThirdParties,
  { credential }: Account,
  { methods, paths, base_url: url }: Connection,
  { method, path }: RelayRequest,
): void {
  if (credential?.hosts !== undefined && !thirdParties.isListed(url, credential.hosts)) {
    throw outsideScope('the host of this connection');
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
}

/** The tokens that a request names. Rejects a path that could be read in two ways, and placeholders in the path, where logs of third parties would have the value. */
function namedTokens(input: RelayInput): readonly string[] {
  if (NOT_IN_PATH.test(input.path)) {
    throw new VaultError('path_invalid', { field: 'path' });
  }
  if (findPlaceholders(input.path, 'path', 'encoded').length > 0) {
    const expected = 'must have no placeholders, which third parties would log';
    throw new VaultError('invalid_request', { field: 'path', expected });
  }
  const { buffer, byteOffset, length } = input.body;
  const { query, headers, body } = textsOf(input, Buffer.from(buffer, byteOffset, length).toString('latin1'));
  return tokensOf([query, ...headers, body]);
}

/** Passes a body on, and calls `leave` when it has ended or is cancelled. */
function leaveWhenRead(body: ReadableStream<Uint8Array>, leave: () => void): ReadableStream<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  // The reader of the body gets its error.
  body.pipeTo(writable).then(leave, leave);
  return readable;
}

/** The headers of a reply of which only named members are shown. */
function withheldHeaders(headers: HeaderEntries, body: Uint8Array): HeaderEntries {
  const retryAfter = headerIn(headers, 'retry-after')?.trim();
  return [
    ...(body.length > 0 ? [['Content-Type', 'application/json'] as const] : []),
    ...(retryAfter !== undefined && RETRY_AFTER.test(retryAfter)
      ? [['Retry-After', retryAfter] as const]
      : []),
    ['X-Vault-Withheld', 'true'],
  ];
}

/** Whether a reply goes through as it comes, but for the secrets of its connection. */
function isPassedOn({ sight, sent }: Showing): boolean {
  return sight === 'all' && sent.length === 0;
}

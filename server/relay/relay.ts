import type { Forwarded, Forwarder, Target } from '../call/forward.ts';
import { CallRoom } from '../call/room.ts';
import type { CallSender } from '../call/send.ts';
import type { Clock } from '../core/clock.ts';
import { VaultError } from '../core/errors.ts';
import { type HeaderEntries, headerIn } from '../core/headers.ts';
import type { Secret, SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import { type RelayRequest, textsOf } from '../domain/relay/fill.ts';
import { headersToSend } from '../domain/relay/headers.ts';
import { findPlaceholders, tokensOf } from '../domain/relay/placeholder.ts';
import { type Reply, type Showing, staysAsItIs } from '../domain/relay/sight.ts';
import type { InboundReplies } from '../inbound/replies.ts';
import { type CardSettings, STORED_HEADER } from '../inbound/settings.ts';
import { done, type KeyOpener, type KeyRef } from '../key/opener.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { AsksForRoom } from '../outbound/call.ts';
import type { Fenced } from '../redis/records/fence.ts';
import { type AccountContext, actorOf, rejectAbandoned } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import { requireKey, sightOf } from '../request/permission.ts';
import type { ItemReader, ReadParts } from '../vault/reader.ts';
import type { Rejections } from '../vault/rejections.ts';
import type { ItemParts, ItemStore } from '../vault/store/items.ts';

/** A request to be forwarded through a connection. */
export interface RelayInput extends RelayRequest {
  readonly connection: string;
  readonly user: string;
  readonly passphrase: SecretBytes;
  readonly body: Uint8Array;
}

/** The reply of a third party for the caller. */
export interface Relayed extends Forwarded {
  /** Secrets of the connection, which must still be removed from it. */
  readonly secrets?: Secret<readonly string[]>;
}

type Ready = Extract<Awaited<ReturnType<Crypto['fillRelay']>>, { readonly kind: 'ready' }>;

interface Sending {
  readonly input: RelayInput;
  readonly key: KeyRef;
  readonly tokens: readonly string[];
  readonly ready: Ready;
  readonly target: Target;
  /** Stores the cards of the reply. */
  readonly inbound: CardSettings | undefined;
  readonly room: AsksForRoom;
}

const INBOUND_HEADER = 'x-vault-inbound';

/** `Retry-After` as seconds or a date (RFC 9110). */
const RETRY_AFTER = /^(?:\d{1,10}|[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT)$/;

/** Forwards requests of payment services, and replaces their placeholders by stored values. */
export class Relay {
  constructor(
    private readonly itemStore: ItemStore,
    private readonly crypto: Crypto,
    private readonly keys: KeyOpener,
    private readonly reader: ItemReader,
    private readonly rejections: Rejections,
    private readonly sender: CallSender,
    private readonly forwarder: Forwarder,
    private readonly replies: InboundReplies,
    private readonly limiter: Limiter,
    private readonly metering: Metering,
    private readonly now: Clock,
  ) {}

  /**
   * Forwards a request once, with the headers of its connection and with stored values for its placeholders, after logging
   * the use of each item. Returns the reply with the sent numbers masked. Rejects with `connection_not_found`,
   * `not_allowed`, `placeholder_unknown`, and as the proxy does.
   */
  async relay(ctx: AccountContext, given: RelayInput): Promise<Relayed> {
    const { account } = ctx;
    // Headers that are not forwarded are not searched for placeholders.
    const input = { ...given, headers: headersToSend(given.headers) };
    requireKey(account, input.user);
    const tokens = namedTokens(input);
    const readParts = this.reader.startReads(account, input.user, tokens);
    const target = await this.forwarder.targetOf(ctx, input.connection, input);
    const inboundId = headerIn(given.headers, INBOUND_HEADER);
    const inbound =
      inboundId === undefined
        ? undefined
        : await this.replies.settingsOf(ctx, inboundId, given, target.shown);
    return new CallRoom(this.limiter, account.aid, input.body.length).hold(async (room) => {
      const storesReply = inbound !== undefined;
      const { key, ready } = await this.fill(ctx, input, tokens, target.record, readParts, storesReply);
      return this.send(ctx, { input, key, tokens, ready, target, room, inbound });
    });
  }

  /** Fills a request, and logs the use of its items; an error is logged for each item that the request names. */
  private async fill(
    ctx: AccountContext,
    input: RelayInput,
    tokens: readonly string[],
    sealedConnection: Uint8Array,
    readParts: ReadParts,
    storesReply: boolean,
  ): Promise<{ readonly key: KeyRef; readonly ready: Ready }> {
    const { user, passphrase, connection, method, path, query, headers, body } = input;
    const sight = sightOf(ctx.account);
    const request = { connection, method, path, query, headers, sight, storesReply };
    try {
      const filled = await this.keys.withUnlocked(ctx, user, passphrase, async (key, blob) => {
        const opening = { kind: 'warm', blob, secret: passphrase } as const;
        const now = this.now();
        const made = await this.readAndFill(key, tokens, readParts, (found) => {
          const existing = tokens.flatMap((token, at) => {
            const item = found[at];
            return item === undefined ? [] : [{ token, item }];
          });
          const seen = existing.map(({ token, item }) => ({ token, seen: item.logLength }));
          const { aid, kid } = key;
          const params = { ...actorOf(ctx, now), aid, kid, ...request, items: seen };
          const items = existing.map(({ item }) => item);
          return this.crypto.fillRelay({ params, opening, connection: sealedConnection, items, body });
        });
        if (!('logEntries' in made)) {
          return made;
        }
        rejectAbandoned(ctx);
        const isReady = made.kind === 'ready';
        const readAt = isReady ? now : undefined;
        const logged = await this.logUses(ctx, key, tokens, made.logEntries, readAt);
        return logged ?? done(isReady ? { key, ready: made } : made.error);
      });
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

  /** Fills with all items, as `ItemReader.readAndOpen` does with one. Unknown items are undefined. */
  private async readAndFill<T>(
    { kid, gen }: KeyRef,
    tokens: readonly string[],
    readParts: ReadParts,
    fillBy: (found: readonly (ItemParts | undefined)[]) => Promise<T>,
  ): Promise<T | Fenced> {
    const found = await Promise.all(tokens.map((token) => readParts(kid, token)));
    try {
      return await fillBy(found);
    } catch (error) {
      const code = error instanceof VaultError ? error.code : undefined;
      const isOfItem = code === 'integrity_failed' || code === 'placeholder_unknown';
      for (const token of isOfItem ? tokens : []) {
        const fenced = await this.itemStore.fenceOf(this.itemStore.bucketOf(kid, token), gen);
        if (fenced) {
          return fenced;
        }
      }
      throw error;
    }
  }

  /**
   * Logs the use of the opened items, and counts the attempt of a request that is sent, which has read them at `readAt`: the
   * script that logs its only item counts it, otherwise it is counted once all are logged. Returns a reason to retry. Rejects if
   * an item is gone.
   */
  private async logUses(
    ctx: AccountContext,
    { kid, gen }: KeyRef,
    tokens: readonly string[],
    entries: readonly Uint8Array[],
    readAt: number | undefined,
  ): Promise<Fenced | undefined> {
    const isSent = readAt !== undefined;
    const used = tokens.flatMap((token, at) => {
      const entry = entries[at];
      return entry === undefined || entry.length === 0 ? [] : [{ token, entry }];
    });
    const byScript = isSent && used.length === 1;
    const count = byScript ? this.metering.fieldOf('proxy_attempt') : undefined;
    const logged = await Promise.all(
      used.map(({ token, entry }) => this.itemStore.appendOne(kid, token, entry, gen, count, readAt)),
    );
    for (const result of logged) {
      if (result.kind !== 'appended') {
        return result;
      }
      if (result.present[0] === false) {
        throw new VaultError('placeholder_unknown');
      }
    }
    if (byScript) {
      this.metering.counted('proxy_attempt', 1);
    } else if (isSent) {
      await this.metering.countNow(ctx, 'proxy_attempt');
    }
    return undefined;
  }

  private async send(ctx: AccountContext, sending: Sending): Promise<Relayed> {
    const { crypto } = this;
    const { aid } = ctx.account;
    const { input, key, tokens, ready, target, room, inbound } = sending;
    const { showing } = ready;
    // A reply that must be read to be shown is read whole.
    const stream = inbound === undefined && crypto.passTo(showing, isPassedOn);
    const { method } = input;
    const reply = await this.forwarder.send(ctx, ready, { target, method, room, stream });
    const { status, names } = reply;
    const items = tokens.map((token) => ({ aid, kid: key.kid, token }));
    await this.sender.dropSad(status, items, names);
    if (!(reply.body instanceof Uint8Array) || stream) {
      const { headers, body } = reply;
      return { status, headers, body, secrets: showing.map(({ secrets }) => secrets) };
    }
    const whole = { headers: reply.headers, body: reply.body };
    if (inbound === undefined) {
      return this.show(aid, showing, { status, ...whole });
    }
    const { stored, ...taken } = await this.replies.store(ctx, inbound, input, input.passphrase, whole);
    const shown = await this.show(aid, showing, { status, ...taken });
    return { ...shown, headers: [...shown.headers, [STORED_HEADER, String(stored)]] };
  }

  /** Returns a reply that was read whole as its caller may see it. */
  private async show(aid: string, showing: Ready['showing'], reply: Reply): Promise<Relayed> {
    const { status, headers, body, tokens = [] } = reply;
    if (this.crypto.passTo(showing, (by) => staysAsItIs(reply, by))) {
      return reply;
    }
    const shown = await this.crypto.showRelay({ aid, showing, status, headers, body, tokens });
    return shown.withheld
      ? { status, headers: withheldHeaders(headers, shown.body), body: shown.body }
      : { status, headers: shown.headers, body: shown.body };
  }
}

/** The tokens that a request names. Rejects placeholders in the path, which third parties would log. */
function namedTokens(input: RelayInput): readonly string[] {
  if (findPlaceholders(input.path, 'path', 'encoded').length > 0) {
    const expected = 'must have no placeholders, which third parties would log';
    throw new VaultError('invalid_request', { field: 'path', expected });
  }
  const { buffer, byteOffset, length } = input.body;
  const { query, headers, body } = textsOf(input, Buffer.from(buffer, byteOffset, length).toString('latin1'));
  return tokensOf([query, ...headers, body]);
}

/** The headers of a reply whose caller sees named members only. */
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

/** Tells whether a reply is passed on unread, except for the secrets of its connection. */
function isPassedOn({ sight, sent }: Showing): boolean {
  return sight === 'all' && sent.length === 0;
}

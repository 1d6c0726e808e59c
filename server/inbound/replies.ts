import type { WarmMiss } from '../../workers/jobs/key/jobs.ts';
import type { Connection } from '../connection/schema.ts';
import { VaultError } from '../core/errors.ts';
import type { HeaderEntries } from '../core/headers.ts';
import type { SecretBytes } from '../core/secret.ts';
import type { Crypto } from '../crypto/client.ts';
import type { Endpoints } from '../endpoint/endpoints.ts';
import type { KeyOpener } from '../key/opener.ts';
import type { AccountContext } from '../request/context.ts';
import { requireScope } from '../request/permission.ts';
import type { InboundCards } from './cards.ts';
import { type CardSettings, inboundOf } from './settings.ts';

/** A relayed request whose reply has cards to store. */
interface Wanted {
  readonly connection: string;
  readonly user: string;
}

/** A reply that was read whole, and decoded. */
interface WholeReply {
  readonly headers: HeaderEntries;
  readonly body: Uint8Array;
}

type TakenReply = Extract<Awaited<ReturnType<Crypto['takeReply']>>, { readonly kind: 'taken' }>;

const FIELD = 'header.X-Vault-Inbound';

/** Stores the cards of replies to relayed requests, by the rules of an inbound. */
export class InboundReplies {
  constructor(
    private readonly crypto: Crypto,
    private readonly keys: KeyOpener,
    private readonly endpoints: Endpoints,
    private readonly cards: InboundCards,
  ) {}

  /**
   * Returns the rules of an inbound before its request is sent. Rejects a caller without `proxy:fetch`, an inbound that is unknown or of
   * another connection or key, with `endpoint_gone` one that is over, and with `not_allowed` a connection without `inbound`.
   */
  async settingsOf(
    { account }: AccountContext,
    id: string,
    { connection, user }: Wanted,
    shown: Connection,
  ): Promise<CardSettings> {
    requireScope(account, 'proxy:fetch');
    const found = await this.endpoints.read(account.aid, 'inbound', id).catch((error: unknown) => {
      const isUnknown = error instanceof VaultError && error.code === 'endpoint_not_found';
      throw isUnknown ? otherInbound() : error;
    });
    const settings = inboundOf(found);
    const { policy, isOver } = found;
    if (settings.connection !== connection || policy.user !== user) {
      throw otherInbound();
    }
    const key = await this.keys.find(account, user);
    if (isOver || key.kid !== policy.kid || key.gen !== policy.gen) {
      throw new VaultError('endpoint_gone');
    }
    if (shown.inbound !== true) {
      const expected = 'must be of a connection with `inbound` set to `true`';
      throw new VaultError('not_allowed', { field: FIELD, expected });
    }
    return settings;
  }

  /** Stores the cards of a reply, and returns it with their tokens. Rejects with `reply_not_storable`. */
  async store(
    ctx: AccountContext,
    settings: CardSettings,
    { user }: Wanted,
    passphrase: SecretBytes,
    { headers, body }: WholeReply,
  ): Promise<WholeReply & { readonly stored: number; readonly tokens: readonly string[] }> {
    const actor = { ...ctx, source: 'inbound', endpointId: settings.id } as const;
    try {
      const taken = await this.keys.withUnlocked(ctx, user, passphrase, (key, blob) =>
        this.cards.store<TakenReply, WarmMiss>(actor, key, settings, (params) =>
          this.crypto.takeReply({ params: { ...params, headers }, blob, passphrase, body }),
        ),
      );
      return {
        ...{ headers: taken.headers, body: taken.body, stored: taken.stored },
        tokens: taken.items.map(({ facts }) => facts.token),
      };
    } catch (error) {
      const isOfReply = error instanceof VaultError && error.status < 500;
      throw isOfReply ? new VaultError('reply_not_storable', { cause: error }) : error;
    }
  }
}

function otherInbound(): VaultError {
  const expected = 'must be the id of an inbound of this connection and this key';
  return new VaultError('invalid_request', { field: FIELD, expected });
}

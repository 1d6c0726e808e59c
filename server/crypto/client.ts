import { createHmac, randomBytes } from 'node:crypto';
import {
  type CaptureParams,
  type CardFacts,
  type CreateEndpointParams,
  type DecryptItemsParams,
  type DescribeItemParams,
  type EndpointParams,
  type EndpointPolicy,
  type KeyFacts,
  type KeyParams,
  KIND,
  type ListParams,
  type OpenParams,
  type ReadLogParams,
  type SealLogParams,
  type StoredParts,
  type StoreParams,
  type UpdateParams,
} from '../../workers/jobs/kinds.ts';
import type { Pool } from '../../workers/pool/pool.ts';
import { JOBS } from '../../workers/table.ts';
import { Secret } from '../core/secret.ts';
import { at, json, type PageFields, pack, pageFields, parse, slices, storedParts } from './fields.ts';
import { createJobClient, type JobClient } from './jobs.ts';
import {
  createLanes,
  type EndpointRecords,
  type KeyPlace,
  keyParams,
  laneOf,
  missOrThrow,
  type Opening,
  openingFields,
  type Passphrase,
  type RuleSet,
  type SealedFields,
  singlesOf,
  type WarmBlob,
  type WarmMiss,
  type WithoutOpening,
} from './lanes.ts';
import { createProxyCrypto, type ProxyCrypto } from './proxy.ts';
import { createWalkCrypto, type WalkCrypto } from './walk.ts';

export type {
  AuditEvent,
  AuditFilter,
  ChainFacts,
  ChainFault,
  Checkpoint,
  MarkFacts,
  OpenedEvent,
} from '../../workers/jobs/audit/jobs.ts';
export type {
  ActorParams,
  CaptureParams,
  CardFacts,
  EndpointParams,
  EndpointPolicy,
  StoredFacts,
  StoreParams,
} from '../../workers/jobs/kinds.ts';
export type { PageFields } from './fields.ts';
export type { EndpointRecords, Opening, Passphrase, RuleSet, WarmBlob, WarmMiss } from './lanes.ts';
export type * from './proxy.ts';

const decoder = new TextDecoder();

/** Byte strings of a page, one per item; an empty one stands for an item that is gone. */
export interface PageTexts {
  readonly texts: readonly Uint8Array[];
}

export interface OpenedPage extends PageTexts {
  readonly logEntries: readonly Uint8Array[];
  readonly cards: readonly (CardFacts | null)[];
}

/** The single door to the threads: every sealing, opening and derivation goes through here. */
export interface Crypto extends JobClient<typeof JOBS>, ProxyCrypto, WalkCrypto {
  createKey(key: KeyPlace & KeyParams, passphrase: Passphrase): Promise<Uint8Array>;
  unlockKey(
    key: KeyPlace & KeyParams,
    record: Uint8Array,
    passphrase: Passphrase,
  ): Promise<{ blob: WarmBlob; upgraded?: Uint8Array }>;
  changePassphrase(
    key: KeyPlace & KeyParams,
    record: Uint8Array,
    from: Passphrase,
    to: Passphrase,
  ): Promise<Uint8Array>;
  describeKey(key: KeyPlace, record: Uint8Array): Promise<KeyFacts>;
  checkWarm(key: KeyPlace & KeyParams, blob: WarmBlob, passphrase: Passphrase): Promise<WarmMiss | undefined>;
  /** A digest of a secret and of what it belongs to, good for comparing within this process only. */
  digestSecret(context: readonly string[], secret: Secret<Uint8Array>): string;
  lengthOf(secret: Secret<Uint8Array>): number;
  storeItem(
    params: StoreParams,
    blob: WarmBlob,
    passphrase: Passphrase,
    body: Uint8Array,
  ): Promise<StoredParts | WarmMiss>;
  openItem(
    params: WithoutOpening<OpenParams>,
    opening: Opening,
    rules: RuleSet,
    item: SealedFields,
  ): Promise<{ text: Uint8Array; logEntry: Uint8Array; card: CardFacts } | WarmMiss>;
  updateItem(
    params: WithoutOpening<UpdateParams>,
    opening: Opening,
    rules: RuleSet,
    item: SealedFields,
    changes: Uint8Array,
  ): Promise<StoredParts | WarmMiss>;
  describeItem(params: DescribeItemParams, meta: Uint8Array): Promise<Uint8Array>;
  sealLog(params: SealLogParams, tail: Uint8Array): Promise<Uint8Array>;
  readLog(params: ReadLogParams, entries: readonly Uint8Array[]): Promise<Uint8Array>;
  listItems(params: ListParams, page: PageFields): Promise<PageTexts>;
  decryptItems(
    params: WithoutOpening<DecryptItemsParams>,
    opening: Opening,
    rules: RuleSet,
    page: PageFields,
  ): Promise<OpenedPage | WarmMiss>;
  /** Stores what a third party sends; refuses with `endpoint_refused` before it looks at the body. */
  captureItem(
    params: Omit<CaptureParams, 'rules'>,
    records: EndpointRecords,
    secret: Secret<Uint8Array>,
    rules: RuleSet,
    body: Uint8Array,
  ): Promise<StoredParts>;
  createEndpoint(
    params: CreateEndpointParams,
    blob: WarmBlob,
    passphrase: Passphrase,
    policy: EndpointPolicy,
  ): Promise<(EndpointRecords & { secret: Secret<string> }) | WarmMiss>;
  describeEndpoint(place: Pick<EndpointParams, 'aid' | 'id'>, policy: Uint8Array): Promise<EndpointPolicy>;
  /** The policy, for whoever has the secret; refuses with `endpoint_refused` when it is not the endpoint's. */
  checkEndpoint(
    params: EndpointParams,
    records: { readonly policy: Uint8Array; readonly wrap: Uint8Array | undefined },
    secret: Secret<Uint8Array>,
  ): Promise<EndpointPolicy>;
  decoyEndpoint(params: EndpointParams): Promise<EndpointRecords>;
  /** The operations that a rule's body holds, as JSON text; refuses with `invalid_request` and the place. */
  checkRule(aid: string, body: Uint8Array): Promise<Uint8Array>;
}

export function createCrypto(pool: Pool): Crypto {
  const digestKey = randomBytes(32);
  const lanes = createLanes(pool);
  const { run, plain, one } = lanes;

  return {
    ...createJobClient(pool, JOBS),
    ...createProxyCrypto(lanes),
    ...createWalkCrypto(lanes),
    createKey: (key, passphrase) =>
      one(KIND.createKey, [keyParams(key), passphrase.expose()], 'cold', key.aid),
    async unlockKey(key, record, passphrase) {
      const reply = await plain(
        KIND.unlockKey,
        [keyParams(key), record, passphrase.expose()],
        'cold',
        key.aid,
      );
      const upgraded = at(reply, 1);
      return { blob: at(reply, 0), ...(upgraded.length > 0 ? { upgraded } : {}) };
    },
    changePassphrase: (key, record, from, to) =>
      one(KIND.changePassphrase, [keyParams(key), record, from.expose(), to.expose()], 'cold', key.aid),
    describeKey: async (key, record) =>
      parse<KeyFacts>(
        await one(
          KIND.describeKey,
          [json({ aid: key.aid, user: key.user }), record],
          'hot',
          singlesOf(key.aid),
        ),
      ),
    checkWarm: (key, blob, passphrase) =>
      run(KIND.checkWarm, [keyParams(key), blob, passphrase.expose()], 'hot', singlesOf(key.aid)).then(
        () => undefined,
        missOrThrow,
      ),
    digestSecret: (context, secret) =>
      createHmac('sha256', digestKey)
        .update(JSON.stringify(context))
        .update(secret.expose())
        .digest('base64'),
    lengthOf: (secret) => secret.expose().length,
    storeItem: (params, blob, passphrase, body) =>
      run(KIND.storeItem, [json(params), blob, passphrase.expose(), body], 'hot', singlesOf(params.aid)).then(
        storedParts,
        missOrThrow,
      ),
    openItem: (params, opening, rules, { item, meta, sad, logTail }) =>
      run(
        KIND.openItem,
        [...openingFields(params, opening, rules), item, meta, sad, logTail],
        laneOf(rules),
        singlesOf(params.aid),
      ).then(
        (reply) => ({ text: at(reply, 0), logEntry: at(reply, 1), card: parse<CardFacts>(at(reply, 2)) }),
        missOrThrow,
      ),
    updateItem: (params, opening, rules, { item, meta, sad, logTail }, changes) =>
      run(
        KIND.updateItem,
        [...openingFields(params, opening, rules), item, meta, sad, logTail, changes],
        laneOf(rules),
        singlesOf(params.aid),
      ).then(storedParts, missOrThrow),
    captureItem: async (params, { policy, wrap }, secret, rules, body) => {
      const own = json({ ...params, rules: rules.ids });
      const fields = [own, policy, wrap, secret.expose(), pack(rules.records), body];
      return storedParts(await plain(KIND.captureItem, fields, laneOf(rules), singlesOf(params.aid)));
    },
    createEndpoint: (params, blob, passphrase, policy) =>
      run(
        KIND.createEndpoint,
        [json(params), blob, passphrase.expose(), json(policy)],
        'hot',
        singlesOf(params.aid),
      ).then(
        (reply) => ({
          secret: new Secret(decoder.decode(at(reply, 0))),
          policy: at(reply, 1),
          wrap: at(reply, 2),
        }),
        missOrThrow,
      ),
    describeEndpoint: async (place, policy) =>
      parse<EndpointPolicy>(await one(KIND.describeEndpoint, [json(place), policy])),
    checkEndpoint: async (params, { policy, wrap }, secret) => {
      const fields = [json(params), policy, secret.expose(), ...(wrap ? [wrap] : [])];
      return parse<EndpointPolicy>(await one(KIND.checkEndpoint, fields));
    },
    async decoyEndpoint(params) {
      const reply = await plain(KIND.decoyEndpoint, [json(params)]);
      return { policy: at(reply, 0), wrap: at(reply, 1) };
    },
    describeItem: (params, meta) =>
      one(KIND.describeItem, [json(params), meta], 'hot', singlesOf(params.aid)),
    sealLog: (params, tail) => one(KIND.sealLog, [json(params), tail], 'hot', singlesOf(params.aid)),
    readLog: (params, entries) => one(KIND.readLog, [json(params), ...entries], 'hot', singlesOf(params.aid)),
    async listItems(params, page) {
      const reply = await plain(KIND.listItems, [json(params), ...pageFields(page)], 'bulk', params.aid);
      return { texts: slices(at(reply, 0), at(reply, 1)) };
    },
    decryptItems: (params, opening, rules, page) =>
      run(
        KIND.decryptItems,
        [...openingFields(params, opening, rules), ...pageFields(page)],
        'bulk',
        params.aid,
      ).then(
        (reply) => ({
          texts: slices(at(reply, 0), at(reply, 1)),
          logEntries: slices(at(reply, 2), at(reply, 3)),
          cards: parse<(CardFacts | null)[]>(at(reply, 4)),
        }),
        missOrThrow,
      ),
    checkRule: (aid, body) => one(KIND.checkRule, [json({}), body], 'bulk', aid),
  };
}

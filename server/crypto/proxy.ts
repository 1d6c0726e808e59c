import { type KeyParams, KIND, type StoredParts } from '../../workers/jobs/kinds.ts';
import type {
  DropSadParams,
  FillProxyParams,
  JobFacts,
  JobRequest,
  OrderFacts,
  OrderParams,
  PrepareFetchParams,
  ProxyOutcome,
  ReplyParams,
  ReportFacts,
  StoreFetchedParams,
} from '../../workers/jobs/proxy-kinds.ts';
import type { Failure } from '../../workers/pool/failure.ts';
import type { VaultError } from '../core/errors.ts';
import { Secret } from '../core/secret.ts';
import { at, json, pack, parse, storedParts } from './fields.ts';
import {
  errorOf,
  type Lanes,
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

export type {
  FillProxyParams,
  JobFacts,
  OrderFacts,
  PrepareFetchParams,
  ProxyOutcome,
} from '../../workers/jobs/proxy-kinds.ts';

/** A request as it is to be sent, filled with stored data. */
export interface FilledJobRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body?: Uint8Array;
}

/** The reply of a third party, as far as storing it goes. */
export interface FetchedReply {
  readonly contentType?: string | undefined;
  readonly body: Uint8Array;
}

/** The part of the door to the threads that proxied calls go through. Records that do not fit: `integrity_failed`. */
export interface ProxyCrypto {
  /** Refuses, with its place, whatever is wrong with a body; `order` goes on to `fillProxy` or `prepareFetch`. */
  readProxyOrder(
    aid: string,
    params: OrderParams,
    body: Uint8Array,
  ): Promise<{ facts: OrderFacts; order: Uint8Array }>;
  /**
   * Fills the request from the opened item. `shown`: the request for `debug` as JSON text, else empty. `refusal`:
   * why there is no job; the item was read all the same.
   */
  fillProxy(
    params: WithoutOpening<FillProxyParams>,
    opening: Opening,
    rules: RuleSet,
    item: SealedFields,
    order: Uint8Array,
  ): Promise<
    { job: Uint8Array; logEntry: Uint8Array; shown: Uint8Array; refusal?: VaultError | undefined } | WarmMiss
  >;
  /** A request to be sent as it stands, with what it takes to store its reply without the passphrase. */
  prepareFetch(
    params: PrepareFetchParams,
    blob: WarmBlob,
    passphrase: Passphrase,
    order: Uint8Array,
  ): Promise<{ job: Uint8Array } | WarmMiss>;
  openJob(
    aid: string,
    id: string,
    job: Uint8Array,
  ): Promise<{ facts: JobFacts; request: Secret<FilledJobRequest> }>;
  /**
   * The reply of a fetch or of a requester as an item to be written; token and rules are those of the job. `extra` is
   * what is told of it: the reply with tags, or the network token. Refuses with `reply_not_storable`.
   */
  storeFetched(
    params: StoreFetchedParams,
    job: Uint8Array,
    rules: RuleSet,
    reply: FetchedReply,
  ): Promise<{ parts: StoredParts; extra: Uint8Array }>;
  /** The synchronous reply as JSON text. `bytes`: the body of a `reply`, the `extra` of what was `stored`. */
  reportProxy(
    aid: string,
    id: string,
    job: Uint8Array,
    outcome: ProxyOutcome,
    bytes: Uint8Array,
    shown: Uint8Array,
  ): Promise<Uint8Array>;
  /** What is reported to the webhook, sealed. */
  sealReport(
    aid: string,
    id: string,
    job: Uint8Array,
    outcome: ProxyOutcome,
    bytes: Uint8Array,
  ): Promise<Uint8Array>;
  openReport(
    aid: string,
    id: string,
    record: Uint8Array,
  ): Promise<ReportFacts & { secret?: Secret<string>; body: Uint8Array }>;
  /** Keeps a reply for repeats of its request, named by `digest`, so that only the vault key opens it. */
  sealReply(
    key: KeyParams,
    digest: string,
    blob: WarmBlob,
    passphrase: Passphrase,
    reply: Uint8Array,
  ): Promise<Uint8Array | WarmMiss>;
  openReply(
    key: KeyParams,
    digest: string,
    blob: WarmBlob,
    passphrase: Passphrase,
    record: Uint8Array,
  ): Promise<Uint8Array | WarmMiss>;
  /** An item's metadata without its sensitive authentication data; undefined when it has none. */
  dropSad(params: DropSadParams, meta: Uint8Array): Promise<Uint8Array | undefined>;
}

const decoder = new TextDecoder();

const replyParams = ({ aid, kid }: KeyParams, digest: string): Uint8Array =>
  json({ aid, kid, digest } satisfies ReplyParams);

/** That part of the door, over the ways into the threads. */
export const createProxyCrypto = ({ run, plain, one }: Lanes): ProxyCrypto => ({
  async readProxyOrder(aid, params, body) {
    const reply = await plain(KIND.readProxyOrder, [json(params), body], 'bulk', singlesOf(aid));
    return { facts: parse<OrderFacts>(at(reply, 0)), order: at(reply, 1) };
  },
  fillProxy(params, opening, rules, { item, meta, sad, logTail }, order) {
    const fields = [...openingFields(params, opening, rules), item, meta, sad, logTail, order];
    return run(KIND.fillProxy, fields, 'bulk', singlesOf(params.aid)).then((reply) => {
      const refusal = at(reply, 3);
      const made = { job: at(reply, 0), logEntry: at(reply, 1), shown: at(reply, 2) };
      return { ...made, refusal: refusal.length === 0 ? undefined : errorOf(parse<Failure>(refusal)) };
    }, missOrThrow);
  },
  prepareFetch(params, blob, passphrase, order) {
    const fields = [json(params), blob, passphrase.expose(), order];
    return run(KIND.prepareFetch, fields, 'bulk', singlesOf(params.aid)).then(
      (reply) => ({ job: at(reply, 0) }),
      missOrThrow,
    );
  },
  async openJob(aid, id, job) {
    const reply = await plain(KIND.openJob, [json({ aid, id }), job]);
    const { hasBody, ...request } = parse<JobRequest>(at(reply, 1));
    const body = hasBody ? { body: at(reply, 2) } : {};
    return { facts: parse<JobFacts>(at(reply, 0)), request: new Secret({ ...request, ...body }) };
  },
  async storeFetched(params, job, rules, { contentType, body }) {
    const fields = [json({ ...params, contentType }), job, pack(rules.records), body];
    const reply = await plain(KIND.storeFetched, fields, 'bulk', singlesOf(params.aid));
    return { parts: storedParts(reply), extra: at(reply, 7) };
  },
  reportProxy: (aid, id, job, outcome, bytes, shown) =>
    one(KIND.reportProxy, [json({ aid, id, outcome }), job, bytes, shown], 'bulk', singlesOf(aid)),
  sealReport: (aid, id, job, outcome, bytes) =>
    one(KIND.sealReport, [json({ aid, id, outcome }), job, bytes], 'bulk', singlesOf(aid)),
  async openReport(aid, id, record) {
    const reply = await plain(KIND.openReport, [json({ aid, id }), record]);
    const secret = decoder.decode(at(reply, 1));
    return {
      ...parse<ReportFacts>(at(reply, 0)),
      ...(secret === '' ? {} : { secret: new Secret(secret) }),
      body: at(reply, 2),
    };
  },
  sealReply: (key, digest, blob, passphrase, reply) =>
    run(KIND.sealReply, [replyParams(key, digest), blob, passphrase.expose(), reply], 'hot').then(
      (fields) => at(fields, 0),
      missOrThrow,
    ),
  openReply: (key, digest, blob, passphrase, record) =>
    run(KIND.openReply, [replyParams(key, digest), blob, passphrase.expose(), record], 'hot').then(
      (fields) => at(fields, 0),
      missOrThrow,
    ),
  async dropSad(params, meta) {
    const without = await one(KIND.dropSad, [json(params), meta]);
    return without.length === 0 ? undefined : without;
  },
});

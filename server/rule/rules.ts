import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import { listStreamOf } from '../core/byte-stream.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import { OPERATION_NAMES } from '../domain/rule/operations.ts';
import type { NamedRecord, NamedStore } from '../redis/records/named.ts';
import type { AccountContext } from '../request/context.ts';
import type { Metering } from '../request/metering.ts';
import type { OperationNames, Rule } from './schema.ts';

/** Records of all rules that one request uses, bytes. */
const USED_BYTES_MAX = 262_144;
const NO_RULES: Promise<RuleSet> = Promise.resolve([]);
const decoder = new TextDecoder();

/** Manages rules: named lists of operations. They are encrypted, since a template or a key in one may be confidential. */
export class Rules {
  constructor(
    private readonly store: NamedStore,
    private readonly crypto: Crypto,
    private readonly metering: Metering,
    private readonly settings: ServiceSettings,
  ) {}

  /** Creates a rule from JSON text. Rejects with `rule_exists`, `rules_full`, or at an invalid field. */
  async create(ctx: AccountContext, id: string, body: Uint8Array): Promise<Rule> {
    const { aid } = ctx.account;
    const plaintext = await this.crypto.checkRule({ aid, body });
    const sealed = await this.crypto.sealRecord({ place: placeOf(aid, id), plaintext });
    const outcome = await this.store.create(aid, id, sealed);
    if (outcome !== 'ok') {
      throw new VaultError(outcome === 'full' ? 'rules_full' : 'rule_exists', { field: 'query.id' });
    }
    this.metering.count(ctx, 'rule');
    return toRule(id, plaintext);
  }

  async read(ctx: AccountContext, id: string): Promise<Rule> {
    const { aid } = ctx.account;
    const record = await this.store.read(aid, id);
    if (!record) {
      throw new VaultError('rule_not_found', { field: 'query.id' });
    }
    this.metering.count(ctx, 'rule');
    return this.open(aid, { id, record });
  }

  /** Returns all rules of the account in the order of their ids, as the JSON text of a list. */
  async list(ctx: AccountContext): Promise<ReadableStream<Uint8Array>> {
    const stream = await listStreamOf(this.readAll(ctx.account.aid));
    this.metering.count(ctx, 'rule');
    return stream;
  }

  async remove(ctx: AccountContext, id: string): Promise<void> {
    if (!(await this.store.remove(ctx.account.aid, id))) {
      throw new VaultError('rule_not_found', { field: 'query.id' });
    }
    this.metering.count(ctx, 'rule');
  }

  async operations(ctx: AccountContext): Promise<OperationNames> {
    this.metering.count(ctx, 'rule');
    return { operations: [...OPERATION_NAMES] };
  }

  /** Applies a rule, stored or not, as a capture would; returns JSON text. Rejects as `create` and `find` do. */
  async test(ctx: AccountContext, body: Uint8Array): Promise<Uint8Array> {
    const { aid, unmasked } = ctx.account;
    const { refuseUnknown } = this.settings;
    const { id } = await this.crypto.readRuleTest({ aid, params: { refuseUnknown }, body });
    const rules = await this.find(aid, id === undefined ? [] : [id], 'body.id');
    const reply = await this.crypto.testRule({ params: { aid, forcedMask: !unmasked }, rules, body });
    this.metering.count(ctx, 'rule');
    return reply;
  }

  /** Returns encrypted rules, named in `field`. Rejects with `rule_not_found`, or `rule_limit` for too many bytes. */
  find(aid: string, ids: readonly string[], field?: string): Promise<RuleSet> {
    return ids.length === 0 ? NO_RULES : this.readMany(aid, ids, field);
  }

  private async readMany(aid: string, ids: readonly string[], field: string | undefined): Promise<RuleSet> {
    const found = await this.store.readMany(aid, ids);
    if (found.length < ids.length) {
      throw new VaultError('rule_not_found', { field });
    }
    if (found.reduce((sum, { record }) => sum + record.length, 0) > USED_BYTES_MAX) {
      throw new VaultError('rule_limit', { field });
    }
    return found;
  }

  private async *readAll(aid: string): AsyncGenerator<readonly Rule[]> {
    for await (const records of this.store.list(aid)) {
      yield Promise.all(records.map((record) => this.open(aid, record)));
    }
  }

  private async open(aid: string, { id, record }: NamedRecord): Promise<Rule> {
    return toRule(id, await this.crypto.openRecord({ place: placeOf(aid, id), record }));
  }
}

function placeOf(aid: string, id: string) {
  return { purpose: 'record', account: aid, kind: 'rule', path: [id] } as const;
}

function toRule(id: string, operations: Uint8Array): Rule {
  return { id, operations: JSON.parse(decoder.decode(operations)) as Rule['operations'] };
}

import { VaultError } from '../../core/errors.ts';
import type { Crypto, RuleSet } from '../../crypto/client.ts';
import { OPERATION_NAMES } from '../../domain/rule/rule.ts';
import type { OperationNames, Rule } from '../../http/schema/rule.ts';
import type { RuleStore } from '../../store/rule.ts';
import { streamOf } from '../common/byte-stream.ts';
import type { Account, AccountContext } from '../common/request-context.ts';
import type { MeteringService } from '../request/metering.ts';

export interface RuleService {
  /** `body` is the JSON text as sent, not yet looked at; a fault in it is refused with its place. */
  readonly create: (
    ctx: AccountContext,
    input: { readonly id: string; readonly body: Uint8Array },
  ) => Promise<Rule>;
  readonly read: (ctx: AccountContext, id: string) => Promise<Rule>;
  /** All rules as JSON text. */
  readonly list: (ctx: AccountContext) => Promise<ReadableStream<Uint8Array>>;
  readonly remove: (ctx: AccountContext, id: string) => Promise<void>;
  readonly operations: (ctx: AccountContext) => Promise<OperationNames>;
}

/** Rules that are read at once for a list. */
const STEP = 8;
/** Records of all rules that one request uses, bytes. */
const USED_BYTES_MAX = 262_144;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface Rules extends RuleService {
  /**
   * The rules as they are now, sealed; refuses with `rule_not_found` when one of them is not there. `field` is
   * where the caller has named them, if it was the caller.
   */
  readonly find: (aid: string, ids: readonly string[], field?: string) => Promise<RuleSet>;
}

const NO_RULES: RuleSet = [];

/** Rules: named lists of operations. They are sealed, since a template or a key in one may be confidential. */
export function createRules({
  crypto,
  ruleStore,
  metering,
}: {
  readonly crypto: Pick<Crypto, 'checkRule' | 'openRecord' | 'sealRecord'>;
  readonly ruleStore: RuleStore;
  readonly metering: Pick<MeteringService, 'count'>;
}): Rules {
  const place = (aid: string, id: string) =>
    ({ purpose: 'record', account: aid, kind: 'rule', path: [id] }) as const;

  const toRule = (id: string, operations: Uint8Array): Rule => ({
    id,
    operations: JSON.parse(decoder.decode(operations)) as Rule['operations'],
  });
  const open = async ({ aid }: Account, id: string, record: Uint8Array): Promise<Rule> =>
    toRule(id, await crypto.openRecord({ place: place(aid, id), record }));

  /** The list of all rules as JSON text, a few at a time: together they may be large. */
  async function* listChunks(account: Account): AsyncGenerator<Uint8Array, void, void> {
    const ids = [...(await ruleStore.ids(account.aid))].sort();
    let lead = '[';
    for (let at = 0; at < ids.length; at += STEP) {
      const part = ids.slice(at, at + STEP);
      const records = await ruleStore.read(account.aid, part);
      const found = await Promise.all(
        part.flatMap((id, i) => {
          const record = records[i];
          return record ? [open(account, id, record)] : [];
        }),
      );
      if (found.length > 0) {
        yield encoder.encode(lead + found.map((rule) => JSON.stringify(rule)).join());
        lead = ',';
      }
    }
    yield encoder.encode(lead === '[' ? '[]' : ']');
  }

  const find: Rules['find'] = async (aid, ids, field) => {
    if (ids.length === 0) {
      return NO_RULES;
    }
    const records = await ruleStore.read(aid, ids);
    const found = ids.flatMap((id, i) => {
      const record = records[i];
      return record ? [{ id, record }] : [];
    });
    if (found.length < ids.length) {
      throw new VaultError('rule_not_found', field === undefined ? {} : { field });
    }
    if (found.reduce((sum, { record }) => sum + record.length, 0) > USED_BYTES_MAX) {
      throw new VaultError('rule_limit', field === undefined ? {} : { field });
    }
    return found;
  };

  return {
    find,
    async create(ctx, { id, body }) {
      const { account } = ctx;
      const operations = await crypto.checkRule({ aid: account.aid, body });
      const outcome = await ruleStore.create(
        account.aid,
        id,
        await crypto.sealRecord({ place: place(account.aid, id), plaintext: operations }),
      );
      if (outcome !== 'ok') {
        throw new VaultError(outcome === 'full' ? 'rules_full' : 'rule_exists', { field: 'query.id' });
      }
      metering.count(ctx, 'rule');
      return toRule(id, operations);
    },
    async read(ctx, id) {
      const { account } = ctx;
      const [record] = await ruleStore.read(account.aid, [id]);
      if (!record) {
        throw new VaultError('rule_not_found', { field: 'query.id' });
      }
      metering.count(ctx, 'rule');
      return open(account, id, record);
    },
    async list(ctx) {
      const { account } = ctx;
      const stream = await streamOf(listChunks(account));
      metering.count(ctx, 'rule');
      return stream;
    },
    async remove(ctx, id) {
      const { account } = ctx;
      if (!(await ruleStore.remove(account.aid, id))) {
        throw new VaultError('rule_not_found', { field: 'query.id' });
      }
      metering.count(ctx, 'rule');
    },
    async operations(ctx) {
      metering.count(ctx, 'rule');
      return { operations: [...OPERATION_NAMES] };
    },
  };
}

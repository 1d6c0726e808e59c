import type { Account, Parts, RuleService, RuleSet } from '../deps.ts';
import { OPERATION_NAMES } from '../domain/rule.ts';
import { checkOperations } from '../domain/rule-check.ts';
import { VaultError } from '../errors.ts';
import type { Rule } from '../schema/rule.ts';
import type { MeteringService } from './metering.ts';

/** Rules that are read at once for a list. */
const STEP = 100;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface Rules extends RuleService {
  /**
   * The rules as they are now, sealed; refuses with `rule_not_found` when one of them is not there. `field` is
   * where the caller has named them, if it was the caller.
   */
  readonly find: (aid: string, ids: readonly string[], field?: string) => Promise<RuleSet>;
}

export const NO_RULES: RuleSet = { ids: [], records: [] };

/** Rules: named lists of operations. They are sealed, since a template or a key in one may be confidential. */
export function createRules({ crypto, ruleStore }: Parts, metering: MeteringService): Rules {
  const place = (aid: string, id: string) =>
    ({ purpose: 'record', account: aid, kind: 'rule', path: [id] }) as const;

  const open = async ({ aid }: Account, id: string, record: Uint8Array): Promise<Rule> => {
    const text = decoder.decode(await crypto.openRecord(place(aid, id), record));
    return { id, operations: JSON.parse(text) as Rule['operations'] };
  };

  const find: Rules['find'] = async (aid, ids, field) => {
    if (ids.length === 0) {
      return NO_RULES;
    }
    const records = await ruleStore.read(aid, ids);
    const there = records.filter((record) => record !== undefined);
    if (there.length < ids.length) {
      throw new VaultError('rule_not_found', field === undefined ? {} : { field });
    }
    return { ids, records: there };
  };

  return {
    find,
    async create({ account }, { id, body }) {
      const operations = checkOperations(body);
      const record = await crypto.sealRecord(
        place(account.aid, id),
        encoder.encode(JSON.stringify(operations)),
      );
      if (!(await ruleStore.create(account.aid, id, record))) {
        throw new VaultError('rule_exists', { field: 'query.id' });
      }
      metering.count(account, 'rule');
      return open(account, id, record);
    },
    async read({ account }, id) {
      const [record] = await ruleStore.read(account.aid, [id]);
      if (!record) {
        throw new VaultError('rule_not_found', { field: 'query.id' });
      }
      metering.count(account, 'rule');
      return open(account, id, record);
    },
    async list({ account }) {
      const ids = [...(await ruleStore.ids(account.aid))].sort();
      const rules: Rule[] = [];
      for (let at = 0; at < ids.length; at += STEP) {
        const part = ids.slice(at, at + STEP);
        const records = await ruleStore.read(account.aid, part);
        const found = part.flatMap((id, i) => {
          const record = records[i];
          return record ? [open(account, id, record)] : [];
        });
        rules.push(...(await Promise.all(found)));
      }
      metering.count(account, 'rule');
      return rules;
    },
    async remove({ account }, id) {
      if (!(await ruleStore.remove(account.aid, id))) {
        throw new VaultError('rule_not_found', { field: 'query.id' });
      }
      metering.count(account, 'rule');
    },
    async operations({ account }) {
      metering.count(account, 'rule');
      return { operations: [...OPERATION_NAMES] };
    },
  };
}

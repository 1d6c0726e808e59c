import type { RuleSet } from '../../workers/jobs/rule/jobs.ts';
import { bindParts } from '../core/bind.ts';
import { listStreamOf } from '../core/byte-stream.ts';
import { VaultError } from '../core/errors.ts';
import type { ServiceSettings } from '../core/settings.ts';
import type { Crypto } from '../crypto/client.ts';
import { OPERATION_NAMES } from '../domain/rule/operations.ts';
import type { AccountContext } from '../request/context.ts';
import type { MeteringService } from '../request/metering.ts';
import type { OperationNames, Rule } from './schema.ts';
import type { RuleStore } from './store.ts';

/** Rules that are read at once for a list. */
const STEP = 8;
/** Records of all rules that one request uses, bytes. */
const USED_BYTES_MAX = 262_144;
const NO_RULES: RuleSet = [];
const decoder = new TextDecoder();

interface RuleParts {
  readonly crypto: Pick<Crypto, 'checkRule' | 'openRecord' | 'readRuleTest' | 'sealRecord' | 'testRule'>;
  readonly ruleStore: RuleStore;
  readonly metering: Pick<MeteringService, 'count'>;
  readonly settings: Pick<ServiceSettings, 'refuseUnknown'>;
}

/** Rules: named lists of operations. They are sealed, since a template or a key in one may be confidential. */
export type Rules = ReturnType<typeof createRules>;

/** Makes the rules of a server. */
export function createRules(parts: RuleParts) {
  return bindParts(parts, { find, create, read, list, remove, operations, test });
}

function placeOf(aid: string, id: string) {
  return { purpose: 'record', account: aid, kind: 'rule', path: [id] } as const;
}

function toRule(id: string, operations: Uint8Array): Rule {
  return { id, operations: JSON.parse(decoder.decode(operations)) as Rule['operations'] };
}

/** The rules of these ids that exist, sealed. */
async function readSealed({ ruleStore }: RuleParts, aid: string, ids: readonly string[]): Promise<RuleSet> {
  const records = await ruleStore.read(aid, ids);
  return ids.flatMap((id, i) => {
    const record = records[i];
    return record ? [{ id, record }] : [];
  });
}

async function open({ crypto }: RuleParts, aid: string, { id, record }: RuleSet[number]): Promise<Rule> {
  return toRule(id, await crypto.openRecord({ place: placeOf(aid, id), record }));
}

/**
 * The rules as they are now, sealed. Rejects with `rule_not_found` when one of them does not exist, and with `rule_limit`
 * when they are too large together. `field` is where the caller has named them, if it was the caller.
 */
async function find(parts: RuleParts, aid: string, ids: readonly string[], field?: string): Promise<RuleSet> {
  if (ids.length === 0) {
    return NO_RULES;
  }
  const found = await readSealed(parts, aid, ids);
  if (found.length < ids.length) {
    throw new VaultError('rule_not_found', { field });
  }
  if (found.reduce((sum, { record }) => sum + record.length, 0) > USED_BYTES_MAX) {
    throw new VaultError('rule_limit', { field });
  }
  return found;
}

/** Creates a rule of JSON text as it was sent. Rejects an invalid one with its place, `rule_exists` and `rules_full`. */
async function create(
  { crypto, ruleStore, metering }: RuleParts,
  ctx: AccountContext,
  { id, body }: { readonly id: string; readonly body: Uint8Array },
): Promise<Rule> {
  const { aid } = ctx.account;
  const plaintext = await crypto.checkRule({ aid, body });
  const sealed = await crypto.sealRecord({ place: placeOf(aid, id), plaintext });
  const outcome = await ruleStore.create(aid, id, sealed);
  if (outcome !== 'ok') {
    throw new VaultError(outcome === 'full' ? 'rules_full' : 'rule_exists', { field: 'query.id' });
  }
  metering.count(ctx, 'rule');
  return toRule(id, plaintext);
}

/** Rejects with `rule_not_found`. */
async function read(parts: RuleParts, ctx: AccountContext, id: string): Promise<Rule> {
  const { aid } = ctx.account;
  const [found] = await readSealed(parts, aid, [id]);
  if (!found) {
    throw new VaultError('rule_not_found', { field: 'query.id' });
  }
  parts.metering.count(ctx, 'rule');
  return open(parts, aid, found);
}

async function* readAll(parts: RuleParts, aid: string): AsyncGenerator<readonly Rule[]> {
  const ids = [...(await parts.ruleStore.ids(aid))].sort();
  for (let at = 0; at < ids.length; at += STEP) {
    const found = await readSealed(parts, aid, ids.slice(at, at + STEP));
    yield Promise.all(found.map((rule) => open(parts, aid, rule)));
  }
}

/** All rules of the account in the order of their ids, as the JSON text of a list. */
async function list(parts: RuleParts, ctx: AccountContext): Promise<ReadableStream<Uint8Array>> {
  const stream = await listStreamOf(readAll(parts, ctx.account.aid));
  parts.metering.count(ctx, 'rule');
  return stream;
}

/** Rejects with `rule_not_found`. */
async function remove({ ruleStore, metering }: RuleParts, ctx: AccountContext, id: string): Promise<void> {
  if (!(await ruleStore.remove(ctx.account.aid, id))) {
    throw new VaultError('rule_not_found', { field: 'query.id' });
  }
  metering.count(ctx, 'rule');
}

/**
 * Runs a stored rule or one that is not stored over an input, as a capture would; gives the JSON text of the reply. Nothing of
 * it is kept. Rejects as `create` and `find` do.
 */
async function test(parts: RuleParts, ctx: AccountContext, body: Uint8Array): Promise<Uint8Array> {
  const { crypto, metering, settings } = parts;
  const { aid, unmasked } = ctx.account;
  const { refuseUnknown } = settings;
  const { id } = await crypto.readRuleTest({ aid, params: { refuseUnknown }, body });
  const rules = await find(parts, aid, id === undefined ? [] : [id], 'body.id');
  const reply = await crypto.testRule({ params: { aid, forcedMask: !unmasked }, rules, body });
  metering.count(ctx, 'rule');
  return reply;
}

/** The names of all operations that a rule can have. */
async function operations({ metering }: RuleParts, ctx: AccountContext): Promise<OperationNames> {
  metering.count(ctx, 'rule');
  return { operations: [...OPERATION_NAMES] };
}

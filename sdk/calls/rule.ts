/** Rules: named lists of operations that change data where they are attached. */

import type { CallOptions } from '../transport/call.ts';
import { get, readJson, readOne, remove, sendJson } from '../transport/pages.ts';
import type { Transport } from '../transport/transport.ts';
import type {
  CreateRule,
  DeleteRule,
  Message,
  OperationNames,
  ReadRule,
  Rule,
  RuleTestReply,
  TestRule,
} from '../transport/types.ts';

/**
 * Rules: named lists of operations that change data where they are attached.
 * @see /guide/rules
 */
export interface RuleCalls {
  /**
   * Creates a rule. Every operation is checked now: `invalid_request` names the place of the first error in
   * `field`, such as `body[2].name`. Throws `rule_exists` if the id is in use; so would a retry after a lost reply, and
   * the call is retried only if the service has rejected the request without any effect.
   * @see /guide/rules
   * @throws `rule_exists`, `rules_full`
   * @example
   * const operations = [{ name: 'substr', input_field: 'expiry_year', output_field: 'year', arguments: { start: -2 } }];
   * await client.rules.create({ id: 'short-year', operations });
   */
  readonly create: (rule: CreateRule, options?: CallOptions) => Promise<Rule>;
  /**
   * One rule with its operations.
   * @see /guide/rules
   * @throws `rule_not_found`
   * @example
   * const { operations } = await client.rules.get({ id: 'short-year' });
   */
  readonly get: (rule: ReadRule, options?: CallOptions) => Promise<Rule>;
  /**
   * All rules of the account, by id.
   * @see /guide/rules
   * @example
   * const ids = (await client.rules.list()).map(({ id }) => id);
   */
  readonly list: (options?: CallOptions) => Promise<Rule[]>;
  /**
   * Deletes a rule. Requests that still use it throw `rule_not_found`, and so does this call if an earlier attempt,
   * whose reply was lost, has succeeded.
   * @see /guide/rules
   * @throws `rule_not_found`
   * @example
   * await client.rules.delete({ id: 'short-year' });
   */
  readonly delete: (rule: DeleteRule, options?: CallOptions) => Promise<Message>;
  /**
   * Applies a rule, stored or not, to `input` as a capture would, and says of each operation whether it was applied.
   * Nothing is stored or logged.
   * @see /guide/rules
   * @throws `rule_not_found`, `rule_limit`
   * @example
   * const operations = [{ name: 'substr', input_field: 'expiry_year', output_field: 'year', arguments: { start: -2 } }];
   * const { output, steps } = await client.rules.test({ operations, input: { expiry_year: '2031' } });
   */
  readonly test: (rule: TestRule, options?: CallOptions) => Promise<RuleTestReply>;
  /**
   * The names of all operations that a rule can be made of.
   * @see /guide/rules
   * @example
   * const { operations } = await client.rules.operations();
   */
  readonly operations: (options?: CallOptions) => Promise<OperationNames>;
}

const path = ['rule'] as const;

/** The calls of rules. */
export function createRuleCalls(transport: Transport): RuleCalls {
  return {
    create: ({ operations, ...query }, options) =>
      readJson(transport, {
        method: 'POST',
        path,
        repeat: 'when_rejected',
        query,
        body: JSON.stringify(operations),
        options,
      }),
    get: ({ id }, options) => readOne(transport, path, { id }, options),
    list: (options) => get(transport, path, {}, options),
    delete: (query, options) => remove(transport, path, query, options),
    test: (rule, options) => sendJson(transport, 'POST', [...path, 'test'], 'always', rule, options),
    operations: (options) => get(transport, [...path, 'operations'], {}, options),
  };
}

import type { Connections } from '../connection/connections.ts';
import { objectOf } from '../http/audit.ts';
import { defineRoute } from '../http/route.ts';
import { BODY_BYTES } from '../schema/body-bytes.ts';
import { Message } from '../schema/common.ts';
import type { Rules } from './rules.ts';
import {
  OperationNames,
  Rule,
  RuleBody,
  RuleQuery,
  RuleReadQuery,
  RulesReply,
  RuleTest,
  RuleTestReply,
} from './schema.ts';

interface Needs {
  readonly connections: Connections;
  readonly rules: Rules;
}

const COMMON = { noun: 'rule', auth: 'basic', meter: ['rule'] } as const;

const createRule = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/rule',
  operationId: 'createRule',
  scope: 'rule:write',
  summary: 'Create a rule',
  description:
    'Creates a rule from a list of operations, which are applied in the order of the list. Rules reach all that they are applied to: one that a connection names is created and deleted by callers alone who see data unmasked. Every operation is validated; `field` of the error names the first invalid part.',
  query: RuleQuery,
  body: { kind: 'stored', schema: RuleBody, bytesMax: BODY_BYTES.rule },
  response: Rule,
  errors: ['rule_exists', 'rules_full'],
  audit: { action: 'rule.create', object: ({ query }) => objectOf('rule', query.id) },
  handle: async ({ ctx, query, body }, services: Needs) => {
    await services.connections.requireRuleChange(ctx, query.id);
    return { json: await services.rules.create(ctx, query.id, body) };
  },
});

const readRules = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/rule',
  operationId: 'readRules',
  scope: 'rule:read',
  summary: 'Read one rule, or list all',
  description: 'With `id`, returns that rule; otherwise all rules of the account.',
  query: RuleReadQuery,
  response: RulesReply,
  errors: ['rule_not_found'],
  handle: async ({ ctx, query: { id } }, services: Needs) =>
    id === undefined
      ? { stream: await services.rules.list(ctx) }
      : { json: await services.rules.read(ctx, id) },
});

const removeRule = defineRoute({
  ...COMMON,
  method: 'DELETE',
  path: '/v1/rule',
  operationId: 'deleteRule',
  scope: 'rule:write',
  summary: 'Delete a rule',
  description:
    'Deletes a rule. Requests that still use it, and endpoints with it, fail with 404 and neither store nor return data.',
  query: RuleQuery,
  response: Message,
  errors: ['rule_not_found'],
  audit: { action: 'rule.delete', object: ({ query }) => objectOf('rule', query.id) },
  handle: async ({ ctx, query }, services: Needs) => {
    await services.connections.requireRuleChange(ctx, query.id);
    await services.rules.remove(ctx, query.id);
    return { json: { message: 'The rule was deleted.' } };
  },
});

const listOperations = defineRoute({
  ...COMMON,
  method: 'GET',
  path: '/v1/rule/operations',
  operationId: 'listOperations',
  scope: 'any',
  summary: 'List the operations',
  description: 'Lists the names of all operations that a rule can contain.',
  response: OperationNames,
  errors: [],
  handle: async ({ ctx }, services: Needs) => ({ json: await services.rules.operations(ctx) }),
});

const testRule = defineRoute({
  ...COMMON,
  method: 'POST',
  path: '/v1/rule/test',
  operationId: 'testRule',
  scope: 'rule:read',
  summary: 'Try a rule',
  description:
    'Applies a rule, stored or not, to the input as a capture would, and says of each operation whether it was applied. Nothing is stored or logged. For accounts without unmasked output rules work on masked numbers here as well.',
  body: { kind: 'stored', schema: RuleTest, bytesMax: BODY_BYTES.rule },
  response: RuleTestReply,
  errors: ['rule_not_found', 'rule_limit'],
  handle: async ({ ctx, body }, services: Needs) => ({ jsonBytes: await services.rules.test(ctx, body) }),
});

export const RULE_ROUTES = [createRule, readRules, removeRule, listOperations, testRule];

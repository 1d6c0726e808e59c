import { type Static, Type } from '@sinclair/typebox';
import { OPERATION_NAMES } from '../domain/rule/operations.ts';
import { Identifier } from '../schema/common.ts';
import { PUBLISHED } from '../schema/kinds.ts';

/** An object with any members. */
function AnyObject(description: string, example: object) {
  return Type.Object({}, { additionalProperties: true, description, examples: [example] });
}

export const RuleId = Identifier('Identifier of the rule, unique in the account.');

export const RuleQuery = Type.Object({ id: RuleId });
export const RuleReadQuery = Type.Object({ id: Type.Optional(RuleId) });

export const Operation = Type.Object(
  {
    name: Type.String({
      description: 'The operation to apply; GET /rule/operations lists them.',
      examples: ['substr'],
      // The engine rejects others and names their place.
      [PUBLISHED]: { enum: OPERATION_NAMES },
    }),
    input_field: Type.Optional(
      Type.String({
        description: 'The field to read, a dotted path. Default: `*`, the whole object.',
        examples: ['expiry_year'],
      }),
    ),
    output_field: Type.Optional(
      Type.String({
        description:
          'The field to write, a dotted path; `*` replaces the whole object. Default: the input field.',
        examples: ['expiry_year_short'],
      }),
    ),
    order_position: Type.Optional(
      Type.Integer({
        description: 'A position for documentation only; operations run in the order of the list.',
        examples: [1],
      }),
    ),
    arguments: Type.Optional(AnyObject('The arguments of the operation.', { start: -2 })),
  },
  { $id: 'Operation', description: 'One named transformation of the data.' },
);

const Operations = Type.Array(Operation, {
  $id: 'OperationList',
  minItems: 1,
  maxItems: 64,
  description: 'Applied one after another.',
  examples: [
    [{ name: 'substr', input_field: 'expiry_year', output_field: 'year', arguments: { start: -2 } }],
  ],
});

/** The engine checks more than this schema: each operation has its own arguments, and an error names its place. */
export const RuleBody = Type.Union(
  [Operations, Type.Object({ operations: Operations }, { $id: 'RuleOperations' })],
  { $id: 'CreateRule', description: 'The operations, alone or as a member.' },
);

export const Rule = Type.Object(
  { id: RuleId, operations: Type.Array(Operation, { description: 'Applied one after another.' }) },
  { $id: 'Rule', description: 'A named list of operations.' },
);
export type Rule = Static<typeof Rule>;

const RuleList = Type.Array(Rule, { $id: 'RuleList', description: 'In ascending order of id.' });

export const RulesReply = Type.Union([Rule, RuleList], {
  $id: 'RulesReply',
  description: 'With `id` that rule, otherwise all rules.',
});

/** Either the id of a rule or its operations; the engine checks which. */
export const RuleTest = Type.Object(
  {
    id: Type.Optional({ ...RuleId, description: 'Identifier of a stored rule.' }),
    operations: Type.Optional(Operations),
    input: AnyObject('The object that the rule is applied to.', { expiry_year: '2031' }),
  },
  {
    $id: 'RuleTest',
    description: 'A rule, by its id or in full, and what it is applied to.',
    examples: [
      {
        operations: [
          { name: 'substr', input_field: 'expiry_year', output_field: 'year', arguments: { start: -2 } },
        ],
        input: { expiry_year: '2031' },
      },
    ],
  },
);

export const RuleTestReply = Type.Object(
  {
    output: AnyObject('The object after the rule.', { expiry_year: '2031', year: '31' }),
    steps: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'The operation.', examples: ['substr'] }),
          output_field: Type.String({ description: 'The field that it writes.', examples: ['year'] }),
          skipped: Type.Boolean({ description: 'Whether the operation was not applied.' }),
          reason: Type.Optional(Type.String({ description: 'Why not, for humans. The wording may change.' })),
        },
        { $id: 'RuleStep', description: 'What became of one operation.' },
      ),
      { description: 'The operations in their order.' },
    ),
  },
  { $id: 'RuleTestReply', description: 'What a rule makes of an input.' },
);

export const OperationNames = Type.Object(
  {
    operations: Type.Array(Type.String(), {
      description: 'The names of all operations.',
      examples: [['noop', 'substr', 'template']],
    }),
  },
  { $id: 'OperationNames', description: 'All operations that a rule can contain.' },
);
export type OperationNames = Static<typeof OperationNames>;

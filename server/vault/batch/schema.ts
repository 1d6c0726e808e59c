import { type Static, Type } from '@sinclair/typebox';
import { MaskFields, Reference, RuleIds, Token, User } from '../../schema/common.ts';
import { EachOf } from '../../schema/kinds.ts';
import { Algorithm, CardMetadataFlag, FACTS, StoredObject, TokenInfo } from '../schema.ts';

/** Items of a batch. */
export const BATCH_ITEMS_MAX = 1_000;

/** The error of one item of a batch; the others are not affected. */
export const BatchError = Type.Object(
  {
    error: Type.String({ description: 'A message for humans. The wording may change.' }),
    code: Type.String({ description: 'The code that a single request would get.', examples: ['test_card'] }),
    field: Type.Optional(
      Type.String({
        description: 'The place of the fault in the body.',
        examples: ['body.items[3].reference'],
      }),
    ),
  },
  { $id: 'BatchError', description: 'Why one item was refused.' },
);
export type BatchError = Static<typeof BatchError>;

const StoreItem = Type.Object(
  {
    data: StoredObject,
    number: Type.Optional(
      Type.Union([Type.String(), Type.Integer()], {
        description: 'The number to derive the token from; needed only if `data` has none, and not stored.',
        'x-secret': true,
      }),
    ),
    reference: Type.Optional(Reference),
    algorithm: Type.Optional(Algorithm),
    ttl: FACTS.ttl,
    metadata: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'As `metadata` of a single store, as an object.',
      }),
    ),
  },
  { $id: 'StoreItem', description: 'One item of a batch.' },
);

export const StoreBatchBody = Type.Object(
  {
    user: User,
    items: Type.Array(StoreItem, { minItems: 1, maxItems: BATCH_ITEMS_MAX }),
    return_fingerprint: Type.Optional(
      Type.Boolean({ description: 'Whether to add `fingerprint` to each result.' }),
    ),
    return_card_metadata: CardMetadataFlag,
  },
  { $id: 'StoreBatch', description: 'Items to store under one key.' },
);

export const StoreBatchReply = Type.Object(
  {
    results: Type.Array(Type.Union([TokenInfo, BatchError]), {
      description: 'For each item, in the order given, what a single store replies, or its error.',
    }),
  },
  { $id: 'StoreBatchReply' },
);
export type StoreBatchReply = Static<typeof StoreBatchReply>;
const BatchItem = Type.Object(
  { token: Token, reference: Type.Optional(Reference) },
  { $id: 'BatchItem', description: 'An item by its token.' },
);
/** An item that a batch names, as it was sent. */
export type BatchItem = Static<typeof BatchItem>;

const BatchItems = EachOf(BatchItem, {
  minItems: 1,
  maxItems: BATCH_ITEMS_MAX,
  description: 'The items. One that is malformed has an error of its own in the reply.',
  examples: [
    [
      {
        token: '9f2c4e6a80b1d3f5a7c9e1b3d5f7092b4d6f8a0c2e4061829ab4cd6ef8091a2b',
        reference: 'customer-4711',
      },
    ],
  ],
});

export const DecryptBatchBody = Type.Object(
  {
    user: User,
    items: BatchItems,
    mask_fields: Type.Optional(MaskFields),
    rules: Type.Optional(RuleIds),
  },
  { $id: 'DecryptBatch', description: 'Items of one key to decrypt.' },
);

export const DeleteBatchBody = Type.Object(
  { user: User, items: BatchItems },
  { $id: 'DeleteBatch', description: 'Items of one key to delete.' },
);

const BatchOpened = Type.Object(
  { token: Token, data: StoredObject },
  { $id: 'BatchOpened', description: 'An item of a batch with its data.' },
);

const BatchDeleted = Type.Object(
  {
    token: Token,
    deleted: Type.Literal(true, { description: 'Always true.' }),
  },
  { $id: 'BatchDeleted', description: 'An item of a batch that was deleted.' },
);

const RESULTS = 'For each item, in the order given, its result or its error.';

export const DecryptBatchReply = Type.Object(
  { results: Type.Array(Type.Union([BatchOpened, BatchError]), { description: RESULTS }) },
  { $id: 'DecryptBatchReply', description: 'What became of each item.' },
);

export const DeleteBatchReply = Type.Object(
  { results: Type.Array(Type.Union([BatchDeleted, BatchError]), { description: RESULTS }) },
  { $id: 'DeleteBatchReply', description: 'What became of each item.' },
);
export type DeleteBatchReply = Static<typeof DeleteBatchReply>;

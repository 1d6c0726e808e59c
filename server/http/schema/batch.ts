import { type Static, Type } from '@sinclair/typebox';
import { Reference, User } from './common.ts';
import { Algorithm, CardMetadataFlag, FACTS, StoredObject, TokenInfo } from './vault.ts';

/** Items of a batch, and bytes of its body. */
export const BATCH_ITEMS_MAX = 1_000;
export const BATCH_BYTES_MAX = 8_388_608;

/** Why an item of a batch was refused; the others are not affected. */
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

import { Type } from '@sinclair/typebox';
import type { Audit } from '../../audit/audit.ts';
import { objectOf, recordItems } from '../../http/audit.ts';
import { replayHeader } from '../../http/reply.ts';
import { defineRoute } from '../../http/route.ts';
import { BODY_BYTES } from '../../schema/body-bytes.ts';
import type { Batches } from './batches.ts';
import {
  DecryptBatchBody,
  DecryptBatchReply,
  DeleteBatchBody,
  DeleteBatchReply,
  StoreBatchBody,
  StoreBatchReply,
} from './schema.ts';
import type { StoreBatches } from './store-batch.ts';

interface Needs {
  readonly audit: Audit;
  readonly batches: Batches;
  readonly storeBatches: StoreBatches;
}

const storeBatch = defineRoute({
  method: 'POST',
  path: '/v1/vault/batch',
  operationId: 'storeItems',
  scope: 'vault:store',
  noun: 'vault',
  summary: 'Store many objects',
  description:
    'Stores up to 1,000 objects under one key, each as POST /vault does. The reply has a result for each, in the order given; an item that is refused does not stop the others. Each stored item is logged and billed as one store. An Idempotency-Key covers the whole batch: a repeat finishes what an interrupted one has left.',
  auth: 'basic',
  query: Type.Object({}),
  passphrase: 'required',
  body: { kind: 'stored', schema: StoreBatchBody, bytesMax: BODY_BYTES.items },
  response: StoreBatchReply,
  errors: ['passphrase_wrong', 'key_not_found'],
  meter: ['store'],
  idempotent: true,
  audit: { action: 'item.store', of: 'errors' },
  handle: async ({ ctx, passphrase, body }, services: Needs) => {
    const { reply, replayed } = await services.storeBatches.storeBatch(ctx, { body, passphrase });
    return { json: reply, headers: replayHeader(replayed) };
  },
});

const decryptBatch = defineRoute({
  method: 'POST',
  path: '/v1/vault/batch/decrypt',
  operationId: 'decryptItems',
  scope: 'vault:read',
  noun: 'vault',
  summary: 'Decrypt many items',
  description:
    'Decrypts up to 1,000 items of one key by their tokens, named in at most 512 KB, each as GET /vault does. The reply has a result for each, in the order given; an item that is refused does not stop the others. Each item is logged and billed as one decryption.',
  auth: 'basic',
  query: Type.Object({}),
  passphrase: 'required',
  body: { kind: 'json', schema: DecryptBatchBody, bytesMax: BODY_BYTES.tokens },
  response: DecryptBatchReply,
  errors: ['passphrase_wrong', 'key_not_found', 'rule_not_found', 'rule_limit', 'key_changed'],
  meter: ['decrypt'],
  idempotent: false,
  audit: { action: 'item.decrypt', of: 'errors', object: ({ body }) => objectOf('key', body.user) },
  handle: async ({ ctx, passphrase, body }, services: Needs) => ({
    stream: await services.batches.decryptBatch(ctx, {
      ...body,
      passphrase,
      onRejected: (items) => recordItems(services.audit, ctx, 'item.decrypt', body.user, items),
    }),
  }),
});

const deleteBatch = defineRoute({
  method: 'POST',
  path: '/v1/vault/batch/delete',
  operationId: 'deleteItems',
  scope: 'vault:delete',
  noun: 'vault',
  summary: 'Delete many items',
  description:
    'Deletes up to 1,000 items of one key with their logs, named in at most 512 KB, each as DELETE /vault does. The reply has a result for each, in the order given; an item that is refused does not stop the others. Each item is billed as one deletion. An Idempotency-Key covers the whole batch.',
  auth: 'basic',
  query: Type.Object({}),
  passphrase: 'none',
  body: { kind: 'json', schema: DeleteBatchBody, bytesMax: BODY_BYTES.tokens },
  response: DeleteBatchReply,
  errors: ['key_not_found'],
  meter: ['delete'],
  idempotent: true,
  audit: { action: 'item.delete', of: 'all', object: ({ body }) => objectOf('key', body.user) },
  handle: async ({ ctx, body }, services: Needs) => {
    const { reply, replayed } = await services.batches.deleteBatch(ctx, {
      ...body,
      onDone: (items) => recordItems(services.audit, ctx, 'item.delete', body.user, items),
    });
    return { json: reply, headers: replayHeader(replayed) };
  },
});

export const BATCH_ROUTES = [storeBatch, decryptBatch, deleteBatch];

import { Type } from '@sinclair/typebox';
import { replayHeader } from '../plugins/replies.ts';
import { defineRoute } from '../plugins/route.ts';
import { BATCH_BYTES_MAX, StoreBatchBody, StoreBatchReply } from '../schema/batch.ts';

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
  body: { kind: 'stored', schema: StoreBatchBody, bytesMax: BATCH_BYTES_MAX },
  response: StoreBatchReply,
  errors: ['passphrase_wrong', 'key_not_found', 'integrity_failed'],
  meter: ['store'],
  idempotent: true,
  confirmsAccount: true,
  audit: { action: 'item.store', of: 'errors' },
  handle: async ({ ctx, passphrase, body, services }) => {
    const { reply, replayed } = await services.vault.storeBatch(ctx, { body, passphrase });
    return { json: reply, headers: replayHeader(replayed) };
  },
});

export const BATCH_ROUTES = [storeBatch];

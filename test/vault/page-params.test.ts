import { expect, test } from 'bun:test';
import { secretBytes } from '../../server/core/secret.ts';
import type { Crypto } from '../../server/crypto/client.ts';
import type { Limiter } from '../../server/limits/limiter.ts';
import { createContext, type RequestContext } from '../../server/request/context.ts';
import type { Metering } from '../../server/request/metering.ts';
import { type ItemPage, ItemPages, type PageOpening } from '../../server/vault/list/page.ts';
import type { ItemStore } from '../../server/vault/store/items.ts';
import { stub } from '../http/stub-endpoints.ts';

test('of the filter of a listing only the members that select items reach the job that opens them', async () => {
  let params: object = {};
  const crypto = stub<Crypto>({
    decryptItems: (job) => {
      ({ params } = job);
      const texts = { bytes: new Uint8Array(0), ends: new Uint32Array(0) };
      return Promise.resolve({ kind: 'opened', texts, logEntries: [], cards: [], failed: [] });
    },
  });
  const [store, limiter] = [stub<ItemStore>({}), stub<Limiter>({})];
  const metering = stub<Metering>({ fieldOf: () => '', counted: () => undefined });
  const pages = new ItemPages(store, crypto, limiter, metering, () => 1);
  const fields = { order: new Uint8Array(0), tokens: [], storedAt: new Float64Array(0) };
  const page: ItemPage = { fields: { ...fields, replies: [] }, places: [], buckets: [] };
  const passphrase = secretBytes('correct horse');
  const opening: PageOpening = {
    ctx: createContext({ requestId: '', ip: '', userAgent: '', source: 'vault' }) as RequestContext & {
      account: NonNullable<RequestContext['account']>;
    },
    key: { aid: 'own', kid: 'k', user: 'u', gen: 1, summary: false },
    opening: { kind: 'warm', blob: new Uint8Array(0), secret: passphrase },
    view: { rules: [], forcedMask: true, maskFields: ['cvv'], wantsCard: false },
    operation: 'decrypt',
  };
  const others = { aid: 'another', kid: 'other', now: 9, forcedMask: false, maskFields: [], passphrase };
  await pages.open(opening, page, { reference_prefix: 'a', expires_before: 5, ...others });
  expect(params).toMatchObject({ aid: 'own', kid: 'k', now: 1, forcedMask: true, maskFields: ['cvv'] });
  expect(params).toMatchObject({ reference_prefix: 'a', expires_before: 5 });
  expect(params).not.toHaveProperty('passphrase');
});

/** Records of proxied calls that the first version made: each must open for ever, and nowhere else. */
import { expect, test } from 'bun:test';
import { openItem } from '../../workers/crypto/item/item.ts';
import { openMeta } from '../../workers/crypto/item/meta.ts';
import { unlockVaultKey } from '../../workers/crypto/key/vault-key.ts';
import { readBytes, readU32, textOf, utf8 } from '../../workers/crypto/primitives/bytes.ts';
import { ServiceSealer } from '../../workers/crypto/record/service-record.ts';
import type { ThreadContext } from '../../workers/jobs/context.ts';
import { createOpenings } from '../../workers/jobs/openings.ts';
import { openJob, openReport } from '../../workers/jobs/proxy/record.ts';
import golden from '../vectors/golden-records.json';
import { expectDamageRefused, expectRefused, FLOOR, hex, toHex } from './crypto/fixture.ts';

const { inputs, records, proxied, unlocked } = golden;
const sealer = new ServiceSealer(inputs.env, inputs.ringId, [[inputs.ringId, hex(inputs.masterKey)]]);
const context: ThreadContext = {
  env: 'staging',
  sealer,
  processKey: hex(inputs.processKey),
  argon2: FLOOR,
  rootKey: () => hex(inputs.indexKey),
  rootKeys: () => [hex(inputs.indexKey)],
  writeRootId: () => undefined,
  rootKeyOf: () => hex(inputs.indexKey),
  openings: createOpenings(),
};
const place = { aid: inputs.aid, id: proxied.id };
const OTHERS = [
  { ...place, aid: 'other' },
  { ...place, id: 'other' },
];

test('a job that is to be sent', () => {
  const opened = openJob(context, place, hex(records.job));
  const { body, metadata, publicHalf, tokenKey } = opened;
  expect(opened).toMatchObject({ facts: proxied.facts, request: proxied.request, webhook: proxied.webhook });
  expect([textOf(body), textOf(metadata)]).toEqual([proxied.body, proxied.metadata]);
  expect([toHex(publicHalf), toHex(tokenKey)]).toEqual([unlocked.publicKeys[1] ?? '', unlocked.tokenKey]);
  expectDamageRefused(hex(records.job), (bad) => openJob(context, place, bad));
  for (const other of OTHERS) {
    expectRefused(() => openJob(context, other, hex(records.job)));
  }
  expectRefused(() => openReport(context, place, hex(records.job)));
});

test('a report', () => {
  const { url, maxAttempts, secret } = proxied.webhook;
  const opened = openReport(context, place, hex(records.jobReport));
  expect(opened.facts).toEqual({ url, maxAttempts, account: 'shop' });
  expect([textOf(opened.secret), textOf(opened.body)]).toEqual([secret, proxied.report]);
  expectDamageRefused(hex(records.jobReport), (bad) => openReport(context, place, bad));
  for (const other of OTHERS) {
    expectRefused(() => openReport(context, other, hex(records.jobReport)));
  }
  expectRefused(() => openJob(context, place, hex(records.jobReport)));
});

test('a reply that is kept for repeats', async () => {
  const ids = { env: inputs.env, aid: inputs.aid, kid: inputs.kid, token: `reply\n${proxied.digest}` };
  const { key } = await unlockVaultKey(ids, hex(records.vaultKeyChanged), utf8(inputs.newPassphrase), FLOOR);
  const record = hex(records.keptReply);
  const metaBytes = readU32(record, 0);
  const open = (there: typeof ids, bytes: Uint8Array): string => {
    const meta = openMeta(sealer, there, readBytes(record, 4, metaBytes));
    return textOf(openItem({ ...there, key, item: bytes, meta, nowMs: 0 }).part0);
  };
  const item = record.subarray(4 + metaBytes);
  expect(open(ids, item)).toBe(proxied.reply);
  expectDamageRefused(item, (bad) => open(ids, bad));
  expectRefused(() => open({ ...ids, token: 'reply\nanother digest' }, item));
});

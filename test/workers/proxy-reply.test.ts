import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { EMPTY, textOf, utf8 } from '../../workers/crypto/primitives/bytes.ts';
import { canariesIn } from '../helpers/canaries.ts';
import { newAuthority } from './crypto/authority.ts';
import { flipped } from './crypto/fixture.ts';
import { AID, codeOf, KEY, KID, opened, openProxyBench, type ProxyBench, secretOf } from './proxy-bench.ts';

let bench: ProxyBench;

beforeAll(async () => {
  bench = await openProxyBench();
});
afterAll(() => bench.close());

const REPLY = '{"status_code":200,"body":"kept-reply-canary-51"}';
const DIGEST = 'x'.repeat(43);

describe('a reply that is kept for repeats', () => {
  const NAME = { ...KEY, digest: DIGEST };
  const seal = (passphrase = bench.passphrase, text = REPLY) =>
    bench.crypto.sealReply({ name: NAME, blob: bench.blob, passphrase, reply: utf8(text) });
  const keep = async (text?: string) => opened(await seal(undefined, text)).record;
  const open = (record: Uint8Array, passphrase = bench.passphrase, name = NAME, blob = bench.blob) =>
    bench.crypto.openReply({ name, blob, passphrase, record });

  test.each([REPLY, '', 'ü'.repeat(1_000_000)])('comes back to the byte', async (text) => {
    expect(textOf(opened(await open(await keep(text))).reply)).toBe(text);
  });

  test('holds nothing in the clear', async () => {
    const text = Buffer.from(await keep()).toString('latin1');
    expect(canariesIn({ reply: 'kept-reply-canary-51' }, text)).toEqual([]);
  });

  test('is neither sealed nor opened under another passphrase', async () => {
    const other = secretOf('another passphrase, äöü');
    expect(await open(await keep(), other)).toEqual({ kind: 'warm_miss' });
    expect(await seal(other)).toEqual({ kind: 'warm_miss' });
  });

  test('is no item, and no item is one', async () => {
    const item = await bench.store({ card_number: '4111111111111111' });
    const { meta, item: sealed } = item.fields;
    const length = Buffer.alloc(4);
    length.writeUInt32BE(meta.length);
    expect(await codeOf(open(Buffer.concat([length, meta, sealed])))).toBe('integrity_failed');
    const record = Buffer.from(await keep());
    const at = 4 + record.readUInt32BE(0);
    const posing = {
      ...item,
      fields: { ...item.fields, meta: record.subarray(4, at), item: record.subarray(at) },
    };
    expect(await codeOf(bench.read(posing))).toBe('integrity_failed');
  });

  test('still opens after a change of the passphrase, under the new one', async () => {
    const record = await keep();
    const [from, to] = [bench.passphrase, secretOf('the passphrase after the change')];
    const { record: changed } = await bench.crypto.changePassphrase({
      ...{ key: KEY, record: bench.record, recovery: undefined, from, to, summary: undefined },
    });
    const { blob } = await bench.crypto.unlockKey({ key: KEY, record: changed, passphrase: to });
    expect(textOf(opened(await open(record, to, NAME, blob)).reply)).toBe(REPLY);
    expect(await open(record, from, NAME, blob)).toEqual({ kind: 'warm_miss' });
  });
});

describe('a client credential', () => {
  const place = (kind: string, id: string) =>
    ({ purpose: 'record', account: AID, kind, path: [id] }) as const;

  const issued = async (csrId: string, certId: string) => {
    const authority = await newAuthority();
    const middle = await authority.below('Middle');
    const csrPlace = { aid: AID, id: csrId };
    const subject = { cn: 'shop.example' };
    const asked = await bench.crypto.createCsr({ place: csrPlace, keyType: 'ec-p256', subject });
    const pem = utf8((await middle.issue(asked.csr.data)) + middle.pem);
    const read = await bench.crypto.readCertificate({ place: csrPlace, csr: asked.record, pem });
    const certificate = { id: certId, csr_id: csrId, ...read };
    const record = await bench.crypto.sealRecord({
      place: place('certificate', certId),
      plaintext: utf8(JSON.stringify(certificate)),
    });
    return { record, keyRecord: asked.privateKey, data: read.data };
  };

  test('is not made of records of other places', async () => {
    const [one, other] = [await issued('csr-1', 'cert-1'), await issued('csr-2', 'cert-2')];
    const find = (
      certId: string,
      csrId: string,
      certificate: Uint8Array,
      privateKey: Uint8Array,
      aid = AID,
    ) => codeOf(bench.crypto.clientCredential({ place: { aid, certId, csrId }, certificate, privateKey }));
    expect(await find('cert-1', 'csr-1', one.record, one.keyRecord)).toBe('ok');
    const refused = [
      find('cert-1', 'csr-1', other.record, one.keyRecord),
      find('cert-1', 'csr-1', one.record, other.keyRecord),
      find('cert-1', 'csr-2', one.record, other.keyRecord),
      find('cert-1', 'csr-1', one.record, one.keyRecord, 'account-2'),
      find('cert-1', 'csr-1', flipped(one.record, 60), one.keyRecord),
      find('cert-1', 'csr-1', one.record, flipped(one.keyRecord, 60)),
    ];
    expect(await Promise.all(refused)).toEqual(refused.map(() => 'integrity_failed'));
  });
});

describe('sensitive authentication data that is dropped', () => {
  const CARD = { card_number: '4111111111111111', cvv: '7391', deep: { pin: '1234', a: 1 } };

  test.each([undefined, 'customer-7'])(
    'leaves the item as it is without it (reference %p)',
    async (reference) => {
      const item = await bench.store(CARD, { reference });
      expect(item.fields.sad.length).toBeGreaterThan(0);
      expect(JSON.parse(await bench.read(item, reference))).toEqual(CARD);
      const ids = { aid: AID, kid: KID, token: item.token };
      const meta = await bench.crypto.dropSad({ name: ids, meta: item.fields.meta });
      if (meta === undefined) {
        throw new Error('there was sensitive authentication data');
      }
      const bare = { ...item, fields: { ...item.fields, meta, sad: EMPTY } };
      expect(await bench.read(bare, reference)).toBe('{"card_number":"4111111111111111","deep":{"a":1}}');
      expect(await bench.crypto.dropSad({ name: ids, meta })).toBeUndefined();
      const half = { ...item, fields: { ...item.fields, meta } };
      expect(await codeOf(bench.read(half, reference))).toBe('integrity_failed');
    },
  );

  test('is nothing of an item that has none, and takes its own metadata alone', async () => {
    const [bare, item] = [await bench.store({ n: '4242424242424242' }), await bench.store(CARD)];
    const drop = (token: string, meta: Uint8Array, kid = KID) =>
      bench.crypto.dropSad({ name: { aid: AID, kid, token }, meta });
    expect(await drop(bare.token, bare.fields.meta)).toBeUndefined();
    const refused = [
      drop(bare.token, item.fields.meta),
      drop(item.token, item.fields.meta, 'key-2'),
      drop(item.token, flipped(item.fields.meta, 50)),
    ];
    expect(await Promise.all(refused.map(codeOf))).toEqual(refused.map(() => 'integrity_failed'));
  });
});

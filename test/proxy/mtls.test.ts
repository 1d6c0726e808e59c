import { describe, expect, test } from 'bun:test';
import type { AccountClient, Answer } from '../helpers/clients.ts';
import {
  CHARGED,
  localProxy,
  networkToken,
  newItem,
  openProxyVault,
  proxyGet,
  proxyPost,
  requester,
  requestTo,
  settled,
} from '../helpers/proxy.ts';
import { openProxySetting } from '../helpers/proxy-setting.ts';
import type { Act } from '../helpers/third-party.ts';
import { createReceiver } from '../helpers/webhook.ts';
import { newAuthority } from '../workers/crypto/authority.ts';

/** A payment service that takes charges from clients alone whose certificate its own authority issued. */
const charge: Act = ({ client, text }) =>
  client === undefined
    ? { status: 403, body: 'who are you?' }
    : { status: 201, body: JSON.stringify({ charged: text === CHARGED, client }) };

const { vault, party: reports, item, newParty } = await openProxySetting();
const authority = await newAuthority('Payment Service Clients');
const asking = { requestCert: true, rejectUnauthorized: false, ca: [authority.pem] };
const service = await newParty(asking);
service.script('/charge', charge);

interface Csr {
  readonly id: string;
  readonly data: string;
}
async function createCsr(account: AccountClient, cn: string, key_type = 'ec-p256'): Promise<Csr> {
  return (await account.send('POST', '/proxy/csr', { body: { cn, key_type } })).as<Csr>();
}
function upload(account: AccountClient, csr_id: string, body: string): Promise<Answer> {
  return account.send('POST', '/proxy/cert', { query: { csr_id }, body });
}

/** A certificate of an account for a key that never left the vault. */
async function certified(
  account: AccountClient,
  {
    cn = 'shop.example',
    key_type = 'ec-p256',
    notAfter,
  }: { cn?: string; key_type?: string; notAfter?: Date } = {},
): Promise<{ id: string; csrId: string }> {
  const csr = await createCsr(account, cn, key_type);
  const pem = await authority.issue(csr.data, notAfter === undefined ? {} : { notAfter });
  return { id: (await upload(account, csr.id, pem)).as<{ id: string }>().id, csrId: csr.id };
}

function charged(client_cert_id: string | undefined, of = item): Promise<Answer> {
  const changes = client_cert_id === undefined ? {} : { client_cert_id };
  return proxyPost(of, { request: requestTo(service.url('/charge'), changes), synchronous: true });
}
function bodyOf({ json }: Answer): unknown {
  return [Object(json).status_code, Object(json).body];
}
const REFUSED = [403, 'who are you?'];

describe('a payment service that asks for a client certificate', () => {
  test.each(['ec-p256', 'rsa-2048'])(
    'takes a charge with one of a %s key, told by webhook',
    async (key_type) => {
      const { id } = await certified(item.account, { key_type });
      const receiver = createReceiver(reports);
      const request = requestTo(service.url('/charge'), { client_cert_id: id });
      const { json } = await settled(proxyPost(item, { request, webhook: receiver.webhook }), receiver);
      expect(json).toMatchObject({ status_code: 201, body: '{"charged":true,"client":"shop.example"}' });
      // Who receives webhooks does not ask, and is shown nothing.
      expect((await reports.call(new URL(receiver.webhook.url).pathname)).client).toBeUndefined();
    },
  );

  test('takes one from a request of each kind', async () => {
    const { id } = await certified(item.account, { cn: 'every-kind' });
    expect(bodyOf(await charged(id))).toEqual([201, '{"charged":true,"client":"every-kind"}']);
    service.script('/card', ({ client }) =>
      client === 'every-kind' ? { body: '{"number":"5555555555554444"}' } : 403,
    );
    const request = requestTo(service.url('/card'), { method: 'GET', body: undefined, client_cert_id: id });
    const fetched = await proxyGet(item.account, { request, synchronous: true });
    expect(fetched.json).toMatchObject({ status_code: 200, token_info: { user: 'u' } });
  });

  test('refuses who shows none, or nothing of its own authority', async () => {
    expect(bodyOf(await charged(undefined))).toEqual(REFUSED);
    const stranger = await newAuthority('Stranger');
    const csr = await createCsr(item.account, 'a');
    const made = await upload(item.account, csr.id, await stranger.issue(csr.data));
    expect(bodyOf(await charged(made.as<{ id: string }>().id))).toEqual(REFUSED);
  });

  test('is shown an expired one all the same, and refuses it', async () => {
    const { id } = await certified(item.account, { notAfter: new Date('2001-01-01T00:00:00.000Z') });
    expect(bodyOf(await charged(id))).toEqual(REFUSED);
  });

  test('is shown none where the certificate or its key is gone, or another account’s', async () => {
    const [one, two] = [await certified(item.account), await certified(item.account)];
    expect(bodyOf(await charged(one.id))).toMatchObject([201, expect.any(String)]);
    await item.account.send('DELETE', '/proxy/cert', { query: { id: one.id } });
    await item.account.send('DELETE', '/proxy/csr', { query: { id: two.csrId } });
    expect(bodyOf(await charged(one.id))).toEqual(REFUSED);
    expect(bodyOf(await charged(two.id))).toEqual(REFUSED);
    expect(bodyOf(await charged('never-there'))).toEqual(REFUSED);
    const theirs = await newItem(vault);
    const { id } = await certified(theirs.account);
    expect(bodyOf(await charged(id))).toEqual(REFUSED);
    expect(bodyOf(await charged(id, theirs))).toMatchObject([201, expect.any(String)]);
  });

  test('is shown the certificate as it is at each attempt', async () => {
    const { id } = await certified(item.account, { cn: 'short-lived' });
    const clients: (string | undefined)[] = [];
    service.script(
      '/twice',
      async ({ client }) => {
        clients.push(client);
        await item.account.send('DELETE', '/proxy/cert', { query: { id } });
        return 500;
      },
      ({ client }) => {
        clients.push(client);
        return 200;
      },
    );
    const receiver = createReceiver(reports);
    const request = requestTo(service.url('/twice'), { client_cert_id: id });
    await settled(proxyPost(item, { request, webhook: receiver.webhook }), receiver);
    expect(clients).toEqual(['short-lived', undefined]);
  });

  test('that takes no connection without one is not reached without one', async () => {
    const strict = await newParty({ ...asking, rejectUnauthorized: true });
    strict.script('/charge', charge);
    const { id } = await certified(item.account, { cn: 'strict' });
    const send = (changes: object) => {
      const request = requestTo(strict.url('/charge'), changes);
      return proxyPost(item, { request, synchronous: true }, { attempts: 1 });
    };
    expect(bodyOf(await send({ client_cert_id: id }))).toEqual([201, '{"charged":true,"client":"strict"}']);
    expect((await send({})).outcome).toMatch(/^502 /);
    expect(strict.calls('/charge')).toHaveLength(1);
  });
});

test('a requester of network tokens is shown the certificate that the operator named, of the account that asks', async () => {
  // The certificate is there before the server that is told of the requester. Only that one runs jobs.
  const first = await openProxyVault({ jobs: false });
  const theirs = await newItem(first);
  const { id } = await certified(theirs.account, { cn: 'requester-cert' });
  const psp = requester('mtls', service.url('/tokens'), { client_cert_id: id });
  const second = await first.secondServer({
    proxy: { ...(await localProxy()), requesters: [psp] },
    jobs: true,
  });
  const grant = { token: '4895370012003478', expiry_month: '11', expiry_year: '2033', status: 'active' };
  service.script('/tokens', ({ client }) =>
    client === 'requester-cert' ? { body: JSON.stringify(grant) } : 403,
  );
  const receiver = createReceiver(reports);
  const via = { ...theirs, account: theirs.account.via(second.handle) };
  const answer = networkToken(via, receiver.webhook, { requester_id: 'mtls' });
  expect((await settled(answer, receiver)).json).toMatchObject({ network_token: { token: grant.token } });
  await second.close();
  await first.close();
});

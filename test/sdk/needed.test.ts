/** Callers without types bring anything: what a stranger's JSON had in the place of a token, above all. */
import { afterAll, describe, expect, test } from 'bun:test';
import { captureClient, retrieveClient, Vault, VaultError } from '../../sdk/index.ts';
import { openPeer } from './peer.ts';
import { SECRETS } from './wires.ts';

const peer = openPeer();
afterAll(peer.close);

const account = { baseUrl: peer.baseUrl, username: 'shop', password: 'p' };
const client = new Vault({ ...account, passphrase: 'correct horse' });
const url = `${peer.baseUrl}/v1/retrieve/call-centre`;
const desk = retrieveClient({ url, secret: SECRETS.retrieve });

/** What can come of `JSON.parse(body).token`, seen as the type that the call asks for. */
const NO_TEXTS = [undefined, null, '', 0, true, ['t'], {}, { toString: () => 't' }] as unknown as string[];

/** Without its name each of these would be a listing. */
const ONE_THING: Readonly<Record<string, (name: string) => Promise<unknown>>> = {
  'vault.decrypt': (token) => client.vault.decrypt({ user: 'shop', token }),
  'vault.decryptText': (token) => client.vault.decryptText({ user: 'shop', token }),
  'retrieve.decrypt': (token) =>
    client.retrieve.decrypt({ unique_id: 'call-centre', secret: SECRETS.retrieve, token }),
  'desk.decrypt': (token) => desk.decrypt({ token }),
  'rules.get': (id) => client.rules.get({ id }),
  'forms.get': (form_id) => client.forms.get({ form_id }),
  'certificates.get': (id) => client.certificates.get({ id }),
  'certificates.getCsr': (id) => client.certificates.getCsr({ id }),
  'admin.getPreference': (key) => client.admin.getPreference({ key }),
  'capture.delete': (unique_id) => client.capture.delete({ unique_id }),
};

describe('before anything is sent', () => {
  test.each(Object.keys(ONE_THING))('%s refuses what is no text', async (name) => {
    for (const text of NO_TEXTS) {
      await expect((async () => ONE_THING[name]?.(text))()).rejects.toBeInstanceOf(VaultError);
    }
  });

  test('a passphrase that is no text is refused, and not made one', async () => {
    const bare = new Vault(account);
    for (const passphrase of [undefined, 0, {}, ['p']] as unknown as string[]) {
      const store = bare.vault.store({ user: 'shop', data: {}, passphrase });
      await expect(store).rejects.toThrow('needs a passphrase');
    }
  });

  test('a query holds texts, numbers, truth and lists of texts', async () => {
    for (const value of [null, {}, [1], [['t']], [{}]] as unknown as string[]) {
      await expect((async () => client.vault.delete({ user: 'shop', token: value }))()).rejects.toThrow(
        'token is not of a kind that a query can hold.',
      );
    }
  });

  test('a secret that is not there is not sent as a word', () => {
    const secret = undefined as unknown as string;
    expect(() => captureClient({ url: `${peer.baseUrl}/v1/capture/shop`, secret })).toThrow('secret must be');
  });
});

test('and nothing was sent', () => {
  expect(peer.seen).toEqual([]);
});

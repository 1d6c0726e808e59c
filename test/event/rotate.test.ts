/** Events of changes that were not read when the master key was rotated. */
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { commandJson } from '../helpers/command.ts';
import { createCapture } from '../helpers/endpoints.ts';
import { localProxy } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import { openTestVault, type TestVault } from '../helpers/vault.ts';
import { createReceiver } from '../helpers/webhook.ts';
import { masterKeyOf } from '../maintenance/restores.ts';
import { subscribe } from './subscribed.ts';

const OLD = ['old', masterKeyOf()] as const;
const NEW = ['new', masterKeyOf(41)] as const;
const POLL_MS = 10;

let vault: TestVault;
let party: ThirdParty;
beforeAll(async () => {
  party = await startThirdParty();
  const proxy = await localProxy();
  vault = await openTestVault({ masterKeys: new Map([OLD]), alone: true, jobs: false, proxy });
});
afterAll(async () => {
  await vault.close();
  party.stop();
});

test('are sent by a vault that has the new key alone', async () => {
  const account = await vault.account();
  await account.key('u');
  const receiver = createReceiver(party);
  await subscribe(account, receiver, ['item.created', 'endpoint.created']);
  const token = await account.store('u', { number: '4111111111111111' });
  const { unique_id } = await createCapture(account, 'u', {});
  const both = await vault.secondServer({ masterKeys: new Map([NEW, OLD]) });
  expect(await commandJson<object>(both, 'rotate-master')).toMatchObject({ done: true, lostTotal: 0 });
  await both.close();
  const alone = await vault.secondServer({ masterKeys: new Map([NEW]), jobs: true });
  await alone.opened.services.events.round(true);
  await alone.opened.services.jobs.resume(account.aid);
  while (receiver.events().length < 2) {
    await Bun.sleep(POLL_MS);
  }
  const told = receiver.events().map(({ json }) => Object(json['data']).token ?? Object(json['data']).id);
  expect(told.toSorted()).toEqual([token, unique_id].toSorted());
  await alone.close();
});

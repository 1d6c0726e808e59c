/** Event subscriptions in the console, by the keyboard. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { localProxy } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import { createReceiver, expectedSignature } from '../helpers/webhook.ts';
import { goTo, openConsoleWorld, openSignedIn } from './console-world.ts';
import type { FormsWorld } from './forms-world.ts';

/** More than the elements of a screen and a dialog. */
const TABS_MAX = 100;
const SECRET = 'a secret of its own';

declare const document: { activeElement: unknown };

setDefaultTimeout(120_000);
let world: FormsWorld;
let party: ThirdParty;

beforeAll(async () => {
  [party, world] = await Promise.all([startThirdParty(), openConsoleWorld({ proxy: await localProxy() })]);
});
afterAll(async () => {
  party?.stop();
  await world?.close();
});

/** Walks to an element, and presses a key there. */
async function press(page: Page, target: Locator, key: string): Promise<void> {
  await target.waitFor();
  for (let step = 0; step < TABS_MAX; step += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) {
      await page.keyboard.press(key);
      return;
    }
    await page.keyboard.press('Tab');
  }
  throw new Error(`The keyboard does not reach ${target}.`);
}

test('a subscription is created, tested, resumed and deleted', async () => {
  const { owner, vault } = world;
  const { events } = owner.sdk;
  const receiver = createReceiver(party);
  const { url } = receiver.webhook;
  const { page, faults } = await openSignedIn(world);
  await goTo(page, 'events');
  const dialog = page.getByRole('dialog');
  const types = dialog.getByRole('group', { name: 'Types' });
  const row = page.getByRole('row').filter({ hasText: url });
  const inRow = (name: string) => row.getByRole('button', { name });
  const send = (name: string) => press(page, dialog.getByRole('button', { name }), 'Enter');

  await press(page, page.getByRole('button', { name: 'New subscription' }), 'Enter');
  expect(await dialog.locator(':checked').count()).toBe(0);
  await press(page, dialog.getByLabel('URL'), 'ControlOrMeta+a');
  await page.keyboard.type(url);
  // Without a type the list says what is missing, and has the focus.
  await page.keyboard.press('Enter');
  await types.getByText('Choose at least one type.').waitFor();
  expect(
    await types
      .getByRole('checkbox')
      .first()
      .evaluate((box) => box === document.activeElement),
  ).toBe(true);
  await press(page, types.getByLabel('item stored item.created'), 'Space');
  await press(page, dialog.getByLabel('(item.read)'), 'Space');
  await press(page, dialog.getByText('More fields'), 'Enter');
  await press(page, dialog.getByLabel('Metadata'), 'End');
  await page.keyboard.type('{"shop": "eu"}');
  await send('New subscription');
  const made = (await dialog.getByRole('group', { name: 'Secret' }).locator('code').textContent()) ?? '';
  expect(made).toMatch(/^whsec_/);
  await send('I have kept it');
  await row.getByText('Active').waitFor();
  expect(await row.textContent()).toContain('item stored, item decrypted');
  const [{ id = '' } = {}] = await events.list();

  const tested = async (secret: string): Promise<void> => {
    await press(page, inRow('Test'), 'Enter');
    await send('Test');
    await page.getByText('the test event is on its way').waitFor();
    await vault.opened.services.events.round();
    const { json, received } = await receiver.next();
    expect(json).toMatchObject({ type: 'test', metadata: { shop: 'eu' } });
    expect(received.header('webhook-signature')).toBe(expectedSignature(secret, received));
  };
  await tested(made);
  // The end of the delivery says that the receiver does not fail.
  while ((await owner.sdk.jobs.list({ kind: 'event', status: 'done' })).data.length === 0) {
    await Bun.sleep(50);
  }

  const state = redisKeys.eventState(owner.aid);
  await vault.raw.hset(state, `f:${id}`, Date.now());
  await goTo(page, 'keys');
  await goTo(page, 'events');
  await row.getByText('Failing').waitFor();
  await vault.raw.hset(state, `p:${id}`, Date.now(), `w:${id}`, 'failing', `l:${id}`, 12);
  await goTo(page, 'keys');
  await goTo(page, 'events');
  await row.getByText('its receiver fails').waitFor();
  await row.getByText('Left out: 12').waitFor();
  expect(await inRow('Change').count()).toBe(0);
  await press(page, inRow('Resume'), 'Enter');
  await press(page, dialog.getByLabel('Secret', { exact: true }), 'End');
  await page.keyboard.type(SECRET);
  await page.keyboard.press('Enter');
  await row.getByText('Active').waitFor();
  expect(await page.content()).not.toContain(SECRET);
  // What was not changed has stayed.
  expect(await events.get({ id })).toMatchObject({
    ...{ url, types: ['item.created', 'item.read'], metadata: { shop: 'eu' }, max_attempts: 8 },
  });
  await tested(SECRET);

  await press(page, inRow('Change'), 'Enter');
  await press(page, types.getByLabel('all about keys key.*'), 'Space');
  await send('Change');
  await send('I have kept it');
  await row.getByText('all about keys').waitFor();
  await press(page, row.getByRole('link', { name: 'Deliveries' }), 'Enter');
  await page.getByRole('region', { name: 'Jobs' }).getByText('Done').first().waitFor();
  await page.goBack();
  await press(page, inRow('Delete'), 'Enter');
  await send('Delete');
  await page.getByText('No subscriptions yet.').waitFor();
  expect(await events.list()).toEqual([]);
  expect(faults).toEqual([]);
});

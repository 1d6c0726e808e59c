/** The console at a support desk: what a person is told there, and whether all of it can be seen. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { PASSPHRASE } from '../helpers/clients.ts';
import { goTo, openConsole, openConsoleWorld, openSignedIn, signIn } from './console-world.ts';
import { USER } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const CARD = { card_number: '4111111111111111', expiry: '12/29' };
const CUSTOMER = 'customer-7';

declare const location: { hash: string };

const world = useWorld(openConsoleWorld);
let desk: { readonly id: string; readonly secret: string };
let token: string;

beforeAll(async () => {
  const { sdk } = world.owner;
  await sdk.keys.create({ user: 'by-phone', passphrase: PASSPHRASE });
  for (const user of [USER, 'by-phone']) {
    await sdk.vault.store({ user, reference: CUSTOMER, data: CARD, passphrase: PASSPHRASE });
  }
  ({ token } = await sdk.vault.store({ user: USER, reference: 'seen', data: CARD, passphrase: PASSPHRASE }));
  desk = await sdk.credentials.create({ name: 'desk', scopes: ['vault:list', 'vault:log'], keys: [USER] });
});

test('a credential is told what it may do', async () => {
  const { page } = await openConsole(world);
  await signIn(world, page, '', desk.secret);
  const rights = page.locator('.panel', { hasText: 'What this credential may do' });
  for (const [name, value] of [
    ['May', 'vault:list, vault:log'],
    ['Keys', USER],
    ['Card numbers', 'masked'],
  ] as const) {
    expect(await rights.locator('dl > div', { hasText: name }).locator('dd').textContent()).toBe(value);
  }
});

test('a credential has the id of the logs, and its new secret says whose it is', async () => {
  const { page } = await openSignedIn(world);
  await goTo(page, 'credentials');
  const row = page.getByRole('row', { name: 'desk' });
  await row.getByText(desk.id).waitFor();
  await row.getByText(`Only these keys: ${USER}`).waitFor();
  await row.getByRole('button', { name: 'New secret' }).click();
  await page.getByRole('dialog', { name: 'New secret: desk' }).getByText('a secret that leaked').waitFor();
});

test('what expires soon is on the home screen, with a link to where it is renewed', async () => {
  const { sdk } = world.owner;
  const { id } = await sdk.credentials.create({ name: 'short', scopes: ['vault:list'], expires_in: 'P3D' });
  await sdk.capture.create({ user: USER, passphrase: PASSPHRASE, ttl: 'P20D', unique_id: 'partner' });
  const { page, faults } = await openSignedIn(world);
  const rows = page.locator('.panel', { hasText: 'What expires within 30 days' }).locator('tbody tr');
  await rows.nth(1).waitFor();
  const [credential = '', endpoint = ''] = await rows.allTextContents();
  expect(credential).toContain(`API credential${id}`);
  expect(credential).toEndWith('Expires soon');
  expect(endpoint).toContain(`Capture endpointpartner${USER}`);
  expect(endpoint).not.toContain('Expires soon');
  await rows.getByRole('link', { name: id }).click();
  await page.getByRole('heading', { level: 1, name: 'API credentials' }).waitFor();
  expect(faults).toEqual([]);
});

test('the sign-in takes what is typed, and signing out leaves no place for the next person', async () => {
  const { page } = await openConsole(world);
  await page.getByLabel('Account name').waitFor();
  expect(await page.evaluate(() => Object(globalThis).document.activeElement?.getAttribute('name'))).toBe(
    'name',
  );
  await signIn(world, page);
  await goTo(page, `items?reference_prefix=${CUSTOMER}`);
  await page.getByText('2 shown; there are no more.').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Account name').waitFor();
  expect(page.url()).not.toContain(CUSTOMER);
});

test('a customer is erased under all keys', async () => {
  const { page } = await openSignedIn(world);
  await goTo(page, `items?reference_prefix=${CUSTOMER}`);
  await page.getByText('2 shown; there are no more.').waitFor();
  await page.getByRole('button', { name: 'Erase a reference' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Key').selectOption({ label: 'All keys' });
  await dialog.getByRole('button', { name: 'Erase a reference' }).click();
  await dialog.getByText('Items deleted: 2').waitFor();
  await page.getByText('No items match.').waitFor();
});

test('what was done is told at its place, and nowhere else', async () => {
  const { page } = await openSignedIn(world, { acceptDownloads: true });
  await goTo(page, 'log');
  await page.getByRole('button', { name: 'Export all that match' }).click();
  const notice = page.getByText('entries saved to a file.');
  await notice.waitFor();
  await page.getByRole('link', { name: 'Yesterday' }).click();
  await page.getByText('No entries match.').waitFor();
  expect(await notice.count()).toBe(0);
});

test('the log of an endpoint is of the uses that were refused, and a token in it is shortened', async () => {
  const { page } = await openSignedIn(world);
  await world.capture({ unique_id: 'till' });
  await goTo(page, 'capture');
  await page.getByRole('row', { name: 'till' }).getByRole('link', { name: 'Refused uses' }).click();
  await page.getByRole('heading', { name: 'Security log' }).waitFor();
  await world.owner.sdk.vault.log({ user: USER, token, reference: 'seen' });
  await goTo(page, `log?token=${token}`);
  const object = page.getByTitle(`item/${USER}/${token}`).first();
  expect(await object.textContent()).toBe(`item/${USER}/${token.slice(0, 8)}…${token.slice(-6)}`);
});

describe('the form builder', () => {
  test('a builder that is left while a change waits for its draft leaves none behind', async () => {
    const { page } = await openSignedIn(world);
    await world.owner.sdk.forms.create({ form_id: 'donation' });
    const replies: Promise<unknown>[] = [];
    page.on('request', (request) => request.method() === 'POST' && replies.push(request.response()));
    await page.clock.install();
    // Within one frame of the end of the pause after which the preview follows.
    for (const waited of [594, 601, 608, 615]) {
      await page.clock.resume();
      await goTo(page, 'form?id=donation');
      await page.frameLocator('iframe').getByLabel('Card number').waitFor();
      await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 60_000);
      await page.getByLabel('Language').selectOption('fr');
      await page.clock.runFor(waited);
      await page.evaluate(() => {
        location.hash = '#/rules';
      });
      await page.getByRole('heading', { name: 'Rules', level: 1 }).waitFor();
      await page.clock.runFor(5_000);
    }
    await Promise.all(replies);
    while ((await world.owner.sdk.forms.list()).some(({ id }) => id.startsWith('console-draft-'))) {
      await Bun.sleep(50);
    }
  });

  test('names languages, and shows the form as it was while a choice has no choices yet', async () => {
    const { page } = await openSignedIn(world);
    await world.owner.sdk.forms.create({ form_id: 'till' });
    await goTo(page, 'form?id=till');
    await page.getByLabel('Language').selectOption({ label: 'German' });
    const preview = page.frameLocator('iframe');
    await preview.getByLabel('Kartennummer').waitFor();
    const refused: number[] = [];
    page.on('response', (response) => response.ok() || refused.push(response.status()));
    await page.clock.install();
    await page.getByRole('button', { name: 'Add a field' }).click();
    await page.getByLabel('Label').fill('Anrede');
    await page.getByRole('group', { name: 'Additional fields' }).getByLabel('Type').selectOption('select');
    // More than the pause after which the preview follows.
    await page.clock.runFor(2_000);
    await page.getByLabel('Choices').fill('Frau, Herr');
    await page.getByLabel('Label').focus();
    await page.clock.runFor(2_000);
    await preview.getByLabel('Anrede').waitFor();
    expect(refused).toEqual([]);
  });
});

test('readings are found by credential and link, and name both, with seconds and zone', async () => {
  const { sdk } = world.owner;
  const reader = await sdk.credentials.create({ name: 'evening shift', scopes: ['vault:read'] });
  const link = await sdk.retrieve.create({ user: USER, token, reference: 'seen', passphrase: PASSPHRASE });
  const headers = {
    authorization: `Bearer ${reader.secret}`,
    'x-vault-passphrase': encodeURIComponent(PASSPHRASE),
  };
  const query = new URLSearchParams({ user: USER, token, reference: 'seen' });
  expect((await fetch(`${world.url}/v1/vault?${query}`, { headers })).status).toBe(200);
  const secret = { 'x-vault-retrieve-secret': link.secret };
  expect(
    (await fetch(`${world.url}/v1/retrieve/${link.unique_id}?token=${token}`, { headers: secret })).status,
  ).toBe(200);
  await sdk.credentials.delete({ id: reader.id });
  const { page } = await openSignedIn(world);
  await goTo(page, `readings?endpoint=${link.unique_id}`);
  const table = page.getByRole('region', { name: 'Readings' });
  await table.getByTitle(link.unique_id).waitFor();
  expect(await table.getByRole('row').count()).toBe(2);
  await goTo(page, `readings?actor=${world.owner.name}/${reader.id}`);
  await table.getByText('evening shift').waitFor();
  expect(await table.locator('time').first().textContent()).toMatch(/\d:\d\d:\d\d\s?(AM|PM)? \S+/);
  await goTo(page, `item?${query}`);
  const log = page.getByRole('region', { name: 'Log' });
  await log.getByText('evening shift').waitFor();
  await log.getByText(link.unique_id).waitFor();
  await goTo(page, `log?actor=credential/${reader.id}`);
  await page.getByText('evening shift').first().waitFor();
});

test('the log of an item cuts no actor off on a phone', async () => {
  const { secret } = await world.owner.sdk.credentials.create({
    ...{ name: 'reader', scopes: ['vault:log', 'vault:list', 'vault:read'] },
  });
  const { page } = await openConsole(world, { viewport: { width: 390, height: 844 } });
  await signIn(world, page, '', secret);
  await goTo(page, `item?${new URLSearchParams({ user: USER, token, reference: 'seen' })}`);
  await page.getByLabel('Passphrase').fill(PASSPHRASE);
  await page.getByRole('button', { name: 'Show' }).click();
  const table = page.getByRole('region', { name: 'Log' });
  await table.getByText(/cred_/).first().waitFor();
  const hidden = await table.evaluate((element: { scrollWidth: number; clientWidth: number }) => [
    element.scrollWidth,
    element.clientWidth,
  ]);
  expect(hidden[0]).toBe(hidden[1] ?? 0);
});

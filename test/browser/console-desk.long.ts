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
  const rights = page.locator('.panel', { hasText: 'What you may do here' });
  for (const [name, value] of [
    ['May', 'list items, read logs of items'],
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
  await sdk.credentials.create({ name: 'short', scopes: ['vault:list'], expires_in: 'P3D' });
  await sdk.capture.create({ user: USER, passphrase: PASSPHRASE, ttl: 'P20D', unique_id: 'partner' });
  const { page, faults } = await openSignedIn(world);
  const rows = page.locator('.panel', { hasText: 'What expires within 30 days' }).locator('tbody tr');
  await rows.nth(1).waitFor();
  const [credential = '', endpoint = ''] = await rows.allTextContents();
  expect(credential).toContain('API credentialshort');
  expect(credential).toEndWith('Expires soon');
  expect(endpoint).toContain(`Capture endpointpartner${USER}`);
  expect(endpoint).not.toContain('Expires soon');
  await rows.getByRole('link', { name: 'short' }).click();
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
  await goTo(page, `items?q=${CUSTOMER}`);
  await page.getByText('2 shown; there are no more.').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Account name').waitFor();
  expect(page.url()).not.toContain(CUSTOMER);
});

test('a card is found from the home screen by its token, under whichever key and reference', async () => {
  const { page } = await openSignedIn(world);
  await page.getByLabel('Token, start of a reference, or last four digits').fill(token);
  await page.keyboard.press('Enter');
  await page.getByText('1 shown; there are no more.').waitFor();
  await page.getByRole('cell', { name: 'seen' }).waitFor();
  await page.getByRole('link', { name: token.slice(0, 8) }).click();
  await page.getByRole('heading', { name: 'Item seen' }).waitFor();
});

test('the expiry of a card is told beside that of its item, and a card that has expired is marked', async () => {
  const { sdk } = world.owner;
  await sdk.keys.create({ user: 'told', passphrase: PASSPHRASE, summary: true });
  for (const [reference, expiry] of [
    ['valid', '12/2099'],
    ['past', '01/2020'],
  ]) {
    const data = { card_number: '4111111111111111', expiry };
    await sdk.vault.store({ user: 'told', reference, data, passphrase: PASSPHRASE, ttl: 'P1D' });
  }
  const { page } = await openSignedIn(world);
  await goTo(page, 'items?user=told');
  const cell = (row: string) => page.getByRole('row', { name: row }).locator('[data-title="Card expires"]');
  expect(await cell('valid').textContent()).toBe('12/2099 ');
  expect(await cell('past').textContent()).toBe('01/2020 Expired');
});

test('a key gets summaries, also of the cards that it has, and four digits find them', async () => {
  const { sdk } = world.owner;
  await sdk.keys.create({ key: 'digits', passphrase: PASSPHRASE });
  const data = { card_number: '5555555555554444', expiry: '12/2099' };
  await sdk.vault.store({ key: 'digits', reference: 'by-digits', data, passphrase: PASSPHRASE });
  const { page, faults } = await openSignedIn(world);
  await goTo(page, 'items?q=4444');
  await page.getByText('Cards are found by their last four digits').waitFor();
  await goTo(page, 'keys');
  const row = page.getByRole('row', { name: /^digits/ });
  await row.getByRole('button', { name: 'Summaries' }).click();
  const dialog = page.getByRole('dialog');
  expect(await dialog.getByLabel('List brand, last four digits and expiry of its cards').isChecked()).toBe(
    true,
  );
  await dialog.getByLabel('Passphrase').fill(PASSPHRASE);
  await dialog.getByRole('button', { name: 'Summaries' }).click();
  await dialog.waitFor({ state: 'detached' });
  while ((await sdk.keys.resealProgress({ key: 'digits' })).finished_at === undefined) {
    await Bun.sleep(50);
  }
  await row.getByRole('button', { name: 'Seal anew' }).click();
  await dialog.getByText('1 of 1 items sealed anew.').waitFor();
  await dialog.getByRole('button', { name: 'Close' }).click();
  await goTo(page, 'items?q=4444');
  await page.getByText('1 shown; there are no more.').waitFor();
  await page.getByRole('row', { name: 'by-digits' }).getByText('Mastercard').waitFor();
  // The first search is refused where no key of the account has summaries.
  expect(faults.filter((fault) => !fault.includes('status of 400'))).toEqual([]);
});

test('words are shown for codes, which are in titles', async () => {
  const { page } = await openSignedIn(world);
  await goTo(page, 'log?action=key.create');
  const log = page.getByRole('region', { name: 'Security log' });
  await log.getByTitle('key.create').first().waitFor();
  expect(await log.getByTitle('key.create').first().textContent()).toBe('Create a key');
  expect(await log.getByTitle('success', { exact: true }).first().textContent()).toBe('Success');
  expect(await page.getByLabel('Action').locator('option:checked').textContent()).toBe('Create a key');
  await goTo(page, `item?${new URLSearchParams({ user: USER, token, reference: 'seen' })}`);
  await page.getByLabel('Passphrase').fill('not-the-passphrase');
  await page.getByRole('button', { name: 'Show' }).click();
  await page.getByTitle('passphrase_wrong').getByText('Passphrase wrong').waitFor();
  await goTo(page, 'log?outcome=passphrase%20wrong');
  await log.getByTitle('passphrase_wrong').first().waitFor();
  await goTo(page, 'usage');
  expect(await page.getByTitle('store', { exact: true }).textContent()).toBe('Items stored');
});

test('what a person did is found by name, also once the credential is deleted', async () => {
  const { sdk } = world.owner;
  const headersOf = (secret: string) => ({ authorization: `Bearer ${secret}` });
  const left = await sdk.credentials.create({ name: 'Ada Left', scopes: ['vault:list'] });
  const stays = await sdk.credentials.create({ name: 'Ben Stays', scopes: ['vault:list'] });
  for (const { secret } of [left, stays]) {
    expect((await fetch(`${world.url}/v1/whoami`, { headers: headersOf(secret) })).status).toBe(200);
  }
  await sdk.credentials.delete({ id: left.id });
  const { page } = await openSignedIn(world);
  const log = page.getByRole('region', { name: 'Security log' });
  for (const [typed, id] of [
    ['ada left', left.id],
    ['Ben Stays', stays.id],
    [left.id, left.id],
  ] as const) {
    await goTo(page, 'log');
    await page.getByLabel('Actor').fill(typed);
    await page.keyboard.press('Enter');
    await page.getByText('1 shown; there are no more.').waitFor();
    await log.getByText(id).first().waitFor();
  }
  await goTo(page, 'log?actor=nobody');
  await page.getByText('No entries match.').waitFor();
});

test('a link to an item is made at the item, opens it, and is named by its log', async () => {
  const { page, faults } = await openSignedIn(world);
  await goTo(page, `item?${new URLSearchParams({ user: USER, token, reference: 'seen' })}`);
  await page.getByRole('button', { name: 'Make a link' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Passphrase').fill(PASSPHRASE);
  await dialog.getByLabel('Lifetime').fill('2 hours');
  await page.keyboard.press('Enter');
  await dialog.getByRole('img', { name: 'QR code of the link' }).waitFor();
  const link = (await dialog.locator('.once code').textContent()) ?? '';
  await dialog.getByRole('button', { name: 'I have kept it' }).click();
  const made = (await world.owner.sdk.retrieve.list()).find((endpoint) => link.includes(endpoint.unique_id));
  expect(made).toMatchObject({ user: USER, token, reference: 'seen' });
  const hours = (Date.parse(made?.expires_at ?? '') - Date.now()) / 3_600_000;
  expect(hours).toBeCloseTo(2, 1);
  const visitor = await page.context().newPage();
  await visitor.goto(link);
  await visitor.getByRole('button', { name: 'Show details' }).click();
  await visitor.getByText(/1111/).first().waitFor();
  await visitor.close();
  await goTo(page, `readings?endpoint=${made?.unique_id}`);
  await page.getByRole('region', { name: 'Readings' }).getByText(USER).first().waitFor();
  expect(faults).toEqual([]);
});

test('stopped endpoints are folded, and endpoints are found by what they name', async () => {
  const { sdk } = world.owner;
  await sdk.keys.create({ user: 'ended', passphrase: PASSPHRASE });
  for (const unique_id of ['ended-1', 'ended-2']) {
    await sdk.retrieve.create({ user: 'ended', passphrase: PASSPHRASE, unique_id, reference: 'old' });
  }
  await sdk.keys.changePassphrase({ user: 'ended', passphrase: PASSPHRASE });
  await sdk.retrieve.create({ user: USER, passphrase: PASSPHRASE, unique_id: 'alive', reference: 'new' });
  const { page } = await openSignedIn(world);
  await goTo(page, 'retrieve');
  await page.getByRole('row', { name: 'alive' }).waitFor();
  expect(await page.getByRole('row', { name: 'ended-1' }).count()).toBe(0);
  await page.getByRole('link', { name: /^Show \d+ stopped too/ }).click();
  await page.getByRole('row', { name: 'ended-1' }).waitFor();
  await page.getByLabel('contains').fill('old');
  await page.keyboard.press('Enter');
  await page.getByRole('row', { name: 'alive' }).waitFor({ state: 'detached' });
  expect(await page.getByRole('row', { name: /ended-\d/ }).count()).toBe(2);
});

test('an exported list has all of its rows, and no formula', async () => {
  const { sdk } = world.owner;
  await sdk.keys.create({ user: 'exported', passphrase: PASSPHRASE });
  const items = Array.from({ length: 60 }, (_, at) => ({ reference: `=1+${at}`, data: CARD }));
  await Array.fromAsync(sdk.vault.storeMany({ user: 'exported', items, passphrase: PASSPHRASE }));
  const { page } = await openSignedIn(world, { acceptDownloads: true });
  await goTo(page, 'items?user=exported');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export as CSV' }).click(),
  ]);
  const text = await Bun.file(await download.path()).text();
  expect(text.match(/"'=1\+\d+"/g)).toHaveLength(60);
  expect(text).not.toMatch(/(?:^|[,"])=/m);
});

test('what is wrong with a field is told by its label', async () => {
  const { page } = await openSignedIn(world);
  await goTo(page, 'credentials');
  await page.getByRole('button', { name: 'New credential' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('wrong');
  await dialog.getByLabel('Role').selectOption('store');
  await dialog.getByText('More fields').click();
  await dialog.getByLabel('Lifetime').fill('soon');
  await dialog.getByRole('button', { name: 'New credential' }).click();
  await dialog.getByText(/^Lifetime must be a duration/).waitFor();
});

test('what a credential did is one press away, also under its name', async () => {
  const { page } = await openSignedIn(world);
  await goTo(page, 'credentials');
  await page.getByRole('row', { name: 'desk' }).getByRole('link', { name: 'Readings' }).click();
  await page.getByRole('heading', { name: 'Readings', level: 1 }).waitFor();
  expect(page.url()).toContain(encodeURIComponent(`${world.owner.name}/${desk.id}`));
});

test('a customer is erased under all keys', async () => {
  const { page } = await openSignedIn(world);
  await goTo(page, `items?q=${CUSTOMER}`);
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
  await page.getByRole('button', { name: 'Export as CSV' }).click();
  const notice = page.getByText('rows saved to a file.');
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
  test('shows the form whole, without saying that it has no endpoint', async () => {
    const { page } = await openSignedIn(world);
    await world.owner.sdk.forms.create({ form_id: 'whole' });
    await goTo(page, 'form?id=whole');
    const preview = page.frameLocator('iframe');
    const [button, told] = [preview.getByRole('button').last(), preview.getByRole('alert')];
    await button.waitFor();
    const heightOf = async () => (await page.locator('iframe').boundingBox())?.height ?? 0;
    while ((await heightOf()) === 640) {
      await page.waitForTimeout(50);
    }
    const needed = await preview
      .locator('vault-form')
      .evaluate((form: { clientHeight: number }) => form.clientHeight);
    expect(await heightOf()).toBeGreaterThanOrEqual(needed);
    expect((await told.allTextContents()).join('')).toBe('');
    // By itself the same page says so.
    const alone = await page.context().newPage();
    await alone.goto(`${world.url}/v1/capture/iframe/whole`);
    await alone.getByText('not connected yet').waitFor();
    await alone.close();
  });

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

test('an account without a key, and one without an item, are told what comes next', async () => {
  const { name, password, sdk } = await world.vault.account();
  const { page } = await openConsole(world);
  await signIn(world, page, name, password);
  const first = page.locator('.panel', { hasText: 'First step' });
  expect(await first.getByRole('link', { name: 'Create a key' }).getAttribute('href')).toBe('#/keys');
  const key = { user: 'first', passphrase: PASSPHRASE };
  await sdk.keys.create(key);
  await goTo(page, 'keys');
  await goTo(page, '');
  const next = page.locator('.panel', { hasText: 'Next step' });
  const link = next.getByRole('link', { name: 'Store a card' });
  const [place = '', anchor = ''] = ((await link.getAttribute('href')) ?? '').split('#');
  expect(await (await fetch(`${world.url}${place}`)).text()).toContain(`id="${anchor}"`);
  await sdk.vault.store({ ...key, data: CARD });
  await goTo(page, 'keys');
  await goTo(page, '');
  await page.locator('.tiles').waitFor();
  expect(await page.getByText(/(?:First|Next) step/).count()).toBe(0);
});

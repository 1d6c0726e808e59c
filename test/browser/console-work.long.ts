/** The console at work: where the focus is, what the place holds, how it lies on a phone, what few rights show. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import type { Scope } from '../../sdk/transport/types.ts';
import { redisKeys } from '../../server/redis/records/keys.ts';
import { PASSPHRASE } from '../helpers/clients.ts';
import { useEndpoint } from '../helpers/endpoints.ts';
import { localProxy } from '../helpers/proxy.ts';
import { startThirdParty, type ThirdParty } from '../helpers/third-party.ts';
import { axeFaults } from './axe.ts';
import { goTo, openConsole, openConsoleWorld, openSignedIn, signIn } from './console-world.ts';
import { type FormsWorld, USER } from './forms-world.ts';

const ITEMS = 55;
/** An image of one point. */
const LOGO =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

declare const document: {
  activeElement: { tagName: string; textContent: string | null; getAttribute(name: string): string | null };
};

setDefaultTimeout(120_000);
let world: FormsWorld;
let party: ThirdParty;
let token: string;

beforeAll(async () => {
  [party, world] = await Promise.all([startThirdParty(), openConsoleWorld({ proxy: await localProxy() })]);
  party.script('/broken', 500);
  const { sdk } = world.owner;
  const items = Array.from({ length: ITEMS }, (_, at) => ({
    reference: `order-${1_000 + at}`,
    data: { card_number: '4111111111111111', expiry: '12/29' },
  }));
  const [first] = await Array.fromAsync(sdk.vault.storeMany({ user: USER, items, passphrase: PASSPHRASE }));
  token = first && 'token' in first ? first.token : '';
  await sdk.rules.create({ id: 'nothing', operations: [{ name: 'noop', input_field: 'a' }] });
  await sdk.forms.create({ form_id: 'donation' });
  await sdk.certificates.createCsr({ cn: 'shop.example' });
  await world.capture({ unique_id: 'to-stop' });
});
afterAll(async () => {
  party?.stop();
  await world?.close();
});

function datesOf(times: { getAttribute(name: string): string | null }[]): string[] {
  return times.map((time) => time.getAttribute('datetime') ?? '');
}

/** What has the focus, as its kind and how it is called. */
function focused(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { activeElement: element } = document;
    const name = element.getAttribute('aria-label') ?? element.getAttribute('name') ?? element.textContent;
    return `${element.tagName} ${name}`;
  });
}

/** Waits until this has the focus; fails with what has it in the end. */
async function waitForFocus(page: Page, wanted: string): Promise<void> {
  const end = performance.now() + 10_000;
  while ((await focused(page)) !== wanted && performance.now() < end) {
    await page.waitForTimeout(20);
  }
  expect(await focused(page)).toBe(wanted);
}

describe('the keyboard', () => {
  test('walks through Items in the order of the page, and into an item', async () => {
    const { page } = await openSignedIn(world);
    await goTo(page, `items?user=${USER}&q=order-1001`);
    await page.getByRole('link', { name: /…/ }).waitFor();
    await waitForFocus(page, 'H1 Items');
    const walked: string[] = [];
    for (let step = 0; step < 7; step += 1) {
      await page.keyboard.press('Tab');
      walked.push(await focused(page));
    }
    const link = (await page.getByRole('link', { name: /…/ }).textContent()) ?? '';
    expect(walked).toEqual([
      ...['BUTTON Export as CSV', 'INPUT q', 'SELECT user', 'BUTTON Search'],
      ...['SUMMARY More fields', 'SECTION Items', `A ${link}`],
    ]);
    await page.keyboard.press('Enter');
    await waitForFocus(page, 'H1 Item order-1001');
  });

  test('finds itself in the first field of a dialog, and on the page again after it', async () => {
    const { page } = await openSignedIn(world);
    await goTo(page, 'credentials');
    await page.getByRole('button', { name: 'New credential' }).press('Enter');
    expect(await focused(page)).toBe('INPUT name');
    await page.keyboard.type('by-keyboard');
    await page.keyboard.press('Tab');
    expect(await page.getByLabel('Role').inputValue()).toBe('');
    await page.getByLabel('Role').selectOption('store');
    await page.getByLabel('Name').press('Enter');
    await waitForFocus(page, 'DIV Secret of the credential.');
    for (const next of ['BUTTON Copy', 'BUTTON I have kept it']) {
      await page.keyboard.press('Tab');
      expect(await focused(page)).toBe(next);
    }
    await page.keyboard.press('Enter');
    await waitForFocus(page, 'BUTTON New credential');
  });

  test('is not lost with what was deleted, which is said', async () => {
    const { page } = await openSignedIn(world);
    await goTo(page, 'capture');
    const row = page.getByRole('row', { name: 'to-stop' });
    await row.getByRole('button', { name: 'Stop' }).press('Enter');
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).press('Enter');
    await row.waitFor({ state: 'detached' });
    await waitForFocus(page, 'H1 Capture endpoints');
    expect(await page.getByRole('status').filter({ hasText: 'to-stop: stopped.' }).count()).toBe(1);
  });
});

test('a secret stays, from the request that makes it until it is kept, whatever else is pressed', async () => {
  const { page } = await openSignedIn(world);
  const sent = Promise.withResolvers<void>();
  await page.route('**/v1/key*', async (route) => {
    await (route.request().method() === 'POST' ? sent.promise : undefined);
    await route.continue();
  });
  await goTo(page, 'keys');
  await page.getByRole('button', { name: 'Create a key' }).click();
  const dialog = page.getByRole('dialog');
  const pressAll = async (): Promise<void> => {
    // The second one in a row would close what the first one has not.
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.mouse.click(4, 4);
    await dialog.getByRole('button', { name: 'Close' }).dispatchEvent('click');
  };
  await dialog.getByLabel('Name').fill('kept');
  await page.keyboard.press('Enter');
  await dialog.getByRole('button', { name: 'Sending …' }).waitFor();
  await pressAll();
  sent.resolve();
  await dialog.getByText('Shown once').waitFor();
  await pressAll();
  expect(await axeFaults(page)).toEqual([]);
  const passphrase = (await dialog.locator('code').textContent()) ?? '';
  await dialog.getByRole('button', { name: 'I have kept it' }).click();
  await dialog.waitFor({ state: 'detached' });
  await world.owner.sdk.vault.store({ user: 'kept', passphrase, data: { number: '4242424242424242' } });
});

describe('the place', () => {
  test('has the filters, also on the way back', async () => {
    const { page } = await openSignedIn(world);
    await goTo(page, 'items');
    const search = page.getByLabel('Token, start of a reference, or last four digits');
    for (const wanted of ['order-1001', 'order-1002']) {
      await search.fill(wanted);
      await search.press('Enter');
      await page.waitForURL((url) => url.hash === `#/items?q=${wanted}`);
      await page.getByText('1 shown; there are no more.').waitFor();
      await page.getByRole('cell', { name: wanted }).waitFor();
    }
    await page.goBack();
    await page.getByRole('cell', { name: 'order-1001' }).waitFor();
    expect(await search.inputValue()).toBe('order-1001');
  });

  test('has a day of the log, which is exported whole', async () => {
    const { page } = await openSignedIn(world, { timezoneId: 'Asia/Tokyo', acceptDownloads: true });
    await goTo(page, 'log');
    await page.getByRole('link', { name: 'Today' }).click();
    await page.waitForURL(/after=.*T15%3A00%3A00Z&before=.*T15%3A00%3A00Z/);
    // The address is there before what it shows.
    await page.locator('a[aria-current="true"]', { hasText: 'Today' }).waitFor();
    expect(await page.getByLabel('At or after').inputValue()).toEndWith('T00:00');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export as CSV' }).click(),
    ]);
    const [names, ...lines] = (await Bun.file(await download.path()).text()).trimEnd().split('\r\n');
    await page.getByText(`${lines.length} rows saved`).waitFor();
    expect(names).toContain('id,time,action,outcome,actor');
    expect(lines.join()).toContain(',endpoint.create,success,');
  });

  test('of a list goes on where its page ends', async () => {
    const { page } = await openSignedIn(world);
    await goTo(page, `items?user=${USER}`);
    await page.getByText('50 shown, and there are more.').waitFor();
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByText(`${ITEMS} shown; there are no more.`).waitFor();
    expect(await page.getByRole('row').count()).toBe(ITEMS + 1);
    const times = await page.locator('tbody td[data-title="Stored"] time').evaluateAll(datesOf);
    expect(times).toEqual(times.toSorted().reverse());
  });
});

test('a webhook that failed is told in words, and called again', async () => {
  const { sdk } = world.owner;
  const webhook = { url: party.url('/broken'), max_attempts: 1 };
  const endpoint = await sdk.capture.create({ user: USER, passphrase: PASSPHRASE, webhook });
  const body = { number: '4242424242424242' };
  await useEndpoint(world.vault, 'POST', new URL(endpoint.url, world.url).pathname, {
    ...{ secret: endpoint.secret, body },
  });
  const { page } = await openSignedIn(world);
  await goTo(page, 'jobs?status=failed');
  while ((await page.getByRole('link', { name: /…/ }).count()) === 0) {
    await page.getByRole('button', { name: 'Refresh' }).click();
    await page.waitForTimeout(200);
  }
  await page.getByRole('link', { name: /…/ }).click();
  await page.getByText('The webhook’s server answered 500 to the last call').waitFor();
  await page.getByRole('button', { name: 'Deliver again' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Deliver again' }).click();
  await page.getByText('The webhook is being called.', { exact: true }).waitFor();
  await page.getByRole('region', { name: 'Calls of the webhook' }).getByRole('row').nth(2).waitFor();
});

test('jobs that are finished are folded', async () => {
  const { sdk } = world.owner;
  party.script('/told', 200);
  const webhook = { url: party.url('/told') };
  const endpoint = await sdk.capture.create({
    user: USER,
    passphrase: PASSPHRASE,
    webhook,
    reference: 'told',
  });
  await useEndpoint(world.vault, 'POST', new URL(endpoint.url, world.url).pathname, {
    ...{ secret: endpoint.secret, body: { number: '4242424242424242' } },
  });
  while ((await sdk.jobs.list({ status: 'done' })).data.length === 0) {
    await Bun.sleep(50);
  }
  const { page } = await openSignedIn(world);
  await goTo(page, 'jobs');
  expect(await page.getByRole('row', { name: 'told' }).count()).toBe(0);
  await page.getByRole('link', { name: 'Show finished ones too' }).click();
  await page.getByRole('row', { name: 'told' }).getByText('Done').waitFor();
  expect(await page.getByLabel('Status').locator('option:checked').textContent()).toBe('All');
});

test('endpoints show how often they were used, and their other limits', async () => {
  const limits = { max_uses: 2, rate: '20/m', origins: 'https://shop.example' };
  const { url, secret } = await world.capture({ unique_id: 'limited', ...limits });
  const use = () =>
    useEndpoint(world.vault, 'POST', new URL(url, world.url).pathname, {
      secret,
      body: { card_number: '4111111111111111' },
      query: { reference: 'limited' },
    });
  expect((await use()).outcome).toBe('200');
  const { page } = await openSignedIn(world);
  await goTo(page, 'capture');
  const row = page.getByRole('row').filter({ hasText: 'limited' });
  expect(await row.textContent()).toContain('1 of 2 uses, 20/m, https://shop.example');
  expect(await row.textContent()).toContain('Active');
  expect((await use()).outcome).toBe('200');
  await goTo(page, 'keys');
  await goTo(page, 'capture');
  await row.getByText('Used up').waitFor();
});

test('a paused subscription says since when, why, and how many events were left out', async () => {
  const { owner, vault } = world;
  const { id } = await owner.sdk.events.create({ url: party.url('/paused'), types: ['item.*'] });
  const state = redisKeys.eventState(owner.aid);
  await vault.raw.hset(state, `p:${id}`, Date.now(), `w:${id}`, 'full', `l:${id}`, 12);
  const { page } = await openSignedIn(world, { viewport: { width: 390, height: 844 } });
  await goTo(page, 'events');
  const row = page.getByRole('row').filter({ hasText: '/paused' });
  expect(await row.textContent()).toMatch(/Paused since .*\d{4}.*too many events waitedLeft out: 12/);
  // On a phone all parts of a cell stand beside its title.
  const cells = await row
    .locator('td')
    .evaluateAll((all) => all.map((cell) => cell.getBoundingClientRect().width));
  expect(Math.max(...cells)).toBeLessThanOrEqual(390);
  const faults = await axeFaults(page);
  expect(faults).toEqual([]);
  await owner.sdk.events.delete({ id });
});

test('a connection is made with the key of a third party, which is shown nowhere', async () => {
  const { page, faults } = await openSignedIn(world);
  await goTo(page, 'connections');
  await page.getByRole('button', { name: 'New connection' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Id', { exact: true }).fill('pay');
  await dialog.getByLabel('Address').fill('https://api.pay.example/v1');
  await dialog.getByLabel('Value of the header').fill('Bearer sk_test_example');
  await dialog.getByText('More fields').click();
  await dialog.getByRole('group', { name: 'Only these methods' }).getByLabel('POST').check();
  await dialog.getByLabel('Only these paths').fill('/charges, /refunds');
  await dialog.getByRole('button', { name: 'New connection' }).click();
  await page.getByRole('row', { name: 'pay' }).getByText('Only these paths: /charges, /refunds').waitFor();
  expect(await page.content()).not.toContain('sk_test_example');
  expect(await world.owner.sdk.connections.get({ id: 'pay' })).toMatchObject({
    ...{ base_url: 'https://api.pay.example/v1', headers: ['Authorization'], methods: ['POST'] },
    paths: ['/charges', '/refunds'],
  });
  expect(faults).toEqual([]);
});

test('a connection is changed: what has no secret stays, and values of headers are typed again', async () => {
  const { connections } = world.owner.sdk;
  const sign = { algorithm: 'hmac-sha-256', header: 'X-Signature', payload: '{{body}}' } as const;
  await connections.create({
    ...{ id: 'acquirer', base_url: 'https://old.pay.example', timeout_ms: 9_000, paths: ['/charges'] },
    headers: [{ Authorization: 'Bearer sk_test_old' }, { 'X-Merchant': 'shop' }],
    ...{ methods: ['POST'], sign: { ...sign, key: 'example-signing-key' } },
  });
  const { page, faults } = await openSignedIn(world);
  await goTo(page, 'connections');
  const row = page.getByRole('row', { name: /^acquirer/ });
  await row.getByRole('button', { name: 'Change' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Address').fill('https://new.pay.example');
  await dialog.getByLabel('Value of Authorization').fill('Bearer sk_test_new');
  await dialog.getByLabel('Key of the signature').fill('another-signing-key');
  await dialog.getByLabel('Only these paths').fill('/charges, /refunds');
  await dialog.getByRole('button', { name: 'Change' }).click();
  await row.getByText('https://new.pay.example').waitFor();
  expect(await connections.get({ id: 'acquirer' })).toMatchObject({
    ...{ base_url: 'https://new.pay.example', headers: ['Authorization'], methods: ['POST'], sign },
    ...{ timeout_ms: 9_000, paths: ['/charges', '/refunds'] },
  });
  expect(await page.content()).not.toContain('sk_test_new');
  for (const id of ['pay', 'acquirer']) {
    const shown = page.getByRole('row', { name: new RegExp(`^${id}`) });
    await shown.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await shown.waitFor({ state: 'detached' });
  }
  await page.getByText('None yet.').waitFor();
  expect(faults).toEqual([]);
});

test('an inbound is made for a connection, works as its example says, and is stopped', async () => {
  const { sdk } = world.owner;
  await sdk.connections.create({ id: 'shut', base_url: 'https://shut.example' });
  await sdk.connections.create({ id: 'merchant', base_url: party.url(''), paths: ['/told'] });
  party.script('/told', ({ text }) => ({ status: 200, body: text }));
  const { page, faults } = await openSignedIn(world);
  await goTo(page, 'connections');
  const connection = page.getByRole('row', { name: /^merchant/ });
  await connection.getByRole('button', { name: 'Change' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Inbounds may forward through it').check();
  await dialog.getByRole('button', { name: 'Change' }).click();
  await connection.getByText('Inbounds may forward through it').waitFor();
  await goTo(page, 'inbound');
  await page.getByRole('button', { name: 'New inbound' }).click();
  // The one that lets no inbound through is not offered.
  await dialog.getByLabel('Connection').waitFor();
  const offered = await dialog.getByLabel('Connection').locator('option').allTextContents();
  expect(offered).toEqual(['Choose …', 'merchant']);
  await dialog.getByLabel('Key').selectOption(USER);
  await dialog.getByLabel('Passphrase').fill(PASSPHRASE);
  await dialog.getByLabel('Connection').selectOption('merchant');
  await dialog.getByLabel('Path of the security code').fill('card.cvc');
  await page.keyboard.press('Enter');
  await dialog.getByText('Needed where there are other paths.').waitFor();
  await dialog.getByLabel('Path of the card number').fill('card.number');
  await dialog.getByLabel('Paths to store with it').fill('valid=card.expiry, card.holder');
  await page.keyboard.press('Enter');
  await dialog.getByText('Give a name to each path').waitFor();
  await dialog.getByLabel('Paths to store with it').fill('valid=card.expiry');
  await dialog.getByLabel('Path of the reference').fill('order');
  await dialog.getByLabel('Numbers elsewhere').selectOption('Mask them');
  await dialog.getByText('More fields').click();
  await dialog.getByLabel('Id', { exact: true }).fill('partner');
  await dialog.getByLabel('Paths of other cards').fill('[{"number": "payer.card"}]');
  await dialog.getByLabel('Only from these addresses').fill('127.0.0.0/8');
  await page.keyboard.press('Enter');
  await dialog.getByText('Shown once').waitFor();
  const example = (await dialog.locator('pre').textContent()) ?? '';
  const card = { number: '4111111111111111', cvc: '123', expiry: '12/40' };
  const order = JSON.stringify({ order: 'order-by-partner', card, note: '5555555555554444' });
  const sent = Bun.spawn(['sh', '-c', example.replace('@order.json', '@-')], { stdin: new Blob([order]) });
  const told = JSON.parse(await sent.stdout.text());
  expect(told).toEqual({
    order: 'order-by-partner',
    card: { number: expect.stringMatching(/^[0-9a-f]{64}$/), cvc: '***', expiry: '12/40' },
    note: expect.stringMatching(/^\*+(?:4444)?$/),
  });
  expect(await world.stored(told.card.number, 'order-by-partner')).toEqual({
    ...{ card_number: card.number, cvv: card.cvc, valid: card.expiry },
  });
  const secret = (await dialog.locator('.once code').textContent()) ?? '';
  await page.getByRole('button', { name: 'I have kept it' }).click();
  await dialog.waitFor({ state: 'detached' });
  expect(await page.content()).not.toContain(secret);
  const row = page.getByRole('row', { name: /^partner/ });
  expect(await row.textContent()).toContain('Numbers elsewhere: Mask them, 127.0.0.0/8');
  await row.getByRole('button', { name: 'Stop' }).click();
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('None yet. With one, partners').waitFor();
  const late = Bun.spawn(['sh', '-c', example.replace('@order.json', '@-')], { stdin: new Blob([order]) });
  expect(JSON.parse(await late.stdout.text())).toMatchObject({ code: 'endpoint_refused' });
  expect(faults).toEqual([]);
  await sdk.connections.delete({ id: 'shut' });
  await sdk.connections.delete({ id: 'merchant' });
});

test('who opens the guide or the reference stays signed in', async () => {
  const { page } = await openSignedIn(world);
  for (const [name, path] of [
    ['Guide', '/guide'],
    ['API reference', '/docs'],
  ] as const) {
    const opened = page.context().waitForEvent('page');
    await page.getByRole('link', { name, exact: true }).click();
    await (await opened).waitForURL(`${world.url}${path}`);
    expect(await page.getByRole('heading', { name: 'Home' }).isVisible()).toBe(true);
  }
});

test('an additional field has its type, in the preview and in what is saved', async () => {
  const { page } = await openSignedIn(world);
  await goTo(page, 'form?id=donation');
  await page.getByRole('button', { name: 'Add a field' }).press('Enter');
  await page.locator('.extra input:focus').waitFor();
  await page.getByLabel('Name in the stored data').fill('email');
  await page.getByLabel('Label').fill('E-mail');
  await page.getByRole('group', { name: 'Additional fields' }).getByLabel('Type').selectOption('email');
  await page.getByLabel('Must be filled in').check();
  await page.frameLocator('iframe').getByLabel('E-mail').waitFor();
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved.').waitFor();
  expect((await world.owner.sdk.forms.get({ form_id: 'donation' })).additional_fields).toEqual([
    { name: 'email', label: 'E-mail', type: 'email', required: true },
  ]);
});

test('colours are picked, and a logo is chosen and removed, in the preview and in what is saved', async () => {
  const { forms } = world.owner.sdk;
  await forms.create({ form_id: 'with-logo' });
  const { page } = await openSignedIn(world);
  await goTo(page, 'form?id=with-logo');
  const preview = page.frameLocator('iframe');
  await preview.getByLabel('Card number').waitFor();
  const picker = page.getByLabel('Pick: Colour of button and focus');
  expect(await picker.inputValue()).toBe('#3a4ad9');
  await picker.fill('#aa00cc');
  const [buffer, name, mimeType] = [Buffer.from(LOGO, 'base64'), 'logo.png', 'image/png'];
  await page.getByLabel('Logo').setInputFiles({ name, mimeType, buffer });
  await preview.locator(`img[src*="${LOGO.slice(0, 40)}"]`).waitFor();
  const save = async () => {
    const stored = page.waitForResponse(
      (reply) => reply.request().method() === 'PUT' && reply.url().endsWith('/with-logo'),
    );
    await page.getByRole('button', { name: 'Save' }).click();
    await stored;
    return (await forms.get({ form_id: 'with-logo' })).theme;
  };
  expect(await save()).toEqual({ primary_color: '#aa00cc', logo_image: LOGO });
  await page.getByRole('button', { name: 'Default: Colour of button and focus' }).click();
  await page.getByLabel('Colour of errors', { exact: true }).fill('red');
  expect(await page.getByLabel('Pick: Colour of errors').inputValue()).toBe('#ff0000');
  expect(await save()).toEqual({ error_color: 'red', logo_image: LOGO });
  await page.getByRole('button', { name: 'Default: Colour of errors' }).click();
  await page.getByRole('button', { name: 'Remove the logo' }).click();
  expect(await save()).toEqual({});
});

test('the preview of a form is one draft, which follows what was typed and is deleted with the page', async () => {
  const { forms, audit } = world.owner.sdk;
  const { page } = await openSignedIn(world);
  await goTo(page, 'form?id=donation');
  await page.frameLocator('iframe').getByLabel('Card number').waitFor();
  const sent: string[] = [];
  page.on('request', (request) => request.method() !== 'GET' && sent.push(request.method()));
  await page.getByLabel('Colour of button and focus', { exact: true }).focus();
  await page.clock.install();
  for (const letter of 'red') {
    await page.keyboard.type(letter);
    // More than the pause after which the preview follows a change.
    await page.clock.runFor(2_000);
  }
  expect(sent).toEqual([]);
  await page.keyboard.press('Tab');
  const src = await page.locator('iframe[src*="console-draft-"]').getAttribute('src');
  const [id = ''] = /console-draft-[^?]+/.exec(src ?? '') ?? [];
  // The draft of an earlier test may still be on its way out.
  const drafts = async () => (await forms.list()).filter((form) => form.id === id);
  expect(await drafts()).toMatchObject([{ theme: { primary_color: 'red' } }]);
  await page.goto('about:blank');
  const actions = async (): Promise<string[]> =>
    (await audit.list({ limit: 500 })).data
      .filter(({ object }) => object?.includes(id))
      .map(({ action }) => action);
  while ((await drafts()).length > 0 || (await actions()).length < 2) {
    await Bun.sleep(50);
  }
  expect(await actions()).toEqual(['form.delete', 'form.create']);
});

describe('a credential with few rights', () => {
  const few: readonly (readonly Scope[])[] = [
    ['vault:list'],
    ['vault:read', 'vault:log'],
    ['key:read'],
    ['rule:read'],
    ['rule:write'],
    ['key:write'],
    ['capture:write'],
    ['form:write'],
    ['job:read'],
    ['event:write'],
    ['connection:read'],
    ['connection:write'],
    ['audit:read'],
    ['usage:read'],
    ['cert:write'],
    ['credential:write'],
    ['preference:write'],
  ];

  test.each(few.map((scopes) => [scopes.join(), scopes] as const))(
    'with %s is led to nothing that it may not do',
    async (name, scopes) => {
      const { secret } = await world.owner.sdk.credentials.create({ name, scopes: [...scopes] });
      const { page, faults } = await openConsole(world);
      await signIn(world, page, '', secret);
      const places = await page
        .getByRole('navigation', { name: 'Menu' })
        .getByRole('link')
        .evaluateAll((links: { getAttribute(name: string): string | null }[]) =>
          links.map((link) => link.getAttribute('href')?.slice(2) ?? ''),
        );
      for (const place of places) {
        await goTo(page, place);
        await page.waitForLoadState('networkidle');
      }
      // A reply that refuses something is a message of the browser.
      expect(faults).toEqual([]);
    },
  );
});

test('a credential that may create rules and keys, and read none, creates them', async () => {
  const { sdk } = world.owner;
  const scopes: Scope[] = ['rule:write', 'key:write'];
  const { secret } = await sdk.credentials.create({ name: 'creates', scopes });
  const { page, faults } = await openConsole(world);
  await signIn(world, page, '', secret);
  await page.getByRole('link', { name: 'Rules' }).click();
  await page.getByText('but not list what there is').waitFor();
  await page.getByRole('link', { name: 'New rule' }).click();
  await page.getByRole('button', { name: 'Add operation' }).click();
  await page.getByLabel('Id').fill('unseen');
  expect(await page.getByRole('button', { name: 'Run' }).count()).toBe(0);
  await page.getByRole('button', { name: 'Create rule' }).click();
  await page.getByText('The rule was created.').waitFor();
  expect((await sdk.rules.get({ id: 'unseen' })).operations).toMatchObject([{ name: 'substr' }]);
  await page.getByRole('link', { name: 'Keys' }).click();
  await page.getByRole('button', { name: 'Create a key' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('unseen');
  await page.keyboard.press('Enter');
  await page.getByText('Shown once').waitFor();
  await page.getByRole('button', { name: 'I have kept it' }).click();
  expect(await page.getByRole('row').count()).toBe(0);
  expect(faults).toEqual([]);
});

describe.each([
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
] as const)('dialogs, %s', (_name, options) => {
  test('are accessible', async () => {
    const { page } = await openSignedIn(world, options);
    const found: string[] = [];
    for (const [place, button] of [
      ['keys', 'Create a key'],
      ['keys', 'Change passphrase'],
      ['keys', 'Delete key'],
      [`items?user=${USER}`, 'Erase a reference'],
      ['retrieve', 'New endpoint'],
      ['inbound', 'New inbound'],
      [`item?${new URLSearchParams({ user: USER, token, reference: 'order-1000' })}`, 'Make a link'],
      ['credentials', 'New credential'],
      ['preferences', 'Set a preference'],
      ['events', 'New subscription'],
    ] as const) {
      await goTo(page, place);
      await page.getByRole('button', { name: button }).first().click();
      await page.getByRole('dialog').locator('form').waitFor();
      found.push(...(await axeFaults(page)).map((fault) => `${button}: ${fault}`));
      await page.keyboard.press('Escape');
    }
    expect(found).toEqual([]);
  });
});

test('no button in a row is broken into two lines at a desk', async () => {
  const { id } = await world.owner.sdk.events.create({ url: party.url('/whole'), types: ['account.*'] });
  await world.capture({ unique_id: 'whole-buttons' });
  await world.retrieve({ unique_id: 'whole-buttons-too' });
  const { page } = await openSignedIn(world, { viewport: { width: 1280, height: 800 } });
  const found: string[] = [];
  for (const place of ['keys', 'capture', 'retrieve', 'events']) {
    await goTo(page, place);
    const buttons = page.locator('td .actions > :is(button, .button)');
    await buttons.first().waitFor();
    for (const button of await buttons.all()) {
      const { height } = (await button.boundingBox()) ?? { height: 0 };
      found.push(...(height < 40 ? [] : [`${place}: ${await button.textContent()}`]));
    }
    const { scrollWidth, clientWidth } = await page
      .locator('section.table')
      .evaluate((table: { scrollWidth: number; clientWidth: number }) => ({
        scrollWidth: table.scrollWidth,
        clientWidth: table.clientWidth,
      }));
    found.push(...(scrollWidth > clientWidth ? [`${place} is ${scrollWidth} wide`] : []));
  }
  expect(found).toEqual([]);
  await world.owner.sdk.events.delete({ id });
});

describe('a phone', () => {
  test('has the header in two rows, cards in place of table heads, and a menu that closes', async () => {
    const { page } = await openSignedIn(world, { viewport: { width: 390, height: 844 } });
    await goTo(page, `items?user=${USER}`);
    const box = async (selector: string) => {
      const found = await page.locator(selector).first().boundingBox();
      return found ?? { x: 0, y: 0, width: 0, height: 0 };
    };
    expect((await box('header.bar')).height).toBeLessThan(110);
    expect((await box('thead')).height).toBeLessThan(2);
    const [title, reference] = [await box('tbody td >> nth=0'), await box('tbody td >> nth=1')];
    expect([reference.x, reference.y > title.y, title.width <= 390]).toEqual([title.x, true, true]);
    await page.getByText('Menu', { exact: true }).click();
    await page.getByRole('navigation', { name: 'Menu' }).getByRole('link', { name: 'Forms' }).click();
    await page.getByRole('heading', { name: 'Forms' }).waitFor();
    await page.getByRole('navigation', { name: 'Menu' }).waitFor({ state: 'hidden' });
  });

  test('has what destroys below the content of a screen, and behind all else in a row', async () => {
    const { page } = await openSignedIn(world, { viewport: { width: 390, height: 844 } });
    await world.owner.sdk.credentials.create({ name: 'on a phone', scopes: ['vault:list'] });
    const found: string[] = [];
    for (const place of [
      ...['keys', `items?user=${USER}`, 'capture', 'retrieve', 'forms', 'rules', 'jobs', 'credentials'],
      ...['connections', 'events', 'certificates', 'preferences'],
    ]) {
      await goTo(page, place);
      const above = await page.locator('.screen-head .danger').count();
      const first = await page.locator('.actions > .danger:first-child:not(:last-child)').count();
      found.push(...(above + first > 0 ? [place] : []));
    }
    await goTo(page, `items?user=${USER}`);
    await page.getByRole('link', { name: /…/ }).first().click();
    await page.getByRole('heading', { name: /^Item ./ }).waitFor();
    const [remove, log] = await Promise.all([
      page.getByRole('button', { name: 'Delete' }).boundingBox(),
      page.getByRole('heading', { name: 'Log' }).boundingBox(),
    ]);
    expect(remove?.y).toBeGreaterThan(log?.y ?? Number.POSITIVE_INFINITY);
    expect(found).toEqual([]);
  });

  test('has buttons that a finger hits, none beyond its edge', async () => {
    const { page } = await openSignedIn(world, { viewport: { width: 390, height: 844 } });
    const small: string[] = [];
    for (const place of [
      ...['keys', 'capture', 'forms', 'jobs', 'events', 'credentials', 'log', 'preferences'],
    ]) {
      await goTo(page, place);
      for (const button of await page.locator('main :is(button, .button):visible').all()) {
        const { x, width, height } = (await button.boundingBox()) ?? { x: 0, width: 0, height: 0 };
        const isGood = height >= 24 && width >= 24 && x >= 0 && x + width <= 390;
        small.push(...(isGood ? [] : [`${place}: ${await button.textContent()}`]));
      }
    }
    expect(small).toEqual([]);
  });
});

/** The console in a real browser, at a real vault. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { PASSPHRASE } from '../helpers/clients.ts';
import { axeFaults } from './axe.ts';
import { goTo, openConsole, openConsoleWorld, openSignedIn, signIn } from './console-world.ts';
import { USER } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const HOSTILE = '<img src=x onerror=document.title=1>';
const CARD = { card_number: '4111111111111111', expiry: '12/29', card_holder: HOSTILE };
const SCREENS = [
  ...['', 'keys', `items?user=${USER}`, 'capture', 'retrieve', 'forms', 'form', 'form?id=donation', 'rules'],
  'inbound',
  ...[
    'rule',
    'rule?id=short-year',
    'jobs',
    'connections',
    'events',
    'credentials',
    'certificates',
    'readings',
    'log',
    'usage',
    'preferences',
  ],
];

declare const document: {
  cookie: string;
  documentElement: { scrollWidth: number; clientWidth: number };
  activeElement: { tagName: string } | null;
};
declare const location: { hash: string };
declare const localStorage: object;
declare const sessionStorage: object;

const world = useWorld(openConsoleWorld);
let token: string;

beforeAll(async () => {
  const { sdk } = world.owner;
  const stored = { user: USER, reference: HOSTILE, data: CARD, metadata: { plan: HOSTILE } };
  token = (await sdk.vault.store({ ...stored, passphrase: PASSPHRASE })).token;
  await sdk.forms.create({ form_id: 'donation', locale: 'de' });
  await sdk.rules.create({
    id: 'short-year',
    operations: [
      { name: 'substr', input_field: 'expiry_year', output_field: 'year', arguments: { start: -2 } },
    ],
  });
  await sdk.certificates.createCsr({ cn: 'shop.example' });
  await sdk.connections.create({ id: 'pay', base_url: 'https://api.pay.example', paths: ['/charges'] });
  await sdk.events.create({ url: 'https://shop.example/events', types: ['account.*'] });
  await world.capture({ unique_id: 'shown-in-console' });
  await sdk.connections.create({ id: 'shop', base_url: 'https://shop.example', inbound: true });
  await sdk.inbound.create({
    ...{ user: USER, passphrase: PASSPHRASE, connection: 'shop', strict: 'mask' },
    extract: [{ number: 'guests[*].card.number' }, { number: 'payer.card.number' }],
  });
});

describe.each([
  ['a desk, light', { viewport: { width: 1280, height: 800 }, colorScheme: 'light' }],
  ['a desk, dark', { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }],
  ['a phone, light', { viewport: { width: 390, height: 844 }, colorScheme: 'light' }],
  ['a phone, dark', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' }],
] as const)('on %s', (_name, options) => {
  test('every screen fits, is accessible, and breaks no policy', async () => {
    const { page, faults } = await openConsole(world, options);
    expect(await axeFaults(page)).toEqual([]);
    await signIn(world, page);
    const found: string[] = [];
    for (const place of [
      ...SCREENS,
      `item?${new URLSearchParams({ user: USER, token, reference: HOSTILE })}`,
    ]) {
      await goTo(page, place);
      found.push(...(await axeFaults(page)).map((fault) => `${place}: ${fault}`));
      const { scrollWidth, clientWidth } = await page.evaluate(() => {
        const { scrollWidth: has, clientWidth: shows } = document.documentElement;
        return { scrollWidth: has, clientWidth: shows };
      });
      found.push(...(scrollWidth > clientWidth ? [`${place} is ${scrollWidth} wide`] : []));
    }
    expect(found).toEqual([]);
    expect(faults).toEqual([]);
  });
});

describe('signing in', () => {
  test('with a wrong password says so, without a prompt of the browser', async () => {
    const { page } = await openConsole(world);
    page.on('dialog', () => {
      throw new Error('the browser asks');
    });
    await page.getByLabel('Account name').fill(world.owner.name);
    await page.getByLabel('Password, or secret').fill('not-the-password');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toContain('unauthenticated');
  });

  test('is forgotten by a reload, and leaves nothing in the browser', async () => {
    const { page } = await openSignedIn(world);
    expect(
      await page.evaluate(() => [document.cookie, Object.keys(localStorage), Object.keys(sessionStorage)]),
    ).toEqual(['', [], []]);
    await page.reload();
    await page.getByRole('heading', { name: 'Cardvault console' }).waitFor();
  });

  test('is all that a browser fills in or offers to save: a passphrase is no password to it', async () => {
    const { page } = await openConsole(world);
    const attributes = (label: string) =>
      page.getByLabel(label).evaluate((field) => [
        ...['type', 'autocomplete'].map((name) => field.getAttribute(name)),
        // What somebody who looks at the screen may read.
        Object(globalThis).getComputedStyle(field).webkitTextSecurity,
      ]);
    expect(await attributes('Account name')).toEqual(['text', 'username', 'none']);
    expect((await attributes('Password, or secret')).slice(0, 2)).toEqual(['password', 'current-password']);
    await signIn(world, page);
    for (const [place, opener, labels] of [
      [`item?${new URLSearchParams({ user: USER, token, reference: HOSTILE })}`, '', ['Passphrase']],
      ['keys', 'Create a key', ['Passphrase']],
      ['keys', 'Change passphrase', ['Present passphrase', 'New passphrase']],
      ['capture', 'New endpoint', ['Passphrase']],
    ] as const) {
      await goTo(page, place);
      if (opener !== '') {
        await page.getByRole('button', { name: opener }).first().click();
      }
      for (const label of labels) {
        expect(await attributes(label)).toEqual(['text', 'off', 'disc']);
      }
      await page.keyboard.press('Escape');
    }
    await goTo(page, 'preferences');
    await page.getByRole('button', { name: 'Change password' }).click();
    expect((await attributes('New password')).slice(0, 2)).toEqual(['password', 'new-password']);
  });

  test('with a credential shows only what it may do', async () => {
    const { secret } = await world.owner.sdk.credentials.create({
      name: 'support',
      scopes: ['vault:list', 'vault:log'],
    });
    const { page, faults } = await openConsole(world);
    await signIn(world, page, '', secret);
    const links = await page.getByRole('navigation').getByRole('link').allTextContents();
    expect(links).toEqual(['Home', 'Items']);
    await goTo(page, `item?${new URLSearchParams({ user: USER, token, reference: HOSTILE })}`);
    expect(await page.getByRole('heading', { level: 2 }).allTextContents()).toEqual(['Log']);
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
    await page.evaluate(() => {
      location.hash = '#/credentials';
    });
    await page.getByRole('heading', { name: 'You may not do that here' }).waitFor();
    expect(faults).toEqual([]);
  });
});

describe('a person at work', () => {
  test('creates a key, whose passphrase is shown once', async () => {
    const { page } = await openSignedIn(world);
    await goTo(page, 'keys');
    await page.getByRole('button', { name: 'Create a key' }).press('Enter');
    await page.getByLabel('Name').fill('made-here');
    expect(await page.getByLabel('List brand, last four digits').isChecked()).toBe(true);
    await page.getByText('by whoever has the database and the master key').waitFor();
    await page.keyboard.press('Enter');
    await page.getByText('Shown once').waitFor();
    const passphrase = (await page.locator('.once code').textContent()) ?? '';
    expect(passphrase.length).toBeGreaterThan(20);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.locator('dialog').waitFor({ state: 'detached' });
    expect(await page.content()).not.toContain(passphrase);
    const data = { number: '5555555555554444' };
    await world.owner.sdk.vault.store({ user: 'made-here', passphrase, data });
    await goTo(page, 'items?user=made-here');
    await page.getByText('Mastercard ••••\u00a04444').waitFor();
  });

  test('opens an item masked, reads hostile texts as texts, and sees the look in its log', async () => {
    const { page, faults } = await openSignedIn(world);
    await goTo(page, `items?user=${USER}`);
    await page.getByRole('link', { name: token.slice(0, 8) }).click();
    await page.getByRole('heading', { name: 'Item' }).waitFor();
    await page.getByLabel('Passphrase').fill(PASSPHRASE);
    await page.keyboard.press('Enter');
    await page.getByText('************1111').waitFor();
    expect(await page.getByText(HOSTILE).count()).toBeGreaterThan(1);
    await page.getByRole('button', { name: 'Hide' }).click();
    expect(await page.getByText('************1111').count()).toBe(0);
    expect(page.url()).not.toContain(PASSPHRASE);
    await page.goBack();
    await page.goForward();
    await page.getByRole('cell', { name: 'Show', exact: true }).waitFor();
    expect(faults).toEqual([]);
  });

  test('makes an endpoint, whose link opens the form, and stops it', async () => {
    const { page } = await openSignedIn(world);
    await goTo(page, 'capture');
    await page.getByRole('button', { name: 'New endpoint' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Key').selectOption(USER);
    await dialog.getByLabel('Passphrase').fill(PASSPHRASE);
    await dialog.getByText('More fields').click();
    await dialog.getByLabel('Id', { exact: true }).fill('from-console');
    await page.keyboard.press('Enter');
    await dialog.getByText('Shown once').waitFor();
    expect(await dialog.getByRole('img').count()).toBe(1);
    const link = (await dialog.getByRole('link').getAttribute('href')) ?? '';
    await page.getByRole('button', { name: 'I have kept it' }).click();
    const visitor = await page.context().newPage();
    await visitor.goto(link);
    await visitor.getByLabel('Card number').waitFor();
    const row = page.getByRole('row', { name: 'from-console' });
    await row.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
    await row.waitFor({ state: 'detached' });
    const late = await page.context().newPage();
    await late.goto(link);
    await late.getByRole('alert').getByText('not valid').waitFor();
  });

  test('builds a form with a preview, which leaves no draft behind', async () => {
    const { page, faults } = await openSignedIn(world);
    await goTo(page, 'form');
    const preview = page.frameLocator('iframe');
    await page.getByLabel('Language').selectOption('fr');
    await preview.getByLabel('Numéro de carte').waitFor();
    await page.getByLabel('Id', { exact: true }).fill('built-here');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'built-here' }).waitFor();
    await page.getByLabel('Hide the card image').check();
    // The first save may still be saying that it is done.
    const stored = page.waitForResponse(
      (reply) => reply.request().method() === 'PUT' && reply.url().endsWith('/built-here'),
    );
    await page.getByRole('button', { name: 'Save' }).click();
    await stored;
    await page.getByText('Saved.').waitFor();
    expect(await world.owner.sdk.forms.get({ form_id: 'built-here' })).toMatchObject({
      locale: 'fr',
      hide_card: true,
    });
    await goTo(page, 'forms');
    const ids = async () => (await world.owner.sdk.forms.list()).map(({ id }) => id);
    while ((await ids()).some((id) => id.startsWith('console-draft-'))) {
      await Bun.sleep(50);
    }
    expect(await ids()).toContain('built-here');
    expect(faults.filter((fault) => !fault.includes('sandbox'))).toEqual([]);
  });

  test('tries a rule, and creates it', async () => {
    const { page } = await openSignedIn(world);
    await goTo(page, 'rule?id=short-year');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByText('"year": "31"').waitFor();
    await page.getByLabel('start').fill('-1');
    await page.getByLabel('Id').fill('last-digit');
    await page.getByRole('button', { name: 'Create rule' }).click();
    await page.getByRole('heading', { name: 'Rules' }).waitFor();
    expect((await world.owner.sdk.rules.get({ id: 'last-digit' })).operations).toMatchObject([
      { name: 'substr', arguments: { start: -1 } },
    ]);
  });

  test('makes a credential by its role, and erases a reference', async () => {
    const { page } = await openSignedIn(world);
    await goTo(page, 'credentials');
    await page.getByRole('button', { name: 'New credential' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('charger');
    await page.getByRole('dialog').getByLabel('Role').selectOption('charge');
    await page.getByRole('dialog').getByRole('button', { name: 'New credential' }).click();
    await page.getByText('Shown once').waitFor();
    const made = (await world.owner.sdk.credentials.list()).find(({ name }) => name === 'charger');
    expect(made?.scopes).toEqual(['proxy:send', 'job:read']);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    const data = { number: '4242424242424242' };
    await world.owner.sdk.vault.store({ user: USER, reference: 'to-erase', data, passphrase: PASSPHRASE });
    await goTo(page, `items?user=${USER}`);
    await page.getByRole('button', { name: 'Erase a reference' }).click();
    await page.getByRole('dialog').getByLabel('Reference').fill('to-erase');
    await page.getByRole('dialog').getByRole('button', { name: 'Erase a reference' }).click();
    await page.getByText('Items deleted: 1').waitFor();
  });
});

test('who can recover a key is told, and that a key has no recovery', async () => {
  const { sdk } = world.owner;
  const recipients = await Promise.all(
    Array.from({ length: 3 }, async () => identityToRecipient(await generateX25519Identity())),
  );
  await sdk.keys.create({ user: 'recoverable', passphrase: PASSPHRASE });
  await sdk.keys.recovery.create({ user: 'recoverable', passphrase: PASSPHRASE, recipients, threshold: 2 });
  const { page } = await openSignedIn(world);
  await goTo(page, 'keys');
  const show = (user: string) =>
    page.getByRole('row', { name: user }).getByRole('button', { name: 'Recovery' }).press('Enter');
  await show('recoverable');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('2 of 3 custodians').waitFor();
  expect(await dialog.getByRole('listitem').allTextContents()).toEqual(recipients);
  expect(await axeFaults(page)).toEqual([]);
  await page.keyboard.press('Escape');
  await show(USER);
  await dialog.getByText('a lost passphrase is lost data').waitFor();
});

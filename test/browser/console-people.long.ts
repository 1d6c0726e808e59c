/** People at the console: from the invitation to the first look at a card, with a passkey and by keyboard alone. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { PASSPHRASE } from '../helpers/clients.ts';
import { axeFaults } from './axe.ts';
import { goTo, openConsoleWorld, openSignedIn } from './console-world.ts';
import { USER } from './forms-world.ts';
import { type Device, plug } from './passkeys.ts';
import { useWorld } from './use-world.ts';

const DESK = { viewport: { width: 1280, height: 800 } };
const PHONE = { viewport: { width: 390, height: 844 } };
const CARD = { card_number: '4111111111111111', expiry: '12/40' };

declare const document: {
  activeElement: { tagName: string; textContent: string | null; getAttribute(name: string): string | null };
  documentElement: { scrollWidth: number; clientWidth: number };
};

setDefaultTimeout(120_000);
/** How far the clock of the vault is ahead, in milliseconds. */
let aheadMs = 0;
const world = useWorld(() => openConsoleWorld({ host: 'localhost', now: () => Date.now() + aheadMs }));
let token: string;

beforeAll(async () => {
  const { sdk } = world.owner;
  token = (await sdk.vault.store({ user: USER, reference: 'order-1', data: CARD, passphrase: PASSPHRASE }))
    .token;
});

/** The same device, whose check of its user fails or not; one whose check has failed is locked. */
async function verify(
  page: Page,
  { cdp, authenticatorId }: Device,
  isUserVerified: boolean,
): Promise<Device> {
  const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
  await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId });
  const device = await plug(page, { isUserVerified });
  for (const credential of credentials) {
    await device.cdp.send('WebAuthn.addCredential', { authenticatorId: device.authenticatorId, credential });
  }
  return device;
}

interface Invitation {
  readonly id: string;
  readonly invitation: string;
}

/** Invites a person through the API. */
async function invite(name: string, role: string, more: object = {}): Promise<Invitation> {
  const answer = await world.owner.send('POST', '/person', { body: { name, role, ...more } });
  if (answer.status !== 200) {
    throw new Error(answer.text);
  }
  return answer.as<Invitation>();
}

/** A new person who has accepted the invitation, at the home screen. */
async function joined(
  name: string,
  role: string,
  device: object = {},
  options: object = DESK,
  hasClock = false,
) {
  const person = await invite(name, role);
  const page = await world.page(options);
  const plugged = await plug(page, device);
  await (hasClock ? page.clock.install() : undefined);
  await page.goto(person.invitation);
  await page.getByText(`An invitation for ${name}`).waitFor();
  await page.getByRole('button', { name: 'Make a passkey' }).press('Enter');
  await page.getByRole('heading', { name: 'Home' }).waitFor();
  return { person, page, device: plugged };
}

/** Presses Tab until this has the focus. */
async function tabTo(page: Page, wanted: RegExp): Promise<void> {
  const walked: string[] = [];
  for (let step = 0; step < 60; step += 1) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      const { activeElement: element } = document;
      const name = element.getAttribute('aria-label') ?? element.getAttribute('name') ?? element.textContent;
      return `${element.tagName} ${name}`;
    });
    if (wanted.test(focused)) {
      return;
    }
    walked.push(focused);
  }
  throw new Error(`${wanted} is not among ${walked.join(', ')}`);
}

describe.each([
  ['a desk', DESK],
  ['a phone', PHONE],
] as const)('by keyboard alone, on %s', (where, options) => {
  const name = `Ada of ${where}`;

  test('a person is invited, joins, looks at a card, and then opens it with the passkey', async () => {
    const isNarrow = options === PHONE;
    const owner = await openSignedIn(world, options);
    const choose = async (page: Page, screen: string): Promise<void> => {
      if (isNarrow) {
        await tabTo(page, /^SUMMARY Menu/);
        await page.keyboard.press('Enter');
      }
      await tabTo(page, new RegExp(`^A ${screen}$`));
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: screen }).waitFor();
    };
    await choose(owner.page, 'People');
    await tabTo(owner.page, /^BUTTON Invite a person/);
    await owner.page.keyboard.press('Enter');
    const dialog = owner.page.getByRole('dialog');
    await dialog.getByLabel('Name').waitFor();
    await owner.page.keyboard.type(name);
    await owner.page.keyboard.press('Tab');
    await owner.page.keyboard.type('Support');
    await dialog.getByText('Looks cards up').waitFor();
    await tabTo(owner.page, /^BUTTON Invite a person/);
    await owner.page.keyboard.press('Enter');
    await dialog.getByText('Shown once').waitFor();
    const link = (await dialog.locator('.once code').textContent()) ?? '';
    expect(link).toStartWith(`${world.url}/console#/join?token=`);
    expect(owner.faults).toEqual([]);

    const page = await world.page(options);
    const sent: { readonly url: string; readonly body: string; readonly headers: Record<string, string> }[] =
      [];
    page.on('request', (request) =>
      sent.push({ url: request.url(), body: request.postData() ?? '', headers: request.headers() }),
    );
    await plug(page);
    await page.goto(link);
    await page.getByText(`An invitation for ${name}`).waitFor();
    expect(page.url()).toBe(`${world.url}/console#/join`);
    expect(await axeFaults(page)).toEqual([]);
    await tabTo(page, /^INPUT name/);
    await page.keyboard.type('Laptop');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await page.getByText(`${world.owner.name} / ${name}`).waitFor();

    await choose(page, 'Items');
    await tabTo(page, new RegExp(`^A ${token.slice(0, 8)}`));
    await page.keyboard.press('Enter');
    await page.getByLabel('Passphrase', { exact: true }).waitFor();
    await tabTo(page, /^INPUT passphrase/);
    await page.keyboard.type(PASSPHRASE);
    await tabTo(page, /^INPUT keep/);
    await page.keyboard.press('Space');
    await page.keyboard.press('Enter');
    await page.getByText('************1111').waitFor();
    await page.getByText('The passphrase is kept.').waitFor();
    expect(await page.getByRole('row', { name }).first().textContent()).toContain(name);

    await tabTo(page, /^BUTTON Hide/);
    await page.keyboard.press('Enter');
    await tabTo(page, /^BUTTON Unlock with passkey/);
    await page.keyboard.press('Enter');
    await page.getByText('************1111').waitFor();

    const calls = sent.filter(({ url }) => url.includes('/v1/'));
    expect(calls.filter(({ headers }) => headers['authorization'] !== undefined)).toEqual([]);
    expect(calls.filter(({ body }) => /"prf"|"results"/.test(body))).toEqual([]);
    expect(sent.filter(({ url }) => url.includes(link.slice(link.indexOf('token=') + 6)))).toEqual([]);
    expect(await page.content()).not.toContain(PASSPHRASE);
  });
});

describe('an invitation', () => {
  test('is refused by a device that does not check who holds it, and good until a passkey is made', async () => {
    const { invitation } = await invite('Grace', 'auditor');
    const page = await world.page(DESK);
    const device = await plug(page, { isUserVerified: false });
    await page.goto(invitation);
    await page.getByRole('button', { name: 'Make a passkey' }).click();
    await page.getByText('The device has to check that it is you, by fingerprint, face or PIN.').waitFor();
    await verify(page, device, true);
    await page.getByRole('button', { name: 'Make a passkey' }).click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    const other = await world.page(DESK);
    await other.goto(invitation);
    await other.getByText('This invitation does not work any more').waitFor();
    await other.getByRole('link', { name: 'Sign in' }).click();
    await other.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
  });

  test('is gone from the page after a reload, which says so', async () => {
    const { invitation } = await invite('Reloads', 'auditor');
    const page = await world.page(DESK);
    await page.goto(invitation);
    await page.getByText('An invitation for Reloads').waitFor();
    await page.reload();
    await page.getByText('This invitation does not work any more').waitFor();
  });
});

describe('signing in', () => {
  test('needs the check of the device, and lasts over a reload until the person signs out', async () => {
    const { page, device } = await joined('Edsger', 'support');
    await page.getByRole('button', { name: 'Sign out' }).click();
    const passkey = page.getByRole('button', { name: 'Sign in with a passkey' });
    await passkey.waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.reload();
    await passkey.waitFor();
    const locked = await verify(page, device, false);
    await passkey.press('Enter');
    await page.getByText('Nothing was confirmed.').waitFor();
    await verify(page, locked, true);
    await passkey.press('Enter');
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await goTo(page, 'items');
    await page.reload();
    await page.getByRole('heading', { name: 'Items' }).waitFor();
  });

  test('with a passkey that was removed says so, and the password is folded', async () => {
    const { person, page } = await joined('Removed', 'support');
    await world.owner.send('DELETE', `/person/${person.id}`);
    // The next request finds that the session has ended; the place stays.
    await page.getByRole('link', { name: 'Items', exact: true }).click();
    await page.getByText('Your session has ended').waitFor();
    expect(page.url()).toBe(`${world.url}/console#/items`);
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByText('This passkey opens nothing here.').waitFor();
    expect(await page.getByLabel('Account name').isVisible()).toBe(false);
    await page.locator('summary').click();
    await page.getByLabel('Account name').waitFor();
  });

  test('after a change of rights goes on at the place where the session ended', async () => {
    const { person, page } = await joined('Promoted', 'support');
    await goTo(page, `items?user=${USER}`);
    await world.owner.send('PUT', `/person/${person.id}`, { body: { name: 'Promoted', role: 'admin' } });
    await page.getByRole('button', { name: 'Search' }).click();
    await page.getByRole('link', { name: 'Usage and bills' }).click();
    await page.getByText('Your session has ended').waitFor();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Usage and bills' }).waitFor();
    await page.getByRole('link', { name: 'People' }).waitFor();
  });
});

test.each([
  ['a passkey alone', undefined, ['Sign in with a passkey']],
  ['nothing', 'passkeys belong to a host name', []],
] as const)('where passwords are switched off, the page offers %s', async (_name, flaw, offered) => {
  const people = { consoleUrl: 'http://localhost', flaw, hasPasswords: false };
  const closed = await openConsoleWorld({ host: 'localhost', people });
  const page = await closed.page(DESK);
  await page.goto(`${closed.url}/console`);
  await page.getByRole('heading', { name: 'Cardvault console' }).waitFor();
  expect(await page.getByRole('button').allTextContents()).toEqual([...offered]);
  expect(await page.getByLabel('Account name').count()).toBe(0);
  expect(await page.getByText('Nobody can sign in here').count()).toBe(offered.length === 0 ? 1 : 0);
  await closed.close();
});

describe('a person', () => {
  test('adds a second passkey, and signs in with it when the first device is lost', async () => {
    const { page, device } = await joined('Barbara', 'developer');
    await goTo(page, 'me');
    await plug(page, { transport: 'usb' });
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('dialog').getByLabel('Name of the passkey').fill('Security key');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: 'Security key' }).waitFor();
    await device.cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId: device.authenticatorId });
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
  });

  test('is asked to sign in again for what needs it, and goes on by itself', async () => {
    const { page } = await joined('Again', 'owner');
    await goTo(page, 'credentials');
    aheadMs += 6 * 60_000;
    await page.getByRole('button', { name: 'New credential' }).press('Enter');
    const makes = page.getByRole('dialog', { name: 'New credential' });
    await makes.getByLabel('Name').fill('made by a person');
    await makes.getByLabel('Role').selectOption('store');
    await makes.getByLabel('Name').press('Enter');
    const again = page.getByRole('dialog', { name: 'Sign in again' });
    await again.getByText('within the last five minutes').waitFor();
    expect(await axeFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await again.waitFor({ state: 'detached' });
    await makes.getByText('sign_in_again').waitFor();
    await makes.getByLabel('Name').press('Enter');
    await again.getByRole('button', { name: 'Sign in with a passkey' }).press('Enter');
    await makes.getByText('Shown once').waitFor();
    expect(await page.getByRole('dialog').count()).toBe(1);
    await page.keyboard.press('Escape');
    await makes.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByRole('row', { name: 'made by a person' }).waitFor();
  });

  test('who does nothing does not extend the session, and is signed out in the end', async () => {
    const { page } = await joined('Idle', 'auditor', {}, DESK, true);
    const polls: boolean[] = [];
    page.on('request', (request) => {
      if (request.url().includes('/v1/audit')) {
        polls.push(request.headers()['x-vault-poll'] === '1');
      }
    });
    await goTo(page, 'log');
    await page.clock.fastForward(11_000);
    await goTo(page, 'usage');
    await goTo(page, 'log');
    await page.keyboard.press('Shift');
    await goTo(page, 'usage');
    await goTo(page, 'log');
    expect(polls).toEqual([false, true, false]);
    await page.clock.fastForward(15 * 60_000);
    await page.getByText('You were signed out after fifteen minutes without use.').waitFor();
    expect(page.url()).toBe(`${world.url}/console#/log`);
    await page.reload();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
  });

  test('is shown in all tabs of the browser, whoever signs in last', async () => {
    const { page } = await joined('First', 'support');
    await goTo(page, 'items');
    await page.reload();
    await page.getByRole('heading', { name: 'Items' }).waitFor();
    const { invitation } = await invite('Second', 'auditor');
    const other = await page.context().newPage();
    await plug(other);
    await other.goto(invitation);
    await other.getByRole('button', { name: 'Make a passkey' }).click();
    await other.getByText(`${world.owner.name} / Second`).waitFor();
    await page.getByText(`${world.owner.name} / Second`).waitFor();
    await page.getByText('Somebody else has signed in in this browser').waitFor();
    await page.getByRole('heading', { name: 'Items' }).waitFor();
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    await page.getByRole('link', { name: 'Usage and bills' }).click();
    await page.getByText('Your session has ended').waitFor();
  });

  test('is not offered to keep a passphrase by a passkey without PRF', async () => {
    const { page } = await joined('Without', 'support', { hasPrf: false });
    await goTo(page, `item?${new URLSearchParams({ user: USER, token, reference: 'order-1' })}`);
    await page.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
    expect(await page.getByLabel('Keep the passphrase').count()).toBe(0);
    await page.keyboard.press('Enter');
    await page.getByText('************1111').waitFor();
  });

  test('sees in the menu what the role may do, and no people', async () => {
    const { page } = await joined('<img src=x onerror=document.title=1>', 'auditor');
    const links = await page.getByRole('navigation', { name: 'Menu' }).getByRole('link').allTextContents();
    expect(links).toContain('Security log');
    expect(links).toContain('My sign-in');
    expect(links).not.toContain('People');
    expect(links).not.toContain('API credentials');
    await goTo(page, 'people');
    await page.getByRole('heading', { name: 'may not do that' }).waitFor();
  });

  test('forgets a kept passphrase, and signs out everywhere', async () => {
    const { page } = await joined('Leaves', 'support');
    await goTo(page, `item?${new URLSearchParams({ user: USER, token, reference: 'order-1' })}`);
    await page.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
    await page.getByLabel('Keep the passphrase').check();
    await page.keyboard.press('Enter');
    await page.getByText('The passphrase is kept.').waitFor();
    await goTo(page, 'me');
    await page.getByRole('row', { name: USER }).getByRole('button', { name: 'Forget' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click();
    await page.getByText('None. You can keep one').waitFor();
    const other = await page.context().newPage();
    await other.goto(`${world.url}/console`);
    await other.getByRole('heading', { name: 'Home' }).waitFor();
    await page.getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere' }).click();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor();
    await other.getByRole('link', { name: 'Items', exact: true }).click();
    await other.getByText('Your session has ended').waitFor();
  });
});

describe('the people', () => {
  test('are changed, lose a passkey, are invited again and deleted, each after a question with the name', async () => {
    await joined('Katherine', 'support');
    const { page, faults } = await openSignedIn(world, DESK);
    await goTo(page, 'people');
    const row = page.getByRole('row').filter({ hasText: 'Katherine' });
    const dialog = page.getByRole('dialog');
    await row.getByRole('button', { name: 'Change' }).click();
    await dialog.getByLabel('Role').selectOption('Auditor');
    await dialog.getByLabel('Only these keys').fill(USER);
    await dialog.getByRole('button', { name: 'Change' }).click();
    await row.getByText('Auditor').waitFor();
    await row.getByText(`Only these keys: ${USER}`).waitFor();
    await row.getByRole('button', { name: 'Remove' }).click();
    await dialog.getByText('of Katherine? Its sessions end at once.').waitFor();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await row.getByText('None yet.').waitFor();
    await row.getByRole('button', { name: 'Invite again' }).click();
    await dialog.getByRole('button', { name: 'Invite again' }).click();
    await dialog.getByRole('img', { name: 'QR code of the invitation' }).waitFor();
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await row.getByRole('button', { name: 'Delete' }).click();
    await dialog.getByText('Delete Katherine?').waitFor();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await row.waitFor({ state: 'detached' });
    await goTo(page, 'log');
    await page.getByRole('row', { name: 'Katherine' }).first().waitFor();
    // The name leads to what somebody did, also after the deletion.
    await goTo(page, 'log?actor=katherine');
    await page.getByRole('row', { name: 'Sign in as a person' }).waitFor();
    expect(await page.getByRole('row').filter({ hasText: 'Katherine' }).count()).toBeGreaterThan(0);
    expect(await page.getByRole('row').filter({ hasText: world.owner.name }).count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test('that are owners are left to owners', async () => {
    await invite('Owner', 'owner');
    const { page } = await joined('Admin', 'admin');
    await goTo(page, 'people');
    const row = page.getByRole('row').filter({ hasText: 'Owner' });
    expect(await row.getByRole('button').count()).toBe(0);
    await page.getByRole('button', { name: 'Invite a person' }).click();
    const offered = await page.getByRole('dialog').getByLabel('Role').locator('option').allTextContents();
    expect(offered).toEqual(['Choose …', 'Administrator', 'Developer', 'Support', 'Auditor']);
  });

  test.each([
    ['a desk, light', { ...DESK, colorScheme: 'light' }],
    ['a desk, dark', { ...DESK, colorScheme: 'dark' }],
    ['a phone, light', { ...PHONE, colorScheme: 'light' }],
    ['a phone, dark', { ...PHONE, colorScheme: 'dark' }],
  ] as const)('and the own page are accessible and fit on %s', async (where, options) => {
    const { page } = await joined(`Reader at ${where}`, 'owner', {}, options);
    const found: string[] = [];
    for (const place of ['people', 'me']) {
      await goTo(page, place);
      found.push(...(await axeFaults(page)).map((fault) => `${place}: ${fault}`));
      const { scrollWidth, clientWidth } = await page.evaluate(() => {
        const { scrollWidth: has, clientWidth: shows } = document.documentElement;
        return { scrollWidth: has, clientWidth: shows };
      });
      found.push(...(scrollWidth > clientWidth ? [`${place} is ${scrollWidth} wide`] : []));
    }
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    found.push(...(await axeFaults(page)));
    expect(found).toEqual([]);
  });
});

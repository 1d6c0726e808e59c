/**
 * Takes pictures of all screens and dialogs of the console, on a desk and on a phone, light and dark:
 * `bun test/browser/console-shots.ts FOLDER [NAME …]`, with names of screens to limit it.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { PASSPHRASE } from '../helpers/clients.ts';
import { goTo, openConsole, signIn } from './console-world.ts';
import { CARDS, CUSTOMER, type DeskWorld, openDeskWorld } from './desk-world.ts';
import { plug } from './passkeys.ts';

type Step = (page: Page, world: DeskWorld) => Promise<void>;

interface Shot {
  readonly place: string;
  readonly step?: Step;
}

/** Opens the first dialog of a button. */
function press(name: string | RegExp): Step {
  return async (page) => {
    await page.getByRole('button', { name }).first().click();
    await page.getByRole('dialog').waitFor();
    await page.getByRole('dialog').locator('.loading').waitFor({ state: 'detached' });
  };
}

const preview: Step = async (page) => {
  await page.frameLocator('iframe').getByRole('textbox').first().waitFor();
};

const shown: Step = async (page) => {
  await page.getByLabel('Passphrase').fill(PASSPHRASE);
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Hide' }).waitFor();
};

const wrong: Step = async (page) => {
  await page.getByLabel('Passphrase').fill('not-the-passphrase');
  await page.keyboard.press('Enter');
  await page.locator('.error, .failure').first().waitFor();
};

const link: Step = async (page, world) => {
  await press('Make a link')(page, world);
  await page.getByRole('dialog').getByLabel('Passphrase').fill(PASSPHRASE);
  await page.keyboard.press('Enter');
  await page.getByRole('img', { name: 'QR code of the link' }).waitFor();
};

const inbound: Step = async (page, world) => {
  await press('New inbound')(page, world);
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Key').selectOption(CARDS);
  await dialog.getByLabel('Passphrase').fill(PASSPHRASE);
  await dialog.getByLabel('Connection').selectOption('shop');
  await page.keyboard.press('Enter');
  await dialog.getByText('An example').waitFor();
};

const invited: Step = async (page, world) => {
  await press('Invite again')(page, world);
  await page.getByRole('dialog').getByRole('button', { name: 'Invite again' }).click();
  await page.getByRole('img', { name: 'QR code of the invitation' }).waitFor();
};

function shotsOf({ token }: DeskWorld): Readonly<Record<string, Shot>> {
  const item = `item?${new URLSearchParams({ user: CARDS, token, reference: CUSTOMER })}`;
  return {
    home: { place: '' },
    keys: { place: 'keys' },
    'keys-create': { place: 'keys', step: press('Create a key') },
    'keys-change': { place: 'keys', step: press('Change passphrase') },
    items: { place: 'items' },
    'items-none': { place: 'items?q=nobody' },
    'items-erase': { place: `items?q=${CUSTOMER}`, step: press('Erase a reference') },
    item: { place: item },
    'item-shown': { place: item, step: shown },
    'item-wrong': { place: item, step: wrong },
    'item-link': { place: item, step: press('Make a link') },
    'item-link-made': { place: item, step: link },
    capture: { place: 'capture' },
    'capture-new': { place: 'capture', step: press('New endpoint') },
    retrieve: { place: 'retrieve' },
    'retrieve-stop': { place: 'retrieve', step: press('Stop') },
    inbound: { place: 'inbound' },
    'inbound-new': { place: 'inbound', step: press('New inbound') },
    'inbound-made': { place: 'inbound', step: inbound },
    forms: { place: 'forms' },
    'form-new': { place: 'form', step: preview },
    form: { place: 'form?id=donation', step: preview },
    rules: { place: 'rules' },
    rule: { place: 'rule?id=short-year' },
    jobs: { place: 'jobs' },
    'jobs-failed': { place: 'jobs?status=failed' },
    job: {
      place: 'jobs?status=failed',
      step: async (page) => {
        await page.getByRole('link', { name: /…/ }).first().click();
        await page.locator('.facts').waitFor();
      },
    },
    connections: { place: 'connections' },
    'connections-new': { place: 'connections', step: press('New connection') },
    events: { place: 'events' },
    'events-new': { place: 'events', step: press('New subscription') },
    'events-change': { place: 'events', step: press('Change') },
    'events-resume': { place: 'events', step: press('Resume') },
    credentials: { place: 'credentials' },
    people: { place: 'people' },
    'people-invite': { place: 'people', step: press('Invite a person') },
    'people-invited': { place: 'people', step: invited },
    'people-delete': { place: 'people', step: press('Delete') },
    'credentials-new': { place: 'credentials', step: press('New credential') },
    'credentials-roll': { place: 'credentials', step: press('New secret') },
    certificates: { place: 'certificates' },
    readings: { place: 'readings' },
    log: { place: 'log' },
    usage: { place: 'usage' },
    preferences: { place: 'preferences' },
    unknown: { place: 'nowhere' },
  };
}

/** Pause in which panels and pictures are shown. */
const SETTLED_MS = 400;
const SIZES = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;

const [folder = 'console-shots', ...names] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const world = await openDeskWorld();
const shots = Object.entries(shotsOf(world)).filter(([name]) => names.length === 0 || names.includes(name));
for (const [size, viewport] of Object.entries(SIZES)) {
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await openConsole(world, { viewport, colorScheme, reducedMotion: 'reduce' });
    const take = (name: string) =>
      page.screenshot({ path: join(folder, `${name}-${size}-${colorScheme}.png`), fullPage: true });
    await (names.length === 0 ? take('sign-in') : undefined);
    await signIn(world, page);
    for (const [name, { place, step }] of shots) {
      await goTo(page, 'unknown');
      await goTo(page, place);
      try {
        await step?.(page, world);
      } catch (error) {
        process.stdout.write(`${name} ${size} ${colorScheme}: ${error}\n`);
      }
      await page.locator('.loading').first().waitFor({ state: 'detached' });
      await page.waitForTimeout(SETTLED_MS);
      await take(name);
      // A secret holds its dialog open until it is kept.
      const kept = page.getByRole('button', { name: 'I have kept it' });
      await ((await kept.count()) > 0 ? kept.click() : page.keyboard.press('Escape'));
    }
  }
}
/** What people see who are invited, and sign in with a passkey. */
for (const [size, viewport] of Object.entries(SIZES)) {
  for (const colorScheme of ['light', 'dark'] as const) {
    const name = `Ada ${size} ${colorScheme}`;
    const answer = await world.owner.send('POST', '/person', { body: { name, role: 'admin' } });
    const { page } = await openConsole(world, { viewport, colorScheme, reducedMotion: 'reduce' });
    const take = async (shot: string) => {
      await page.waitForTimeout(SETTLED_MS);
      await page.screenshot({ path: join(folder, `${shot}-${size}-${colorScheme}.png`), fullPage: true });
    };
    await plug(page);
    await page.goto(answer.as<{ invitation: string }>().invitation);
    await page.getByRole('button', { name: 'Make a passkey' }).waitFor();
    await take('join');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    await goTo(page, shotsOf(world)['item']?.place ?? '');
    await page.getByLabel('Passphrase', { exact: true }).fill(PASSPHRASE);
    await page.getByLabel('Keep the passphrase').check();
    await take('item-keep');
    await page.keyboard.press('Enter');
    await page.getByText('The passphrase is kept.').waitFor();
    await page.getByRole('button', { name: 'Hide' }).click();
    await page.getByRole('button', { name: 'Unlock with passkey' }).waitFor();
    await take('item-unlock');
    await goTo(page, 'me');
    await take('me');
    await goTo(page, 'people');
    await take('people-joined');
    await page.getByRole('button', { name: 'Sign out', exact: true }).click();
    await take('signed-out');
  }
}
await world.close();

/** What people at a support desk are asked for: each task takes at most a minute, from the home screen on. */
import { afterAll, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { PASSPHRASE } from '../helpers/clients.ts';
import { openSignedIn } from './console-world.ts';
import { CARDS, CUSTOMER, type DeskWorld, LEFT, openDeskWorld } from './desk-world.ts';
import { type Effort, type Person, personAt } from './person.ts';
import { useWorld } from './use-world.ts';

const SECONDS_MAX = 60;

const world = useWorld<DeskWorld>(openDeskWorld);
const efforts: (Effort & { readonly task: string })[] = [];

afterAll(() => {
  for (const { task, clicks, fields, screens, seconds } of efforts) {
    process.stdout.write(`${task} | ${clicks} | ${fields} | ${screens} | ${seconds.toFixed(0)}\n`);
  }
});

/** Goes from the home screen to the card of the customer. */
async function openCard(page: Page, person: Person): Promise<void> {
  await person.type(page.getByLabel('Token, start of a reference, or last four digits'), CUSTOMER, true);
  const row = page.getByRole('row', { name: CARDS });
  await person.read(row);
  await person.click(row.getByRole('link'));
  await person.read(page.getByRole('heading', { level: 1, name: CUSTOMER }));
}

function menu(page: Page, name: string) {
  return page.getByRole('navigation', { name: 'Menu' }).getByRole('link', { name });
}

const TASKS: Readonly<Record<string, (page: Page, person: Person) => Promise<void>>> = {
  "find a customer's card by its last four digits": async (page, person) => {
    await person.type(page.getByLabel('Token, start of a reference, or last four digits'), '1117', true);
    const row = page.getByRole('row', { name: CUSTOMER }).filter({ hasText: CARDS });
    expect(await person.read(row)).toContain('1117');
  },
  "show a customer's card": async (page, person) => {
    await openCard(page, person);
    await person.type(page.getByLabel('Passphrase'), PASSPHRASE, true);
    expect(await person.read(page.getByText('************1117'))).toBe('************1117');
  },
  'tell who read it last month': async (page, person) => {
    await openCard(page, person);
    await person.click(page.getByRole('link', { name: 'Last month' }));
    await person.read(page.getByText('No entries in this period.'));
    await person.click(page.getByRole('link', { name: 'Last 7 days' }));
    await person.read(page.getByRole('region', { name: 'Log' }).getByText(LEFT));
  },
  'tell what an address read': async (page, person) => {
    await person.click(menu(page, 'Readings'));
    await person.type(page.getByLabel('Address'), '127.0.0.1', true);
    await person.read(page.getByRole('region', { name: 'Readings' }).getByText(CUSTOMER));
  },
  'tell what a link read': async (page, person) => {
    await person.click(menu(page, 'Retrieval endpoints'));
    await person.type(page.getByLabel('contains'), CUSTOMER, true);
    await person.click(page.getByRole('row', { name: world.link }).getByRole('link', { name: 'Readings' }));
    await person.read(page.getByRole('region', { name: 'Readings' }).getByText(CUSTOMER));
  },
  'tell what a person who left has read and done': async (page, person) => {
    await person.click(menu(page, 'Readings'));
    await person.type(page.getByLabel('Actor'), LEFT, true);
    await page.getByText('3 shown; there are no more.').waitFor();
    await person.read(page.getByRole('region', { name: 'Readings' }).getByText(CUSTOMER));
    await person.click(menu(page, 'Security log'));
    await person.type(page.getByLabel('Actor'), LEFT, true);
    await person.read(page.getByRole('region', { name: 'Security log' }).getByText('Sign in'));
    expect(
      await page
        .getByRole('region', { name: 'Security log' })
        .getByText(/^account-/)
        .count(),
    ).toBe(0);
  },
  'make a link for a customer': async (page, person) => {
    await openCard(page, person);
    await person.click(page.getByRole('button', { name: 'Make a link' }));
    const dialog = page.getByRole('dialog');
    await person.type(dialog.getByLabel('Passphrase'), PASSPHRASE);
    await person.type(dialog.getByLabel('Lifetime'), '2 hours', true);
    await person.read(dialog.getByRole('img', { name: 'QR code of the link' }));
    await person.click(dialog.getByRole('button', { name: 'Copy' }));
    await person.click(dialog.getByRole('button', { name: 'I have kept it' }));
  },
  'tell what expires this month': async (page, person) => {
    const found = page.locator('.panel', { hasText: 'What expires within 30 days' });
    expect(await person.read(found.locator('tbody'))).toContain('API credential');
  },
  'tell which webhooks failed, and repeat them': async (page, person) => {
    await person.click(page.getByRole('link', { name: 'Jobs failed' }));
    await person.read(page.getByRole('row', { name: 'Failed' }));
    expect(await page.getByRole('row', { name: 'Failed' }).count()).toBe(3);
    await person.click(page.getByRole('button', { name: 'Deliver reports again' }));
    await person.click(page.getByRole('dialog').getByRole('button', { name: 'Deliver reports again' }));
    await person.read(page.getByText('The webhooks are being called.'));
  },
  'stop a link': async (page, person) => {
    await person.click(menu(page, 'Retrieval endpoints'));
    await person.type(page.getByLabel('contains'), CUSTOMER, true);
    const row = page.getByRole('row', { name: world.link });
    await person.click(row.getByRole('button', { name: 'Stop' }));
    await person.click(page.getByRole('dialog').getByRole('button', { name: 'Stop' }));
    await row.waitFor({ state: 'detached' });
  },
  'remove a customer': async (page, person) => {
    await person.type(page.getByLabel('Token, start of a reference, or last four digits'), CUSTOMER, true);
    await person.read(page.getByText('2 shown; there are no more.'));
    await person.click(page.getByRole('button', { name: 'Erase a reference' }));
    const dialog = page.getByRole('dialog');
    await person.choose(dialog.getByLabel('Key'), 'All keys');
    await person.click(dialog.getByRole('button', { name: 'Erase a reference' }));
    await person.read(dialog.getByText('Items deleted: 2'));
  },
};

test.each(Object.entries(TASKS))('to %s takes at most a minute', async (task, act) => {
  const { page, faults } = await openSignedIn(world, { viewport: { width: 1280, height: 800 } });
  await page.context().grantPermissions(['clipboard-write']);
  const person = personAt(page);
  await act(page, person);
  const effort = person.effort();
  efforts.push({ task, ...effort });
  expect(effort.seconds).toBeLessThan(SECONDS_MAX);
  expect(faults).toEqual([]);
});

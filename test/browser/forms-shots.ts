/**
 * Takes pictures of hosted forms, and of the top of their gallery: `bun test/browser/forms-shots.ts [folder]`, into docs/forms unless told otherwise.
 * The pages are the real ones of a vault of their own; what is typed are published test numbers.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { FormSettings, FormTypeName } from '../../server/form/schema.ts';
import { type FormsWorld, openFormsWorld } from './forms-world.ts';

type Step = (page: Page) => Promise<void>;

interface Shot {
  readonly name: string;
  readonly type: FormTypeName;
  readonly settings: FormSettings;
  readonly width: number;
  /** Behind the `#` of the form's address. */
  readonly visit?: (world: FormsWorld) => Promise<Record<string, string>>;
  readonly step?: Step;
}

const CARD = { card_number: '4111111111111111', card_holder: 'Ada Lovelace', expiry: '1240', cvv: '123' };
const ACCOUNT = {
  account_number: '000123456789',
  routing_number: '110000000',
  account_holder: 'Ada Lovelace',
};
const WIDTHS = [320, 1280] as const;
const STYLES = ['vault', 'modern'] as const;
const SCHEMES = ['light', 'dark'] as const;

function type(values: Readonly<Record<string, string>>): Step {
  return async (page) => {
    for (const [name, value] of Object.entries(values)) {
      await page.locator(`input[name="${name}"]`).pressSequentially(value);
    }
  };
}

/** Filled in, with the pen still on the name. */
const filled: Step = async (page) => {
  await type(CARD)(page);
  await page.locator('[name=card_holder]').focus();
};

const account: Step = async (page) => {
  await type(ACCOUNT)(page);
  await page.locator('.vf-choice').first().click();
};

const wrong: Step = async (page) => {
  await type({ card_number: '4111111111111112', card_holder: 'Ada Lovelace', expiry: '0120' })(page);
  await page.locator('.vf-button').click();
  await page.locator('.vf-error:visible').nth(2).waitFor();
};

const keypad: Step = async (page) => {
  await page.locator('[name=card_number]').click();
  for (const digit of '411111') {
    await page.locator('.vf-key', { hasText: new RegExp(`^${digit}$`) }).click();
  }
};

const saved: Step = async (page) => {
  await type(CARD)(page);
  await page.locator('.vf-button').click();
  await page.locator('.vf-success').waitFor();
};

const offline: Step = async (page) => {
  await page.route('**/v1/capture/**', (route) => route.abort());
  await type(CARD)(page);
  await page.locator('.vf-button').click();
  await page.locator('.vf-again').waitFor();
};

const shown: Step = async (page) => {
  await page.locator('.vf-value').first().waitFor();
};

async function capture(world: FormsWorld): Promise<Record<string, string>> {
  const { unique_id, secret } = await world.capture();
  return { unique_id, secret };
}

async function retrieve(world: FormsWorld): Promise<Record<string, string>> {
  const { unique_id, secret } = await world.retrieve();
  const item = {
    card_number: '4111 1111 1111 1111',
    card_holder: 'Ada Lovelace',
    expiry: '12/40',
    cvv: '123',
  };
  return {
    unique_id,
    secret,
    token: await world.owner.store('shop', item, { reference: 'r' }),
    reference: 'r',
  };
}

const OWN: NonNullable<FormSettings['additional_fields']> = [
  { name: 'member', label: 'Membership number', required: true },
  { name: 'email', label: 'E-mail', type: 'email', required: true },
  { name: 'country', label: 'Country', type: 'country' },
  { name: 'note', label: 'A word to go with it' },
  { name: 'terms', label: 'I agree to the terms', type: 'checkbox', required: true },
];

const SHOTS: readonly Shot[] = [
  ...STYLES.flatMap((style) =>
    SCHEMES.flatMap((color_mode) =>
      WIDTHS.map((width): Shot => {
        const settings = { theme: { style }, color_mode };
        return { name: `pcd-${style}-${color_mode}-${width}`, type: 'pcd', settings, width, step: filled };
      }),
    ),
  ),
  { name: 'pcd-errors', type: 'pcd', settings: {}, width: 480, step: wrong },
  {
    name: 'pcd-errors-modern-dark',
    type: 'pcd',
    settings: { theme: { style: 'modern' }, color_mode: 'dark' },
    width: 480,
    step: wrong,
  },
  {
    name: 'pcd-keypad',
    type: 'pcd',
    settings: { force_keypad: true, highlight_fields: true },
    width: 320,
    step: keypad,
  },
  { name: 'pcd-success', type: 'pcd', settings: {}, width: 480, step: saved },
  { name: 'pcd-offline', type: 'pcd', settings: {}, width: 480, step: offline },
  { name: 'pcd-ar', type: 'pcd', settings: { locale: 'ar' }, width: 480, step: filled },
  { name: 'ach', type: 'ach', settings: {}, width: 480, step: account },
  {
    name: 'custom',
    type: 'custom',
    settings: { additional_fields: OWN },
    width: 480,
    step: type({ member: '20-4711' }),
  },
  { name: 'retrieve', type: 'pcd', settings: {}, width: 480, visit: retrieve, step: shown },
];

async function take(world: FormsWorld, shot: Shot, folder: string): Promise<void> {
  const { name, settings, width, visit = capture, step } = shot;
  const scheme = settings.color_mode === 'dark' ? 'dark' : 'light';
  const page = await world.page({
    // As high as the form, which a whole page is at least.
    viewport: { width, height: 200 },
    colorScheme: scheme,
    reducedMotion: 'reduce',
  });
  const form = await world.form(shot.type, settings);
  const fragment = new URLSearchParams(await visit(world));
  await page.goto(`${world.url}/v1/capture/iframe/${form}#${fragment}`);
  await page.locator('.vf-panel').waitFor();
  await step?.(page);
  // The caret blinks.
  await page.screenshot({
    path: join(folder, `${name}.png`),
    fullPage: true,
    caret: 'hide',
    animations: 'disabled',
  });
}

async function takeGallery(world: FormsWorld, folder: string): Promise<void> {
  const page = await world.page({ viewport: { width: 1280, height: 1100 }, reducedMotion: 'reduce' });
  await page.goto(`${world.url}/forms`);
  // Its first row has the heights of its forms.
  await page.locator('.frames >> nth=0').locator('iframe[style*=height] >> nth=2').waitFor();
  await page.screenshot({ path: join(folder, 'gallery.png'), animations: 'disabled' });
}

const folder = process.argv[2] ?? join(import.meta.dir, '..', '..', 'docs', 'forms');
mkdirSync(folder, { recursive: true });
const world = await openFormsWorld();
try {
  for (const shot of SHOTS) {
    await take(world, shot, folder);
  }
  await takeGallery(world, folder);
} finally {
  await world.close();
}

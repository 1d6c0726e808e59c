import { beforeAll, describe, expect, test } from 'bun:test';
import type { Locator, Page } from 'playwright-core';
import type { FormSettings, FormTypeName } from '../../server/form/schema.ts';
import { type Shown, showForm, WAYS } from './forms-shop.ts';
import { openFormsWorld } from './forms-world.ts';
import { useWorld } from './use-world.ts';

const world = useWorld(openFormsWorld);
let page: Page;

beforeAll(async () => {
  page = await world.page();
});

/** What somebody does with the keyboard alone: texts are typed, and names in capitals are keys. */
async function press(shown: Shown, first: string, ...strokes: string[]): Promise<void> {
  await shown.form.locator(`[name=${first}]`).first().focus();
  for (const stroke of strokes) {
    if (/^(?:Tab|Enter|Space|Arrow\w+)$/.test(stroke)) {
      await page.keyboard.press(stroke);
    } else {
      await page.keyboard.type(stroke);
    }
  }
}

const OWN_FIELDS = [
  { name: 'card_number', label: 'Number', required: true },
  { name: 'note', label: 'Note' },
];

const FORMS: Readonly<
  Record<
    FormTypeName,
    { readonly strokes: readonly string[]; readonly stored: Readonly<Record<string, string>> }
  >
> = {
  pcd: {
    strokes: ['card_number', '4111111111111111', 'Tab', 'Ada Lovelace', 'Tab', '1240', 'Tab', '123', 'Enter'],
    stored: {
      card_number: '4111 1111 1111 1111',
      card_holder: 'Ada Lovelace',
      cvv: '123',
      expiry: '12/40',
      expiry_month: '12',
      expiry_year: '2040',
      expiry_year_short: '40',
      card_type: 'visa',
      last_four: '1111',
    },
  },
  ach: {
    strokes: [
      'account_number',
      '000123456789',
      'Tab',
      '110000000',
      'Tab',
      'Space',
      'ArrowRight',
      'Tab',
      'Ada Lovelace',
      'Enter',
    ],
    stored: {
      account_number: '000123456789',
      routing_number: '110000000',
      account_type: 'savings',
      account_holder: 'Ada Lovelace',
      last_four: '6789',
    },
  },
  custom: {
    strokes: ['card_number', '5555 5555-5555 4444', 'Tab', 'für Ada', 'Enter'],
    stored: { card_number: '5555 5555-5555 4444', note: 'für Ada' },
  },
};

describe.each(WAYS)('through the %s', (way) => {
  test.each(Object.entries(FORMS))(
    'a form of type %s is filled in and stored',
    async (type, { strokes, stored }) => {
      const custom = { additional_fields: OWN_FIELDS };
      const form = type === 'custom' ? await world.form('custom', custom) : type;
      const endpoint = await world.capture();
      const [reference, extra] = ['order 1001 & more', { campaign: 'spring', 'x"y': '<é>' }];
      const shown = await showForm(world, page, { way, form, endpoint, reference, extra });
      const [first = '', ...rest] = strokes;
      await press(shown, first, ...rest);

      const success = await shown.hear('vault.success');
      const { token } = success;
      expect(success).toEqual({ type: 'vault.success', token, reference, user: 'shop' });
      expect(await world.stored(String(token), reference)).toEqual({ ...extra, ...stored });
      const told = await shown.told();
      expect(told.every(({ origin, ours }) => origin === 'null' && ours)).toBe(true);
      const types = told.map(({ data }) => data.type).filter((name) => name !== 'vault.height');
      expect(types).toEqual(['vault.ready', 'vault.success']);
      for (const { data } of told.filter(({ data }) => data.type === 'vault.height')) {
        expect(data).toEqual({ type: 'vault.height', height: expect.any(Number) });
      }
      if (way !== 'frame') {
        const events = await shown.events();
        expect(events).toEqual([
          ['ready', {}],
          ['success', { token, reference, user: 'shop' }],
        ]);
      }
    },
  );
});

/** Opens a form by itself, without an endpoint. */
async function open(type: FormTypeName, settings: FormSettings = {}): Promise<void> {
  await page.goto(`${world.url}/v1/capture/iframe/${await world.form(type, settings)}`);
  await page.locator('.vf-panel').waitFor();
}

function field(name: string): Locator {
  return page.locator(`[name="${name}"]`);
}
function caretOf(input: Locator): Promise<number> {
  return input.evaluate((element) => (element as unknown as { selectionStart: number }).selectionStart);
}

/** Pastes with the keyboard what somebody has copied elsewhere. */
async function paste(input: Locator, text: string): Promise<void> {
  await page.bringToFront();
  await input.fill('');
  await input.evaluate((element, copied) => {
    const { ownerDocument } = element as unknown as { ownerDocument: PageDocument };
    ownerDocument.addEventListener(
      'copy',
      (event) => {
        event.clipboardData.setData('text/plain', copied);
        event.preventDefault();
      },
      { once: true },
    );
    ownerDocument.execCommand('copy');
  }, text);
  await input.press('Control+V');
}

interface PageDocument {
  addEventListener(
    type: 'copy',
    listener: (event: {
      readonly clipboardData: { setData(type: string, text: string): void };
      preventDefault(): void;
    }) => void,
    options: { readonly once: true },
  ): void;
  execCommand(command: 'copy'): boolean;
}

describe('the number', () => {
  beforeAll(() => open('pcd'));

  test.each(['4111111111111111', '4111-1111-1111-1111', '４１１１１１１１１１１１１１１１'])(
    'is taken as pasted: %p',
    async (text) => {
      await paste(field('card_number'), text);
      expect(await field('card_number').inputValue()).toBe('4111 1111 1111 1111');
    },
  );

  test.each([
    ['4111111111111111', 'Visa', '4111 1111 1111 1111', '123'],
    ['5555555555554444', 'Mastercard', '5555 5555 5555 4444', '123'],
    ['378282246310005', 'American Express', '3782 822463 10005', '1234'],
  ])('%s is one of %s, in its groups and with its code', async (digits, brand, grouped, code) => {
    await field('card_number').fill('');
    await field('card_number').pressSequentially(digits);
    await page.locator(`.vf-adornment [aria-label="${brand}"]`).waitFor();
    expect(await field('card_number').inputValue()).toBe(grouped);
    await field('cvv').fill('');
    await field('cvv').pressSequentially('12345');
    expect(await field('cvv').inputValue()).toBe(code);
  });

  test('keeps the place of whoever mends it in the middle', async () => {
    const number = field('card_number');
    await number.fill('4242 4242 4242 4242');
    await number.press('Home');
    for (let i = 0; i < 3; i += 1) {
      await number.press('ArrowRight');
    }
    await number.press('Delete');
    expect(await number.inputValue()).toBe('4244 2424 2424 242');
    expect(await caretOf(number)).toBe(3);
    await page.keyboard.type('2');
    expect(await number.inputValue()).toBe('4242 4242 4242 4242');
    expect(await caretOf(number)).toBe(5);
    await number.press('Backspace');
    expect(await number.inputValue()).toBe('4244 2424 2424 242');
    expect(await caretOf(number)).toBe(3);
    await page.keyboard.type('9');
    expect(await number.inputValue()).toBe('4249 4242 4242 4242');
  });
});

describe('the date', () => {
  beforeAll(() => open('pcd'));

  test.each([
    ['1240', '12/40'],
    ['1/40', '01/40'],
    ['12/2040', '12/40'],
  ])('may be typed as %p', async (typed, shown) => {
    await field('expiry').fill('');
    await field('expiry').pressSequentially(typed);
    expect(await field('expiry').inputValue()).toBe(shown);
  });

  test.each(['2040-12', 'December 2040'])('may be pasted as %p, also over a part of it', async (text) => {
    await paste(field('expiry'), text);
    expect(await field('expiry').inputValue()).toBe('12/40');
    await field('expiry').press('Backspace');
    await field('expiry').press('Control+V');
    expect(await field('expiry').inputValue()).toBe('12/40');
  });
});

describe('a bank account', () => {
  beforeAll(() => open('ach'));

  test.each([
    ['account_number', 'DE89370400440532013000', 'An account number has 4 to 17 digits.'],
    ['account_number', '12345678X', 'An account number has 4 to 17 digits.'],
    ['account_number', '12345678.0', 'An account number has 4 to 17 digits.'],
    ['routing_number', '1100000001', 'This routing number is not valid.'],
    ['routing_number', '501234566', 'This routing number is not valid.'],
  ])('%s keeps %s as it is, and says what is wrong', async (name, text, sentence) => {
    const input = field(name);
    for (const enter of [
      () => input.pressSequentially(text),
      () => paste(input, text),
      () => input.fill(text),
    ]) {
      await input.fill('');
      await enter();
      expect(await input.inputValue()).toBe(text);
      await page.locator('.vf-button').focus();
      await page.locator(`#vf-${name}-error:visible`, { hasText: sentence }).waitFor();
    }
  });

  test('is taken without the separators that it is written with', async () => {
    await paste(field('routing_number'), ' 1100-0000 0\u200e');
    expect(await field('routing_number').inputValue()).toBe('110000000');
    await field('account_number').fill('');
    await field('account_number').pressSequentially('0001 2345-6789');
    expect(await field('account_number').inputValue()).toBe('000123456789');
  });
});

describe('the keypad', () => {
  const keys = (): Promise<string[]> =>
    page.locator('.vf-key:not(.vf-key-delete, .vf-key-done)').allTextContents();

  test('is the one way in, with its digits in an order of their own', async () => {
    await open('pcd', { force_keypad: true });
    await field('card_number').click();
    const first = await keys();
    expect([...first].sort().join('')).toBe('0123456789');
    await page.keyboard.type('4');
    expect(await field('card_number').inputValue()).toBe('');
    for (const digit of '4111111111111111') {
      await page.locator('.vf-key', { hasText: digit }).click();
    }
    expect(await field('card_number').inputValue()).toBe('4111 1111 1111 1111');
    await page.locator('.vf-key-delete').click();
    expect(await field('card_number').inputValue()).toBe('4111 1111 1111 111');
    await page.locator('.vf-key-done').click();
    await page.locator('#vf-card_number-error:visible').waitFor();
    expect(await page.locator('.vf-keypad').count()).toBe(0);
    await field('cvv').click();
    expect(await keys()).not.toEqual(first);
  });
});

describe('settings', () => {
  test('leave fields out, leave them unchecked and add some', async () => {
    await open('pcd', {
      field_options: {
        card_holder: { visible: false },
        expiry: { validate: false },
        cvv: { validate: false },
      },
      additional_fields: [
        { name: 'member', label: 'Membership', required: true },
        { name: 'note', label: 'Note' },
      ],
    });
    const names = await page
      .locator('input')
      .evaluateAll((inputs) => inputs.map((input) => Reflect.get(input, 'name')));
    expect(names).toEqual(['card_number', 'expiry', 'cvv', 'member', 'note']);
    await field('card_number').fill('4111111111111111');
    await field('expiry').fill('01/20');
    await page.locator('.vf-button').click();
    expect(await page.locator('.vf-error:visible').allTextContents()).toEqual(['Please fill in this field.']);
    expect(await page.locator('#vf-member-error').isVisible()).toBe(true);
    expect(await page.locator('label[for=vf-note]').textContent()).toBe('Note (optional)');
  });

  test('show the form without its card, or mark what is typed on it', async () => {
    await open('pcd', { hide_card: true });
    expect(await page.locator('.vf-card').count()).toBe(0);
    await open('pcd', { highlight_fields: true });
    await field('cvv').focus();
    expect(await page.locator('.vf-back .vf-on').count()).toBe(1);
    await page.locator('.vf-turned').waitFor();
  });
});

describe('what is wrong', () => {
  /** Leaves a field after typing something wrong into it. */
  const leave = async (name: string, text: string, sentence: string): Promise<void> => {
    await field(name).fill('');
    await field(name).pressSequentially(text);
    await page.keyboard.press('Tab');
    await page.locator(`#vf-${name}-error:visible`, { hasText: sentence }).waitFor();
    const label = await page.locator(`label[for=vf-${name}]`).textContent();
    expect(await announced()).toBe(`${label}: ${sentence}`);
  };

  /** The text that screen readers read out wherever the focus is. */
  const announced = (): Promise<string | null> => page.locator('.vf-form [role=status]').textContent();

  test('stands beside the field, is told to readers of screens, and goes when it is mended', async () => {
    await open('pcd');
    await page.locator('.vf-button').click();
    for (const [name, missing] of [
      ['card_number', 'Enter the card number.'],
      ['card_holder', 'Enter the name on the card.'],
      ['expiry', 'Enter the expiry date.'],
      ['cvv', 'Enter the security code.'],
    ] as const) {
      const input = field(name);
      expect(await input.getAttribute('aria-invalid')).toBe('true');
      const described = await input.getAttribute('aria-describedby');
      expect(await page.locator(`#${described}`).textContent()).toBe(missing);
    }
    expect(await page.locator('[name=card_number]:focus').count()).toBe(1);
    const labels = 'Card number, Name on card, Expiry date, Security code';
    expect(await page.locator('.vf-form [role=status]').textContent()).toBe(`Please check: ${labels}.`);
    await page.keyboard.type('4');
    expect(await page.locator('#vf-card_number-error').isVisible()).toBe(false);
    await page.keyboard.type('111111111111112');
    await page.keyboard.press('Tab');
    await page.locator('#vf-card_number-error', { hasText: 'This card number is not valid.' }).waitFor();
    expect(await announced()).toBe('Card number: This card number is not valid.');
    // The summary of a rejected form is not replaced by the error of the field that the press has left.
    await field('expiry').fill('01/20');
    await page.locator('.vf-button').click();
    await page.locator('[name=card_number]:focus').waitFor();
    await Bun.sleep(50);
    expect(await announced()).toBe(`Please check: ${labels}.`);
    await field('card_number').fill('4111111111111111');
    expect(await page.locator('#vf-card_number-error').isVisible()).toBe(false);
    expect(await field('card_number').getAttribute('aria-invalid')).toBe('false');
  });

  test('with a card is said when the field is left', async () => {
    await open('pcd');
    await leave('card_number', '4111', 'This card number is not complete.');
    await leave('card_holder', '4111 1111 1111 1111', 'Enter a name, not a number.');
    await leave('expiry', '01/20', 'This card has expired.');
    await leave('expiry', '13', 'Enter the date as month and year, such as 08/29.');
    await leave('cvv', '12', 'The security code has 3 digits.');
    await leave('card_number', '378282246310004', 'This card number is not valid.');
    await leave('cvv', '123', 'The security code has 4 digits.');
    await field('cvv').fill('1234');
    await leave('card_number', '4111111111111112', 'This card number is not valid.');
    await field('card_number').fill('4111111111111111');
    expect(await field('cvv').inputValue()).toBe('1234');
    await page.locator('.vf-button').click();
    await page.locator('#vf-cvv-error:visible', { hasText: 'The security code has 3 digits.' }).waitFor();
  });

  test('with a bank account is said when the field is left, and on the keypad too', async () => {
    await open('ach');
    await leave('routing_number', '021000022', 'This routing number is not valid.');
    await leave('account_number', '123', 'An account number has 4 to 17 digits.');
    await field('account_number').fill('1234');
    expect(await announced()).toBe('');
    await open('pcd', { force_keypad: true });
    await field('card_number').click();
    await page.locator('.vf-key', { hasText: '4' }).click();
    await field('card_holder').focus();
    await page.locator('#vf-card_number-error:visible').waitFor();
    expect(await announced()).toBe('Card number: This card number is not complete.');
  });
});

describe('languages', () => {
  test.each([
    ['en', 'ltr', 'Card details', 'Save card'],
    ['es', 'ltr', 'Datos de la tarjeta', 'Guardar tarjeta'],
    ['fr', 'ltr', 'Carte bancaire', 'Enregistrer la carte'],
    ['de', 'ltr', 'Kartendaten', 'Karte speichern'],
    ['ar', 'rtl', 'بيانات البطاقة', 'حفظ البطاقة'],
  ] as const)('%s runs %s', async (locale, direction, heading, button) => {
    await open('pcd', { locale });
    expect(await page.locator('html').getAttribute('lang')).toBe(locale);
    expect(await page.locator('html').getAttribute('dir')).toBe(direction);
    expect(await page.locator('h1').textContent()).toBe(heading);
    expect(await page.locator('.vf-button').textContent()).toBe(button);
    const [number, expiry] = [await field('card_number').boundingBox(), await field('expiry').boundingBox()];
    expect((expiry?.x ?? 0) > (number?.x ?? 0)).toBe(direction === 'rtl');
  });

  test('are those of the address, then of the form, then of the browser', async () => {
    await page.goto(
      `${world.url}/v1/capture/iframe/${await world.form('pcd', { locale: 'fr' })}#locale=de-AT`,
    );
    expect(await page.locator('.vf-button').textContent()).toBe('Karte speichern');
    await page.goto(`${world.url}/v1/capture/iframe/pcd`);
    expect(await page.locator('.vf-button').textContent()).toBe('Save card');
  });
});

/** A person at a screen, whose clicks, typing and time are counted. */
import type { Locator, Page } from 'playwright-core';

/**
 * Times of the keystroke-level model (Card, Moran and Newell), in seconds: to decide on a step, to point with the mouse, to
 * press its button, to move the hand to the keyboard, and to press a key as an average typist.
 */
const DECIDE_S = 1.35;
const POINT_S = 1.1;
const PRESS_S = 0.2;
const REACH_S = 0.4;
const KEY_S = 0.28;
/** Time to find what was sought in a screen that has just been shown. */
const FIND_S = 2.7;

/** What a task took; the seconds are those of the person and those of the vault and the browser. */
export interface Effort {
  readonly clicks: number;
  readonly fields: number;
  readonly screens: number;
  readonly seconds: number;
}

export interface Person {
  readonly click: (target: Locator) => Promise<void>;
  /** Types into a field, which is reached by a click, and presses Enter if `isLast`. */
  readonly type: (field: Locator, text: string, isLast?: boolean) => Promise<void>;
  readonly choose: (list: Locator, option: string) => Promise<void>;
  /** Reads what has to be there. */
  readonly read: (target: Locator) => Promise<string>;
  readonly effort: () => Effort;
}

/** A person who begins at the shown screen. */
export function personAt(page: Page): Person {
  const began = performance.now();
  let person = 0;
  let clicks = 0;
  let fields = 0;
  let screens = 0;
  let place = page.url();
  const look = (): void => {
    screens += page.url() === place ? 0 : 1;
    place = page.url();
  };
  const click = async (target: Locator): Promise<void> => {
    await target.click();
    clicks += 1;
    person += DECIDE_S + POINT_S + PRESS_S;
    look();
  };
  return {
    click,
    type: async (field, text, isLast = false) => {
      await click(field);
      await field.fill(text);
      fields += 1;
      person += REACH_S + KEY_S * text.length;
      if (isLast) {
        await page.keyboard.press('Enter');
        person += KEY_S;
        look();
      }
    },
    choose: async (list, option) => {
      await list.selectOption({ label: option });
      clicks += 2;
      fields += 1;
      person += 2 * (DECIDE_S + POINT_S + PRESS_S);
    },
    read: async (target) => {
      await target.first().waitFor();
      look();
      person += FIND_S;
      return (await target.first().textContent()) ?? '';
    },
    effort: () => ({ clicks, fields, screens, seconds: person + (performance.now() - began) / 1_000 }),
  };
}

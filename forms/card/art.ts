/** The sample card: it shows what is typed, and turns round for the verification code. Hidden from screen readers. */

import { h } from '../base/dom.ts';
import { brandMark } from '../fields/brand-mark.ts';
import type { Texts } from '../messages/en.ts';
import { type CardPart, createBack, createFront } from './faces.ts';

/** The values on the card; an empty one shows its placeholder. */
export interface CardFace {
  readonly number: string;
  readonly name: string;
  readonly expiry: string;
  readonly code: string;
  readonly brand: string;
}

/** The sample card as the form uses it. */
export interface CardArt {
  readonly element: HTMLElement;
  show(face: CardFace): void;
  /** Marks the part whose field has the focus, and turns the card if it is on the back. */
  focus(part: CardPart | undefined): void;
}

const AMEX = 'american-express';
const NAME_CHARACTERS_MAX = 26;
/** Longer texts are written smaller. */
const NAME_CHARACTERS_LARGE = 18;
const NUMBER_CHARACTERS_LARGE = 19;
/** What else was pasted into a field has no place on the card. */
const NUMBER_CHARACTERS_MAX = 23;
const DATE_CHARACTERS_MAX = 7;
const CODE_CHARACTERS_MAX = 4;

/** The start of a long name. */
function shorten(name: string): string {
  return name.length > NAME_CHARACTERS_MAX ? `${name.slice(0, NAME_CHARACTERS_MAX - 1)}…` : name;
}

/** The number, with dots for the missing digits. */
function dotted(number: string, brand: string): string {
  const full = brand === AMEX ? '•••• •••••• •••••' : '•••• •••• •••• ••••';
  return number + full.slice(number.length);
}

/** Writes a text: faint if it is the placeholder, smaller if it is long. */
function write(element: Element, text: string, place: string, charactersLarge: number): void {
  element.textContent = text || place;
  element.classList.toggle('vf-faint', text === '');
  element.classList.toggle('vf-long', text.length > charactersLarge);
}

/** Creates the card. With `highlight` the part in focus has a frame. */
export function createCardArt(texts: Texts, highlight: boolean): CardArt {
  const front = createFront(texts);
  const back = createBack();
  const turn = h('div', { class: 'vf-turn' }, front.element, back.element);
  const element = h('div', { class: 'vf-card', 'aria-hidden': 'true' }, turn);
  const frames = element.querySelectorAll<SVGElement>('.vf-frame');
  // Its verification code is on the front, so the card is not turned.
  let amex = false;
  let focused: CardPart | undefined;
  const refresh = (): void => {
    turn.classList.toggle('vf-turned', focused === 'cvv' && !amex);
    for (const frame of frames) {
      frame.classList.toggle('vf-on', highlight && frame.dataset['part'] === focused);
    }
  };
  return {
    element,
    show: ({ number, name, expiry, code, brand }) => {
      amex = brand === AMEX;
      write(front.number, dotted(number.slice(0, NUMBER_CHARACTERS_MAX), brand), '', NUMBER_CHARACTERS_LARGE);
      write(front.name, shorten(name), texts.name, NAME_CHARACTERS_LARGE);
      write(front.expiry, expiry.slice(0, DATE_CHARACTERS_MAX), texts.date, NAME_CHARACTERS_LARGE);
      const shown = code.slice(0, CODE_CHARACTERS_MAX);
      front.code.textContent = amex ? shown || '••••' : '';
      back.code.textContent = shown || '•••';
      front.mark.replaceChildren(...(brand === '' ? [] : [brandMark(brand)]));
      refresh();
    },
    focus: (part) => {
      focused = part;
      refresh();
    },
  };
}

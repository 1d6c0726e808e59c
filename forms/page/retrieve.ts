/** A stored item, read once and shown masked. Its values are kept in a closure; the page contains only what is visible. */

import { members } from '../base/config.ts';
import { COPY, EYE, h, icon, TICK } from '../base/dom.ts';
import { createCardArt } from '../card/art.ts';
import { brandOf } from '../fields/brand.ts';
import { digitsOf } from '../fields/digits.ts';
import { hiddenText, isMasked, type StoredValue, shownText, storedValues } from '../fields/mask.ts';
import { copyText } from './copy.ts';
import { readItem } from './endpoint.ts';
import { failureText, mayPass } from './failure-text.ts';
import { type FormContext, report } from './form.ts';
import { createHead } from './shell.ts';
import { alertParts } from './view.ts';

/** Revealed values are hidden again after this time. */
const SHOWN_MS = 30_000;
const COPIED_MS = 2_000;

/** The view as the page uses it. */
export interface ItemView {
  readonly element: HTMLElement;
  /** Reads the item; in a window of its own only after a press, so that a program that follows links reads nothing. */
  start(): void;
  /** Discards the item; `idle` shows why. */
  wipe(idle: boolean): void;
}

/** A value in the page; `reveal` switches between hidden and plain text. */
interface Row {
  readonly element: HTMLElement;
  reveal(now: boolean): void;
}

/** Creates the view; it is empty until `load`. */
export function createItemView(context: FormContext): ItemView {
  const { config, texts } = context;
  const body = h('div', { class: 'vf-body' });
  const element = h('div', { class: 'vf-panel' }, createHead(context), body);
  // Hides the revealed values; replaced when an item is shown.
  let conceal = (): void => undefined;
  const say = (message: string, again: boolean): void => {
    const parts = alertParts(message, again ? texts.again : undefined);
    const form = h('form', {}, h('div', { class: 'vf-alert', role: 'alert' }, ...parts));
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      load();
    });
    body.replaceChildren(form);
  };
  const load = (): void => {
    body.replaceChildren(
      h('div', { class: 'vf-loading', role: 'status' }, h('span', { class: 'vf-hidden' }, texts.loading)),
    );
    void readItem(context).then((outcome) => {
      if ('failure' in outcome) {
        say(texts[failureText(outcome.failure)], mayPass(outcome.failure));
        report(outcome.failure, context);
        return;
      }
      conceal = fillBody(body, storedValues(members(outcome.reply), config), context);
    });
  };
  const ask = (): void => {
    const open = h('button', { type: 'button', class: 'vf-button' }, texts.open);
    open.addEventListener('click', load);
    body.replaceChildren(open);
  };
  document.addEventListener('visibilitychange', () => conceal());
  return {
    element,
    start: context.isFramed ? load : ask,
    wipe: (idle) => {
      conceal = () => undefined;
      if (idle) {
        say(texts.idle, true);
      } else {
        body.replaceChildren();
      }
    },
  };
}

/** Shows the values; returns a function that hides them again. */
function fillBody(body: HTMLElement, values: readonly StoredValue[], context: FormContext): () => void {
  const { config, texts } = context;
  if (values.length === 0) {
    body.replaceChildren(h('p', { class: 'vf-empty' }, texts.empty));
    return () => undefined;
  }
  const rows = values.map((value) => createRow(value, context));
  const number = values.find(({ name }) => name === 'card_number')?.text;
  // The sample card is only shown for items with a card number.
  const isCard = config.form_type !== 'custom' && number !== undefined;
  const art = isCard && !config.settings.hide_card ? createCardArt(texts, false) : undefined;
  const toggle = h('button', { type: 'button', class: 'vf-button vf-show', 'aria-pressed': 'false' });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const reveal = (now: boolean): void => {
    clearTimeout(timer);
    timer = now ? setTimeout(() => reveal(false), SHOWN_MS) : undefined;
    toggle.setAttribute('aria-pressed', String(now));
    toggle.replaceChildren(icon(EYE), h('span', {}, now ? texts.hide : texts.show));
    for (const row of rows) {
      row.reveal(now);
    }
    const text = (name: string): string => {
      const value = values.find((candidate) => candidate.name === name);
      return value === undefined ? '' : now || !value.secret ? shownText(value) : hiddenText(value);
    };
    art?.show({
      number: text('card_number'),
      name: text('card_holder'),
      expiry: text('expiry'),
      code: text('cvv'),
      brand: brandOf(digitsOf(number ?? '')),
    });
  };
  toggle.addEventListener('click', () => reveal(toggle.getAttribute('aria-pressed') !== 'true'));
  reveal(false);
  const list = h('dl', { class: 'vf-values' }, ...rows.map((row) => row.element));
  const hides = values.some(({ secret, text }) => secret && !isMasked(text));
  body.replaceChildren(
    ...[art?.element, list, hides ? toggle : undefined].filter((child) => child !== undefined),
  );
  return () => reveal(false);
}

/** The elements of one value, with a button that copies it. */
function createRow(value: StoredValue, { texts }: FormContext): Row {
  // Values without a label are fields with a translated label.
  const label = value.label ?? texts[value.name as keyof typeof texts];
  const shown = h('dd', { class: 'vf-value', dir: 'auto' });
  const word = h('span', {}, texts.copy);
  const copy = h(
    'button',
    { type: 'button', class: 'vf-copy', 'aria-label': `${texts.copy}: ${label}` },
    icon(COPY),
    word,
  );
  const status = h('span', { class: 'vf-hidden', role: 'status' });
  copy.addEventListener('click', async () => {
    if (await copyText(value.text)) {
      copy.replaceChildren(icon(TICK), h('span', {}, texts.copied));
      status.textContent = texts.copied;
      setTimeout(() => {
        copy.replaceChildren(icon(COPY), word);
        status.textContent = '';
      }, COPIED_MS);
    }
  });
  const element = h(
    'div',
    { class: 'vf-row', 'data-field': value.name },
    h('dt', { class: 'vf-label' }, label),
    shown,
    isMasked(value.text) ? undefined : h('dd', { class: 'vf-act' }, copy, status),
  );
  const open =
    value.name === 'account_type' && (value.text === 'checking' || value.text === 'savings')
      ? texts[value.text]
      : undefined;
  return {
    element,
    reveal: (now) => {
      shown.textContent = open ?? (now || !value.secret ? shownText(value) : hiddenText(value));
    },
  };
}

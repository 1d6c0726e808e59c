import { members } from '../base/config.ts';
import { h } from '../base/dom.ts';
import { hiddenText, isMasked, shownText } from '../fields/mask.ts';
import type { Frame } from '../frame/frame.ts';
import type { Texts } from '../messages/en.ts';
import { copyText } from '../page/copy.ts';
import { readRetrieval } from '../page/sealed.ts';
import { BROWSER } from '../page/submit.ts';
import { wipeWhenLeft } from '../page/wipe.ts';
import type { ElementVisit } from './visit.ts';

/** A revealed value is hidden again after this time. */
const SHOWN_MS = 30_000;

/** Time for which a value must be visible before its buttons work, so that a page cannot move it under a click. */
const SEEN_MS = 500;

/**
 * Calls `act` when an element becomes visible or hidden: covered, transparent, or scaled down by the page around. Only
 * Chromium can tell; in other browsers an element in view counts as visible.
 */
function watchSeen(element: Element, act: (isSeen: boolean) => void): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const options: IntersectionObserverInit & { trackVisibility: boolean; delay: number } = {
    ...{ trackVisibility: true, delay: 100 },
  };
  new IntersectionObserver((entries) => {
    const last: { isIntersecting?: boolean; isVisible?: boolean } = entries.at(-1) ?? {};
    const isSeen = last.isVisible ?? last.isIntersecting === true;
    clearTimeout(timer);
    timer = setTimeout(act, isSeen ? SEEN_MS : 0, isSeen);
  }, options).observe(element);
}

/** Reads the item once, and shows the value of one member of it. */
export async function showValue(
  visit: ElementVisit,
  texts: Texts,
  frame: Pick<Frame, 'send'>,
): Promise<void> {
  const { unique_id, secret, token, reference, shows, isSealed } = visit;
  const shown = h('output', { dir: 'auto' });
  const toggle = h('button', { type: 'button', 'aria-pressed': 'false', disabled: true }, texts.show);
  const copy = h('button', { type: 'button', disabled: true }, texts.copy);
  const endpoint = { api: location.origin, unique_id, secret };
  const query = { token, reference, form_type: undefined };
  const outcome = await readRetrieval(endpoint, query, isSealed, BROWSER);
  if ('failure' in outcome) {
    const { status, code } = outcome.failure;
    frame.send({ type: 'vault.error', status, code });
    return;
  }
  const given = members(outcome.reply)[shows];
  let text = typeof given === 'string' ? given : '';
  if (text === '') {
    frame.send({ type: 'vault.error', status: 0, code: 'value_missing' });
    return;
  }
  // A value that the endpoint has masked cannot be shown, and its stars are useless.
  const place = h('div', { class: 'value' }, shown, ...(isMasked(text) ? [] : [toggle, copy]));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const reveal = (now: boolean): void => {
    clearTimeout(timer);
    timer = now ? setTimeout(() => reveal(false), SHOWN_MS) : undefined;
    const value = { name: shows, label: shows, secret: true, text };
    shown.textContent = now ? shownText(value) : hiddenText(value);
    toggle.textContent = now ? texts.hide : texts.show;
    toggle.setAttribute('aria-pressed', String(now));
  };
  toggle.addEventListener('click', () => reveal(toggle.getAttribute('aria-pressed') !== 'true'));
  copy.addEventListener('click', async () => {
    copy.textContent = (await copyText(text)) ? texts.copied : texts.copy;
  });
  document.addEventListener('visibilitychange', () => reveal(false));
  wipeWhenLeft(() => {
    text = '';
    place.remove();
  });
  watchSeen(place, (isSeen) => {
    toggle.disabled = !isSeen;
    copy.disabled = !isSeen;
  });
  reveal(false);
  document.body.append(place);
}

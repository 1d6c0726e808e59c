/** The script of an element's frame: it shows one field, or one value of an item, in the style of the page around. */

import { showField } from './elements/field-page.ts';
import { showValue } from './elements/reveal-page.ts';
import { cssOf } from './elements/theme.ts';
import { ELEMENT_FIELDS, type ElementField, readElementVisit } from './elements/visit.ts';
import { openFrame } from './frame/frame.ts';
import type { ParentMessage } from './frame/messages.ts';
import { pickLocale, textsOf } from './messages/messages.ts';
import { clearAddress } from './page/address.ts';

const BASE = `
html, body { margin: 0; height: 100%; background: none; }
body { display: flex; gap: 8px; }
select { flex: none; max-width: 45%; border: 0; background: none; font: 16px system-ui, sans-serif; color: CanvasText; }
[hidden] { display: none; }
input { all: unset; display: block; box-sizing: border-box; flex: 1; min-width: 0; height: 100%; font: 16px system-ui, sans-serif; color: CanvasText; cursor: text; }
input::placeholder { color: GrayText; }
input[aria-invalid="true"] { color: #c0183c; }
#error { position: absolute; top: 0; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }
.value { flex: 1; display: flex; gap: 8px; align-items: center; height: 100%; font: 16px system-ui, sans-serif; }
.value output { flex: 1; overflow-wrap: anywhere; }
button { font: inherit; cursor: pointer; }
`;

const visit = readElementVisit(location.hash);
clearAddress();

function isField(name: string): name is ElementField {
  return ELEMENT_FIELDS.some((field) => field === name);
}

function start(): void {
  const frame = openFrame({ own: window, ancestors: location.ancestorOrigins, allowed: [] }, (message) =>
    act(message),
  );
  let act: (message: ParentMessage) => void = () => undefined;
  const { field, locale, theme } = visit;
  // Without a page around, a visitor could not tell which site requests the card.
  if (!frame.framed) {
    return;
  }
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`${BASE}${cssOf(theme)}`);
  document.adoptedStyleSheets = [sheet];
  const language = pickLocale([locale, ...navigator.languages]);
  document.documentElement.lang = language;
  const texts = textsOf(language, true);
  if (isField(field)) {
    act = showField({ ...visit, field }, texts, frame);
  } else if (field === 'reveal') {
    const show = (): void => void showValue(visit, texts, frame);
    // A page that the history restores is empty.
    addEventListener('pageshow', ({ persisted }) => persisted && show());
    show();
  } else {
    // After a reload the address is empty. The page around loads it again.
    return;
  }
  frame.send({ type: 'vault.ready' });
}

start();

/** The two sides of the sample card, drawn from plain shapes. */
import { svg } from '../base/dom.ts';
import type { Texts } from '../messages/en.ts';

/** The proportions of ID-1 cards (ISO/IEC 7810). */
const WIDTH = 340;
const HEIGHT = 214;

/** The parts that can have the focus: the names of their fields. */
export type CardPart = 'card_number' | 'card_holder' | 'expiry' | 'cvv';

/** The front, with the parts whose text changes. American Express has its verification code there. */
export interface Front {
  readonly element: SVGElement;
  readonly number: SVGElement;
  readonly name: SVGElement;
  readonly expiry: SVGElement;
  readonly code: SVGElement;
  /** The mark of the network, a nested image. */
  readonly mark: SVGElement;
}

/** A text at a position. */
function write(x: number, y: number, name: string, anchor: 'start' | 'end', text = ''): SVGElement {
  return svg('text', { x, y, class: name, 'text-anchor': anchor, direction: 'ltr' }, text);
}

/** A shape. */
function path(d: string, name: string): SVGElement {
  return svg('path', { d, class: name });
}

/** The frame that marks a part. */
function frame(part: CardPart, x: number, y: number, width: number, height: number): SVGElement {
  return svg('rect', { x, y, width, height, rx: 9, class: 'vf-frame', 'data-part': part });
}

/** One side of the card. */
function side(name: string, ...children: SVGElement[]): SVGElement {
  return svg(
    'svg',
    { class: `vf-side ${name}`, viewBox: `0 0 ${WIDTH} ${HEIGHT}` },
    path('M150 0C132 84 226 116 340 104V0Z', 'vf-shine'),
    path('M340 214V150C262 128 196 160 176 214Z', 'vf-shine'),
    ...children,
  );
}

/** Draws the front. */
export function createFront(texts: Texts): Front {
  const number = write(26, 128, 'vf-art-number', 'start');
  // As wide as the lines below it, in any typeface.
  number.setAttribute('textLength', '288');
  const name = write(26, 184, 'vf-art-text', 'start');
  const expiry = write(314, 184, 'vf-art-text', 'end');
  const code = write(314, 92, 'vf-art-text', 'end');
  const mark = svg('svg', { x: 264, y: 22, width: 50, height: 32.5 });
  const element = side(
    'vf-front',
    svg('rect', { x: 26, y: 60, width: 44, height: 33, rx: 7, class: 'vf-chip' }),
    path('M26 71h13m18 0h13M26 82h13m18 0h13M39 60v33m18-33v33M39 76.5h18', 'vf-chip-line'),
    path('M83 69c4 4.5 4 11 0 15.5M90 65c6.5 7 6.5 16.5 0 23.5M97 61c9 9.5 9 22 0 31.5', 'vf-wave'),
    frame('card_number', 16, 104, 308, 36),
    frame('card_holder', 16, 149, 206, 48),
    frame('expiry', 232, 149, 92, 48),
    frame('cvv', 262, 70, 62, 32),
    number,
    write(26, 164, 'vf-art-label', 'start', texts.card_holder),
    write(314, 164, 'vf-art-label', 'end', texts.expiry),
    name,
    expiry,
    code,
    mark,
  );
  return { element, number, name, expiry, code, mark };
}

/** Draws the back, with the verification code. */
export function createBack(): { readonly element: SVGElement; readonly code: SVGElement } {
  const code = write(292, 113, 'vf-art-code', 'end');
  const element = side(
    'vf-back',
    svg('rect', { y: 26, width: WIDTH, height: 42, class: 'vf-stripe' }),
    svg('rect', { x: 26, y: 90, width: 288, height: 36, rx: 5, class: 'vf-strip' }),
    path('M38 102h160M38 108h130M38 114h146', 'vf-scribble'),
    frame('cvv', 240, 84, 72, 48),
    code,
  );
  return { element, code };
}

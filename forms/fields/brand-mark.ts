/** Small marks of card networks, drawn from plain shapes: they distinguish cards and copy no logo. */

import { type Child, svg } from '../base/dom.ts';
import { brandName } from './brand.ts';

/** The size of a mark, in units of its view box. */
const WIDTH = 40;
const HEIGHT = 26;

/** The background of a mark. */
function plate(fill: string): SVGElement {
  return svg('rect', { width: WIDTH, height: HEIGHT, rx: 4.5, fill });
}

/** A circle of a mark. */
function disc(cx: number, fill: string, opacity = 1): SVGElement {
  return svg('circle', { cx, cy: 13, r: 7.5, fill, opacity });
}

/** An upright bar of a mark. */
function bar(x: number, fill: string): SVGElement {
  return svg('rect', { x, y: 5, width: 7.5, height: 16, rx: 2.5, fill });
}

/** A name in the middle of a mark. */
function wordmark(text: string, fill: string, size: number): SVGElement {
  return svg(
    'text',
    {
      x: WIDTH / 2,
      y: 13 + size * 0.36,
      'text-anchor': 'middle',
      'font-size': size,
      'font-weight': 700,
      'font-family': 'system-ui,sans-serif',
      fill,
    },
    text,
  );
}

/** A slanted bar of a mark. */
function slant(x: number, fill: string): SVGElement {
  return svg('path', { d: `M${x + 3} 5h9l-3.5 16h-9z`, fill });
}

const MARKS: Readonly<Record<string, () => Child[]>> = {
  visa: () => [
    plate('#fff'),
    svg('path', { d: 'M0 4.5A4.5 4.5 0 0 1 4.5 0h31A4.5 4.5 0 0 1 40 4.5V6H0Z', fill: '#1f3c9b' }),
    wordmark('VISA', '#1f3c9b', 11),
    svg('path', { d: 'M0 21h40v.5a4.5 4.5 0 0 1-4.5 4.5h-31A4.5 4.5 0 0 1 0 21.5Z', fill: '#e9a320' }),
  ],
  mastercard: () => [plate('#22262f'), disc(15.5, '#e0262e'), disc(24.5, '#f59b23', 0.88)],
  maestro: () => [plate('#fff'), disc(15.5, '#1a86d0'), disc(24.5, '#e0262e', 0.88)],
  'american-express': () => [plate('#1f6fc9'), wordmark('AMEX', '#fff', 10.5)],
  'diners-club': () => [
    plate('#fff'),
    disc(20, '#1c5b9e'),
    svg('path', { d: 'M18.5 8.5v9a4.8 4.8 0 0 1 0-9Zm3 0v9a4.8 4.8 0 0 0 0-9Z', fill: '#fff' }),
  ],
  discover: () => [
    plate('#fff'),
    svg('path', { d: 'M40 13v8.5a4.5 4.5 0 0 1-4.5 4.5H13C26 24 35 19 40 13Z', fill: '#ee7623' }),
    wordmark('DISC', '#23262b', 9.5),
  ],
  jcb: () => [plate('#fff'), bar(7, '#1762b5'), bar(16.25, '#d42a3b'), bar(25.5, '#2a8a3c')],
  unionpay: () => [plate('#fff'), slant(5, '#d7263d'), slant(14, '#1d4f91'), slant(23, '#13787d')],
};

/** A blank card. */
function unknown(): Child[] {
  return [
    svg('rect', { x: 0.75, y: 0.75, width: 38.5, height: 24.5, rx: 4, class: 'vf-blank' }),
    svg('path', { d: 'M1 8.5h38M6 18h8', class: 'vf-blank' }),
  ];
}

/** The mark of a network: a blank card if it is unknown, its name if it has no mark. */
export function brandMark(brand: string): SVGSVGElement {
  const name = brandName(brand);
  const size = Math.min(11, 46 / Math.max(1, name.length));
  const draw =
    MARKS[brand] ?? (brand === '' ? unknown : () => [plate('#3d4a5f'), wordmark(name, '#fff', size)]);
  const label = brand === '' ? { 'aria-hidden': 'true' } : { role: 'img', 'aria-label': name };
  return svg('svg', { class: 'vf-mark', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, ...label }, ...draw());
}

/** The place of the verification code: the back of most cards, the front of American Express. */
export function codeMark(front: boolean): SVGSVGElement {
  return svg(
    'svg',
    { class: 'vf-mark', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, 'aria-hidden': 'true' },
    svg('rect', { x: 0.75, y: 0.75, width: 38.5, height: 24.5, rx: 4, class: 'vf-blank' }),
    svg('path', { d: front ? 'M6 18.5h12M6 8h5' : 'M1 7.5h38M6 16h12', class: 'vf-blank' }),
    svg('rect', { x: 23, y: front ? 6 : 12, width: 12, height: 8, rx: 4, class: 'vf-spot' }),
  );
}

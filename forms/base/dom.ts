/** Building elements without ever parsing markup. */

const SVG = 'http://www.w3.org/2000/svg';

/** Attributes by name; false and undefined leave one out, true is an empty one. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** What an element may hold; texts become text nodes. */
export type Child = Node | string | undefined;

function build<Made extends Element>(made: Made, attributes: Attributes, children: readonly Child[]): Made {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== undefined) {
      made.setAttribute(name, value === true ? '' : String(value));
    }
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** Makes an element of HTML. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return build(document.createElement(tag), attributes, children);
}

/** Makes an element of SVG. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

/** An icon of one path, in a square of 24, drawn in the colour of the text around it. */
export function icon(path: string, name = 'vf-icon'): SVGSVGElement {
  return svg('svg', { class: name, viewBox: '0 0 24 24', 'aria-hidden': 'true' }, svg('path', { d: path }));
}

export const LOCK =
  'M7 10V7.5a5 5 0 0 1 10 0V10M6.5 10h11A1.5 1.5 0 0 1 19 11.5v7a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 5 18.5v-7A1.5 1.5 0 0 1 6.5 10Z';
export const RING = 'M12 3.5a8.5 8.5 0 1 1-8.5 8.5';
export const TICK = 'm5 12.5 4.5 4.5L19 7.5';
export const ALERT = 'M12 7.5v5.5M12 16.4v.1M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Z';
export const BACK = 'M9 6h10.5A1.5 1.5 0 0 1 21 7.5v9a1.5 1.5 0 0 1-1.5 1.5H9l-6-6 6-6Zm3 3.5 5 5m0-5-5 5';
export const COPY = 'M9 9h10v11H9zM15 9V4H5v11h4';
export const EYE =
  'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12ZM12 9.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6Z';

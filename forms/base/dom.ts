/** Creates elements without parsing markup, so that no text can become an element. */

const SVG = 'http://www.w3.org/2000/svg';

/** Attributes by name; false and undefined omit one, true is an empty one. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** The content of an element; texts become text nodes. */
export type Child = Node | string | undefined;

/** Sets the attributes and appends the children. */
function build<Made extends Element>(made: Made, attributes: Attributes, children: readonly Child[]): Made {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value !== undefined) {
      made.setAttribute(name, value === true ? '' : String(value));
    }
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** Creates an HTML element. */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return build(document.createElement(tag), attributes, children);
}

/** Creates an SVG element. */
export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return build(document.createElementNS(SVG, tag), attributes, children);
}

/** An icon of one path, in a square of 24, in the colour of the surrounding text. Hidden from screen readers. */
export function icon(path: string, name = 'vf-icon'): SVGSVGElement {
  return svg('svg', { class: name, viewBox: '0 0 24 24', 'aria-hidden': 'true' }, svg('path', { d: path }));
}

/** A padlock: encryption. */
export const LOCK =
  'M7 10V7.5a5 5 0 0 1 10 0V10M6.5 10h11A1.5 1.5 0 0 1 19 11.5v7a1.5 1.5 0 0 1-1.5 1.5h-11A1.5 1.5 0 0 1 5 18.5v-7A1.5 1.5 0 0 1 6.5 10Z';
/** Part of a circle: loading. */
export const RING = 'M12 3.5a8.5 8.5 0 1 1-8.5 8.5';
/** A check mark: success. */
export const TICK = 'm5 12.5 4.5 4.5L19 7.5';
/** A circle with an exclamation mark: an error. */
export const ALERT = 'M12 7.5v5.5M12 16.4v.1M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Z';
/** A key with a cross: delete the last digit. */
export const BACK = 'M9 6h10.5A1.5 1.5 0 0 1 21 7.5v9a1.5 1.5 0 0 1-1.5 1.5H9l-6-6 6-6Zm3 3.5 5 5m0-5-5 5';
/** An arrow down: there is a list. */
export const DOWN = 'm6 9.5 6 6 6-6';
/** Two sheets: copy. */
export const COPY = 'M9 9h10v11H9zM15 9V4H5v11h4';
/** An eye: show or hide. */
export const EYE =
  'M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12ZM12 9.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6Z';

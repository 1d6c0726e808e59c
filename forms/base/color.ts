/** The colours that an owner can choose, and the readable text colour on them. */

/** The owner's colours, with the custom property of each. */
export const COLORS = {
  primary_color: '--vf-primary',
  card_primary_color: '--vf-card',
  card_shadow_color: '--vf-card-shadow',
  success_color: '--vf-success',
  error_color: '--vf-error',
} as const;

/** The part of a browser that knows colours. */
declare const CSS: { supports(property: string, value: string): boolean };

/** Keywords that every property takes, and that are no colours. */
const OF_EVERY_PROPERTY = /^(?:inherit|initial|unset|revert|revert-layer)$/i;

/** Returns whether a text is a colour that this browser knows. */
export function isColor(text: string): boolean {
  return !OF_EVERY_PROPERTY.test(text) && CSS.supports('color', text);
}

/** Above this luminance black has more contrast than white; both have about 4.6 to 1 at it. */
const LUMINANCE_MIDDLE = 0.179;

/** The linear value of an sRGB channel (WCAG 2, relative luminance). */
function linear(channel: number): number {
  const part = channel / 255;
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}

/** Black or white, whichever has more contrast on a colour in `rgb()` (WCAG 2). */
export function readableOn(rgb: string): string {
  const [red = 0, green = 0, blue = 0] = (rgb.match(/[\d.]+/g) ?? []).map(Number);
  const luminance = 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  return luminance > LUMINANCE_MIDDLE ? '#10131a' : '#fff';
}

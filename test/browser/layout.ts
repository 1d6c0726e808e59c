/** What of a form's page lies where it is cut off, or cannot be hit. */
import type { Frame, Page } from 'playwright-core';

/** What sticks out of the page to a side. */
export function overflow(page: Page | Frame): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('html, vault-form *:not(.vf-card *, .vf-hidden)')]
    .filter((element) => element.getBoundingClientRect().right > innerWidth + 0.5
      || element.getBoundingClientRect().left < -0.5
      || element.tagName === 'HTML' && element.scrollWidth > innerWidth)
    .map((element) => element.outerHTML.slice(0, 200))`);
}

/** What is to be hit, and is too small for it: buttons and inputs of 44 pixels, everything else of 24. */
export function small(page: Page | Frame): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('button, input, .vf-choice')]
    .filter((element) => element.checkVisibility() && element.type !== 'radio')
    .filter((element) => {
      const { width, height } = element.getBoundingClientRect();
      return height < 44 || width < 44;
    })
    .map((element) => element.outerHTML.slice(0, 200))`);
}

/**
 * The parts whose shadow or outline reaches past an edge of the page, with how far. A filter's shadow has no end that
 * could be measured, so that a part with one counts as cut off.
 */
export function cutOff(page: Page | Frame): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll('vault-form, vault-form *:not(.vf-hidden)')].flatMap((element) => {
    const { boxShadow, outlineStyle, outlineWidth, outlineOffset, filter } = getComputedStyle(element);
    const outline = outlineStyle === 'none' ? 0 : parseFloat(outlineWidth) + parseFloat(outlineOffset);
    const shadows = boxShadow === 'none' ? [] : boxShadow.split(/,(?![^(]*\\))/)
      .filter((shadow) => !shadow.includes('inset'))
      .map((shadow) => [...shadow.matchAll(/(-?[\\d.]+)px/g)].map(([, pixels]) => Number(pixels)));
    const { left, top, right, bottom } = element.getBoundingClientRect();
    const over = [[0, 0, outline, 0], ...shadows].flatMap(([x, y, blur, spread]) => {
      const by = Math.max(0, blur + spread);
      return [by - x - left, by - y - top, right + x + by - innerWidth, bottom + y + by - innerHeight];
    });
    const most = filter === 'none' ? Math.max(...over) : Infinity;
    return most > 0.5 ? [element.getAttribute('class') + ': ' + most] : [];
  })`);
}

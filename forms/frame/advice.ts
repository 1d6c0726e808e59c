/** Warnings for developers in the page's console, for all of our elements. */
import { advise } from '../base/advise.ts';
import { type AttributeState, adviceFor } from './attributes.ts';

/** Time to set attributes one after another; those without a value by then are missing. */
const ADVICE_MS = 1000;

/** Watches the attributes of an element while it is in the page. */
export interface Adviser {
  start(): void;
  stop(): void;
}

/** Warns a second after the element has come into the page or an attribute has changed, and of the same only once. */
export function createAdviser(element: Element, read: () => Omit<AttributeState, 'names'>): Adviser {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let last: string | undefined;
  const check = (): void => {
    timer = undefined;
    const advice = adviceFor(element.localName, { ...read(), names: element.getAttributeNames() });
    if (advice !== undefined && advice !== last) {
      last = advice;
      advise(advice);
    }
  };
  const wait = (): void => {
    timer ??= setTimeout(check, ADVICE_MS);
  };
  const observer = new MutationObserver(wait);
  return {
    start: () => {
      observer.observe(element, { attributes: true });
      wait();
    },
    stop: () => {
      observer.disconnect();
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/** The vault of the examples, as the pages write it. */
const WRITTEN = 'http://127.0.0.1:8080';

/**
 * Shows the URL of this vault in the examples, so that what a reader copies calls it. It is the one that the browser
 * has opened, and goes into texts alone: no header of a request takes part, and nothing becomes markup.
 */
export function showOwnUrl(): void {
  const examples = [...document.querySelectorAll('article code, figcaption')];
  for (const code of examples.filter(({ textContent }) => textContent.includes(WRITTEN))) {
    // In a table, places where a line may break divide the text.
    for (const place of code.querySelectorAll('wbr')) {
      place.remove();
    }
    code.normalize();
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
      text.nodeValue = (text.nodeValue ?? '').replaceAll(WRITTEN, () => location.origin);
    }
  }
}

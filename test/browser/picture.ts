/**
 * Pictures of pages that are the same on every machine: each word is a bar as wide as it has letters, since machines have
 * different fonts. What is compared is the layout, the colours, the lines and the images. `TEST_PICTURES=make` makes
 * the pictures again instead of comparing them.
 */
import { join } from 'node:path';
import type { Page } from 'playwright-core';

const FOLDER = join(import.meta.dir, 'pictures');
/** Browsers round the pixels of an edge differently: a channel of a pixel may be so far off. */
const CHANNEL_OFF_MAX = 40;
/** The share of pixels that may be farther off. */
const SHARE_OFF_MAX = 0.001;

/** Runs in the page. Rules and elements are made by script, which no policy of a page forbids. */
const FLATTEN = `(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(\`
    * { font-family: sans-serif !important; vertical-align: top !important; text-transform: none !important; }
    input, select, textarea, ::placeholder { color: transparent !important; }
    svg text { visibility: hidden !important; }
    *::before, *::after { color: transparent !important; }
    select { width: 120px !important; }
    summary { list-style: none !important; }
    i.word { display: inline-block; height: 0.7em; margin: 0.2em 0.4em 0.1em 0; background: currentColor; }
  \`);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  for (const element of document.querySelectorAll('body *')) {
    const { lineHeight, fontSize } = getComputedStyle(element);
    if (lineHeight === 'normal') element.style.lineHeight = 1.2 * parseFloat(fontSize) + 'px';
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) {
    if (text.parentElement.closest('script, style, noscript, svg, select, textarea')) continue;
    const words = text.data.split(/\\s+/).filter((word) => word !== '');
    text.replaceWith(...words.map((word) => {
      const bar = document.createElement('i');
      bar.className = 'word';
      bar.style.width = word.length / 2 + 'em';
      return bar;
    }));
  }
})()`;

/** Runs in an empty page, with two pictures in base64: how many pixels differ, of how many, and between which corners. */
const COMPARE = `(async ([before, now, offMax]) => {
  const read = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const bitmap = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
    const { width, height } = bitmap;
    const context = new OffscreenCanvas(width, height).getContext('2d');
    context.drawImage(bitmap, 0, 0);
    return { width, height, data: context.getImageData(0, 0, width, height).data };
  };
  const [a, b] = [await read(before), await read(now)];
  if (a.width !== b.width || a.height !== b.height) {
    return { off: Infinity, all: 1, where: [a.width, a.height, b.width, b.height] };
  }
  const places = [];
  for (let at = 0; at < a.data.length; at += 4) {
    if ([0, 1, 2].some((channel) => Math.abs(a.data[at + channel] - b.data[at + channel]) > offMax)) places.push(at / 4);
  }
  const x = places.map((place) => place % a.width), y = places.map((place) => Math.floor(place / a.width));
  return {
    off: places.length,
    all: a.width * a.height,
    where: places.length === 0 ? [] : [Math.min(...x), Math.min(...y), Math.max(...x), Math.max(...y)],
  };
})`;

interface Difference {
  readonly off: number;
  readonly all: number;
  readonly where: readonly number[];
}

/** Compares the page with its picture; resolves with what differs, or with nothing. */
export async function pictureFault(page: Page, name: string): Promise<string | undefined> {
  await page.evaluate(FLATTEN);
  const now = await page.screenshot({ caret: 'hide', animations: 'disabled' });
  const file = Bun.file(join(FOLDER, `${name}.png`));
  if (process.env['TEST_PICTURES'] === 'make') {
    await Bun.write(file, now);
    return undefined;
  }
  const before = Buffer.from(await file.arrayBuffer()).toString('base64');
  const blank = await page.context().newPage();
  const given = JSON.stringify([before, now.toString('base64'), CHANNEL_OFF_MAX]);
  const { off, all, where } = await blank.evaluate<Difference>(`${COMPARE}(${given})`);
  await blank.close();
  return off <= SHARE_OFF_MAX * all
    ? undefined
    : `${name}: ${off} of ${all} pixels differ, within ${where.join(', ')}. If that is right, make the pictures again.`;
}

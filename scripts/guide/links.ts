import { posix } from 'node:path';
import { ELSEWHERE, ENTRIES } from './contents.ts';

const ADDRESSES = new Map(ENTRIES.map(({ file, address }) => [`docs/${file}`, `/guide/${address}`]));
const IMAGE = /^docs\/([\w/-]+\.(?:png|svg))$/;

/** Splits `path#anchor`, and resolves the path from the project's root. */
function resolve(file: string, href: string): { readonly path: string; readonly anchor: string } {
  const [target = '', anchor = ''] = href.split('#');
  const path = target === '' ? `docs/${file}` : posix.join('docs', posix.dirname(file), target);
  return { path, anchor: anchor === '' ? '' : `#${anchor}` };
}

/** The target in the guide of a link of a Markdown file; undefined where the server has no page for it. */
export function hrefOf(file: string, href: string): string | undefined {
  if (/^(?:https?:\/\/|mailto:|\/(?!\/))/.test(href)) {
    return href;
  }
  const { path, anchor } = resolve(file, href);
  const page = ADDRESSES.get(path);
  const target = page === undefined ? ELSEWHERE.get(path) : `${page}${anchor}`;
  // A link from a page to itself is not rendered.
  return target === ADDRESSES.get(`docs/${file}`) ? undefined : target;
}

/** The path in `docs/` of an image of a Markdown file; undefined for an image from elsewhere. */
export function imageOf(file: string, src: string): string | undefined {
  return IMAGE.exec(resolve(file, src).path)?.[1];
}

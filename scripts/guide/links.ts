import { posix } from 'node:path';
import { ELSEWHERE, ENTRIES } from './contents.ts';

const ADDRESSES = new Map(ENTRIES.map(({ file, address }) => [`docs/${file}`, `/guide/${address}`]));
const IMAGE = /^docs\/([\w/-]+\.(?:png|svg))$/;

/** Splits `path#anchor`, and finds the path from the project's root. */
function resolve(file: string, href: string): { readonly path: string; readonly anchor: string } {
  const [target = '', anchor = ''] = href.split('#');
  const path = target === '' ? `docs/${file}` : posix.join('docs', posix.dirname(file), target);
  return { path, anchor: anchor === '' ? '' : `#${anchor}` };
}

/** Where a link of a Markdown file leads in the guide; undefined where the server has nothing to show. */
export function hrefOf(file: string, href: string): string | undefined {
  if (/^(?:https?:\/\/|mailto:|\/(?!\/))/.test(href)) {
    return href;
  }
  const { path, anchor } = resolve(file, href);
  const page = ADDRESSES.get(path);
  const target = page === undefined ? ELSEWHERE.get(path) : `${page}${anchor}`;
  // A page has nothing to gain from a link to itself.
  return target === ADDRESSES.get(`docs/${file}`) ? undefined : target;
}

/** The path in `docs/` of an image that a Markdown file shows; undefined where it is none of ours. */
export function imageOf(file: string, src: string): string | undefined {
  return IMAGE.exec(resolve(file, src).path)?.[1];
}

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ALL_PAGES } from './pages.ts';

const ROOT = join(import.meta.dir, '..', '..');

/** A block of code of a page. */
export interface CodeBlock {
  readonly page: string;
  readonly line: number;
  /** What stands behind the fence; undefined for code that is only indented. */
  readonly info: string | undefined;
  readonly code: string;
  /** The block before it, where nothing but an empty line stands between. */
  readonly after: CodeBlock | undefined;
}

const FENCE = /^( *)(`{3,}|~{3,})(.*)$/;
const INDENTED = /^ {4,}\S/;
const OF_LIST = /^ *(?:[-*+]|\d+\.) | {2,}\S/;

/** All code blocks of a page, with a fence or without. */
export function codeBlocksOf(page: string, markdown: string): readonly CodeBlock[] {
  const lines = markdown.split('\n');
  const blocks: CodeBlock[] = [];
  let end = -1;
  let spoken = '';
  for (let at = 0; at < lines.length; at += 1) {
    const text = lines[at] ?? '';
    const [, , fence, info] = FENCE.exec(text) ?? [];
    const isIndented = INDENTED.test(text) && lines[at - 1] === '' && !OF_LIST.test(spoken);
    if (fence === undefined && !isIndented) {
      spoken = text === '' ? spoken : text;
      continue;
    }
    const isLast = (line: string): boolean =>
      fence === undefined ? line !== '' && !line.startsWith('    ') : line.trim() === fence;
    const found = lines.findIndex((line, index) => index > at && isLast(line));
    const last = found < 0 ? lines.length : found;
    const body = lines
      .slice(fence === undefined ? at : at + 1, last)
      .map((line) => line.replace(/^ {4}/, fence === undefined ? '' : '    '));
    const isNext = lines.slice(end + 1, at).every((line) => line === '');
    blocks.push({
      page,
      line: at + 1,
      info: info?.trim(),
      code: `${body.join('\n').trimEnd()}\n`,
      after: isNext && end >= 0 ? blocks.at(-1) : undefined,
    });
    at = fence === undefined ? last - 1 : last;
    end = at;
    spoken = '';
  }
  return blocks;
}

/** All code blocks of all pages of the project. */
export const ALL_BLOCKS: readonly CodeBlock[] = ALL_PAGES.flatMap((page) =>
  codeBlocksOf(page, readFileSync(join(ROOT, page), 'utf8')),
);

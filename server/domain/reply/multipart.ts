import { VaultError } from '../../core/errors.ts';
import { charsetLabel } from '../text/charset.ts';
import { asIs, type Leaf, Names, ROOT } from './leaves.ts';

const BOUNDARY = /;\s*boundary\s*=\s*(?:"([^"\r\n]{1,70})"|([^\s;"]{1,70}))/i;
/** The first line of a form without a preamble. */
const FIRST_LINE = /^--([^\s"]{1,70})\r?\n(?=content-(?:disposition|type)\s*:)/i;
/** A parameter: read one after another, since the value of one may look like another. */
const PARAMETER = /;\s*([\w*-]{1,64})\s*=\s*(?:"((?:[^"\\\r\n]|\\.)*)"|([^\s;"]+))/g;
const NAME_MAX = 255;
const HEADER = /^([\w-]{1,64})[ \t]*:([^\r\n]{0,1000})$/;
const TRANSFER_ENCODING = /^(?:7bit|8bit|binary)?$/i;
const ASCII = /^[\0-\x7f]*$/;
const READ_CHARSETS = /^(?:utf-?8|us-ascii)$/i;

function unreadable(): VaultError {
  return new VaultError('invalid_request', {
    field: 'body',
    expected: 'must be a well-formed form in multipart/form-data, each part with a name and none encoded',
  });
}

/** Tells whether a text begins as a form in `multipart/form-data` does. */
export function looksLikeMultipart(text: string): boolean {
  return text.startsWith('--') && FIRST_LINE.test(text.slice(0, 200));
}

/** The name of a part. Throws `invalid_request` for headers that do not tell one, and `charset_unsupported`. */
function partName(head: string, body: string): string {
  let name: string | undefined;
  for (const line of head.split(/\r?\n/)) {
    const [, header = '', value = ''] = HEADER.exec(line) ?? [];
    switch (header.toLowerCase()) {
      case 'content-disposition': {
        const found = [...value.matchAll(PARAMETER)].find(([, parameter]) => /^name$/i.test(parameter ?? ''));
        const written = found?.[2] ?? found?.[3];
        if (written !== undefined && written.length > NAME_MAX) {
          throw unreadable();
        }
        name = written?.replaceAll(/\\(["\\])/g, '$1').replaceAll('%22', '"');
        break;
      }
      case 'content-type':
        if (!READ_CHARSETS.test(charsetLabel(value) ?? 'utf-8') && !ASCII.test(body)) {
          throw new VaultError('charset_unsupported');
        }
        break;
      case 'content-transfer-encoding':
        if (!TRANSFER_ENCODING.test(value.trim())) {
          throw unreadable();
        }
        break;
    }
  }
  if (name === undefined) {
    throw unreadable();
  }
  return name;
}

/** What stands before the first part and after the last. */
function aside(text: string, start: number, end: number): Leaf[] {
  return start < end
    ? [{ name: '', branch: ROOT, value: text.slice(start, end), start, end, isAside: true }]
    : [];
}

/**
 * The parts of a form in `multipart/form-data` (RFC 7578), in order, with any line ends. Throws `invalid_request` for a
 * text that is none, and for parts that are encoded.
 */
export function multipartLeaves(text: string, contentType: string | undefined): Leaf[] {
  const declared = BOUNDARY.exec(contentType ?? '');
  const boundary = declared?.[1] ?? declared?.[2] ?? FIRST_LINE.exec(text.slice(0, 200))?.[1];
  if (boundary === undefined) {
    throw unreadable();
  }
  const names = new Names();
  const leaves: Leaf[] = [];
  const delimiter = `--${boundary}`;
  let at = text.startsWith(delimiter) ? 0 : text.indexOf(`\n${delimiter}`) + 1;
  if (!text.startsWith(delimiter, at)) {
    throw unreadable();
  }
  leaves.push(...aside(text, 0, at));
  for (;;) {
    at += delimiter.length;
    if (text.startsWith('--', at)) {
      leaves.push(...aside(text, at + 2, text.length));
      return leaves;
    }
    const start = /[ \t]*\r?\n/y;
    start.lastIndex = at;
    const next = text.indexOf(`\n${delimiter}`, at);
    if (!start.test(text) || next < 0) {
      throw unreadable();
    }
    const end = text[next - 1] === '\r' ? next - 1 : next;
    const head = /\r?\n\r?\n/g;
    head.lastIndex = start.lastIndex;
    const gap = head.exec(text);
    if (gap === null || head.lastIndex > next + 1) {
      throw unreadable();
    }
    const from = Math.min(head.lastIndex, end);
    const value = text.slice(from, end);
    const name = partName(text.slice(start.lastIndex, gap.index), value);
    leaves.push({ ...names.find(name), value, start: from, end, write: asIs });
    at = next + 1;
  }
}

/** Third parties that repeat what they were sent, each in a notation of its own. */
import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import type { PartyReply, Received } from '../../helpers/third-party.ts';

type Echo = (request: Received) => PartyReply;

function typed(type: string, body: string | Uint8Array, ...more: [string, string][]): PartyReply {
  return { headers: [['Content-Type', type], ...more], body };
}

function wholeOf({ head, text }: Received): string {
  return `${head}\n${text}`;
}

function lineOf(request: Received): string {
  return wholeOf(request).replaceAll(/[\r\n]+/g, ' ');
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/** Every number of at least 12 digits with something between groups of four. */
function grouped(between: string): Echo {
  return (request) =>
    typed(
      'text/plain',
      wholeOf(request).replaceAll(/\d{12,}/g, (digits) => digits.replaceAll(/(....)(?=.)/g, `$1${between}`)),
    );
}

/** How replies repeat a request, by what they are. */
export const ECHOES: Readonly<Record<string, Echo>> = {
  'plain text': (request) => typed('text/plain', wholeOf(request)),
  'no content type': (request) => ({ body: wholeOf(request) }),
  JSON: ({ head, text }) => typed('application/json', JSON.stringify({ head, data: text })),
  'JSON within JSON': (request) =>
    typed('application/json', JSON.stringify({ data: JSON.stringify(wholeOf(request)) })),
  'JSON numbers': (request) =>
    typed(
      'application/json',
      `{"n":[${
        wholeOf(request)
          .match(/\d{12,}/g)
          ?.join() ?? 0
      }]}`,
    ),
  form: (request) => typed('application/x-www-form-urlencoded', `a=${encodeURIComponent(wholeOf(request))}`),
  'a form, decoded': ({ head, text }) =>
    typed(
      'application/json',
      JSON.stringify(
        Object.fromEntries(new URLSearchParams(`${text}&${head.replace(/^\S+ [^? ]*\??/, '')}`)),
      ),
    ),
  'a path, decoded': ({ head }) => typed('text/plain', decodeURIComponent(head.split(' ')[1] ?? '')),
  XML: (request) => typed('application/xml', `<r>${escaped(wholeOf(request))}</r>`),
  CDATA: (request) => typed('text/xml; charset=UTF-8', `<r><![CDATA[${wholeOf(request)}]]></r>`),
  multipart: ({ text }) =>
    typed(
      'multipart/form-data; boundary=b',
      `--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n${text}\r\n--b--`,
    ),
  'a status of 402': (request) => ({ ...typed('text/plain', wholeOf(request)), status: 402 }),
  'a header': (request) => typed('text/plain', '', ['X-Echo', lineOf(request)]),
  'a name of a header': ({ text }) =>
    typed('text/plain', '', [`X-${/\d{12,}/.exec(text)?.[0] ?? 'none'}`, 'a']),
  'a redirect': (request) => ({
    status: 302,
    headers: [['Location', `https://127.0.0.1/?a=${encodeURIComponent(lineOf(request))}`]],
  }),
  'a cookie': (request) =>
    typed('text/plain', '', ['Set-Cookie', `a=${encodeURIComponent(lineOf(request))}`]),
  spaces: grouped(' '),
  dashes: grouped('-'),
  'percent-encoded spaces': grouped('%20'),
  'spaces of HTML': grouped('&nbsp;'),
  'spaces that do not break': grouped('\u00a0'),
  'line feeds in JSON': grouped('\\n'),
  gzip: (request) =>
    typed('text/plain; charset=latin1', gzipSync(wholeOf(request)), ['Content-Encoding', 'gzip']),
  'gzip twice': (request) =>
    typed('text/plain; charset=latin1', gzipSync(gzipSync(wholeOf(request))), [
      'Content-Encoding',
      'gzip, gzip',
    ]),
  deflate: (request) => typed('text/plain', deflateSync(wholeOf(request)), ['Content-Encoding', 'deflate']),
  'deflate, with a space that HTTP does not know': (request) =>
    typed('text/plain', deflateSync(wholeOf(request)), ['Content-Encoding', 'deflate\u00a0']),
  zstd: (request) =>
    typed('text/plain; charset=latin1', zstdCompressSync(wholeOf(request)), ['Content-Encoding', 'zstd']),
  'UTF-16': (request) => typed('text/plain; charset=utf-16le', Buffer.from(wholeOf(request), 'utf16le')),
  'UTF-16 that says it is Latin-1': (request) =>
    typed('text/plain; charset=latin1', Buffer.from(wholeOf(request), 'utf16le')),
  'ASCII that says it is UTF-16': (request) => typed('text/plain; charset=utf-16le', wholeOf(request)),
  'ASCII that says it is UTF-16, one byte on': (request) =>
    typed('text/plain; charset=utf-16be', `x${wholeOf(request)}`),
  'a part of it': (request) => ({
    ...typed('text/plain', wholeOf(request).slice(0, -8), ['Content-Range', 'bytes 0-99/200']),
    status: 206,
  }),
  'a longer number': (request) => typed('text/plain', wholeOf(request).replaceAll(/\d{12,}/g, '77$&77')),
};

/** Of these, the ones in which more than one space or mark stands between digits. */
export const SPLIT: readonly string[] = ['line feeds in JSON'];

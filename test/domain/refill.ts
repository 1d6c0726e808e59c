import { expect } from 'bun:test';
import type { JsonValue } from '../../server/domain/json/json.ts';
import { fillRequest } from '../../server/domain/proxy/fill.ts';
import { parseProxyOrder } from '../../server/domain/proxy/request.ts';
import { jsonLeaves, replyJson } from '../../server/domain/reply/json.ts';
import type { SmartParsed } from '../../server/domain/reply/smart-parse.ts';
import { xmlLeaves } from '../../server/domain/reply/xml.ts';
import type { BodyFormat } from '../../server/domain/text/media-type.ts';

export const TYPES: Readonly<Record<BodyFormat, string>> = {
  json: 'application/json',
  xml: 'text/xml',
  form: 'application/x-www-form-urlencoded',
  text: 'text/plain',
};

/** The template of what was found, filled as the body of a request of that format. */
function refill({ format, object }: SmartParsed): string {
  const { request } = parseProxyOrder(
    new Map([
      [
        'request',
        new Map<string, JsonValue>([
          ['method', 'POST'],
          ['url', 'https://a.example/'],
          ['headers', [new Map([['Content-Type', TYPES[format]]])]],
          ['body', object.get('original_data') ?? ''],
        ]),
      ],
    ]),
  );
  return fillRequest(request, object, () => 0, { allowMissing: false }).body ?? '';
}

/** What a text says in its format, however it is escaped. */
function meaning(format: BodyFormat, text: string): unknown {
  switch (format) {
    case 'json':
      return replyJson(text) ?? jsonLeaves(text)?.map(({ name, value }) => [name, value]);
    case 'xml':
      return xmlLeaves(text)?.map(({ name, value }) => [name, value]);
    case 'form':
      return [...new URLSearchParams(text)];
    case 'text':
      return text;
  }
}

/** Expects the template of what was found, filled, to say what the text says. */
export function expectRefilled(result: SmartParsed, text: string): void {
  expect(meaning(result.format, refill(result))).toEqual(meaning(result.format, text));
}

/** One operation as HTML: how it is called, what it takes, what it replies. */
import { renderCode } from '../guide/code.ts';
import { breakable } from '../guide/markdown.ts';
import type { Call } from './document.ts';
import { contentHtml, parametersHtml } from './fields.ts';
import { headingOf, proseOf, tableOf } from './html.ts';
import { commandOf } from './request.ts';
import { exampleOf, type Schema } from './schema.ts';
import { programOf, type SdkExamples } from './typescript.ts';

/** An error that an operation can reply. */
export type ApiError = readonly [status: string, code: string, text: string];

/** The errors of an operation. */
export function errorsOf({ responses }: Call): readonly ApiError[] {
  return Object.entries(responses).flatMap(([status, { content = {} }]) =>
    Object.entries(content['application/json']?.examples ?? {}).map(
      ([
        code,
        {
          value: { error },
        },
      ]): ApiError => [status, code, typeof error === 'string' ? error : error.message],
    ),
  );
}

function errorLink(code: string): string {
  return `<a href="/guide/errors#${code}"><code>${code}</code></a>`;
}

/** Errors with their meaning; each leads to its place in the guide. */
export function errorTable(errors: readonly ApiError[]): string {
  const rows = errors.map(([status, code, text]) => [status, errorLink(code), proseOf(text)]);
  return tableOf('Errors', ['Status', 'Code', 'Meaning'], rows);
}

function errorsHtml(call: Call, general: ReadonlySet<string>): string {
  const errors = errorsOf(call);
  const others = errors.filter(([, code]) => general.has(code)).map(([, code]) => errorLink(code));
  return errors.length === 0
    ? ''
    : `<h3>Errors</h3>\n${errorTable(errors.filter(([, code]) => !general.has(code)))}<p>As <a href="/docs#errors">many others</a>: ${others.join(', ')}.</p>\n`;
}

/** The request with its reply, and beside it the same from TypeScript. */
function exampleHtml(call: Call, examples: SdkExamples): string {
  const program = renderCode({ text: programOf(call, examples), info: 'ts', isOutput: false });
  return `<div class="example">\n<div>${requestHtml(call)}</div>\n<div>${program}</div>\n</div>\n`;
}

function requestHtml(call: Call): string {
  const reply = call.responses['200']?.content?.['application/json'];
  const json = (schema: Schema): string => JSON.stringify(exampleOf(schema), null, 2);
  if (call.path === undefined) {
    const { schema = {} } = call.requestBody?.content['application/json'] ?? {};
    return renderCode({ text: json(schema), info: 'json Body', isOutput: false });
  }
  const command = renderCode({ text: commandOf(call, call.path), info: 'sh Request', isOutput: false });
  return reply === undefined
    ? command
    : `${command}${renderCode({ text: json(reply.schema), info: 'json Reply', isOutput: true })}`;
}

function signedHtml({ path, security }: Call): string {
  if (path === undefined) {
    return '';
  }
  const names = security.flatMap((each) => Object.keys(each)).map((name) => `<code>${name}</code>`);
  return names.length === 0
    ? '<p>It needs no account.</p>\n'
    : `<p><a href="/docs#authentication">Authentication</a>: ${names.join(' or ')}.</p>\n`;
}

/** The method and the path, as a line. */
export function routeHtml({ method, path }: Call): string {
  const place = path === undefined ? 'the URL of your webhook' : `<code>${breakable(path)}</code>`;
  return `<span class="route"><b class="${method.toLowerCase()}">${method}</b> ${place}</span>`;
}

/** An operation with its heading; errors of `general` are only named. */
export function operationHtml(call: Call, general: ReadonlySet<string>, examples: SdkExamples): string {
  const { operationId, summary, description, parameters, requestBody, responses } = call;
  const reply = responses['200']?.content;
  const headers = Object.keys(responses['200']?.headers ?? {}).map(
    (name) => `<a href="/docs#${name.toLowerCase()}"><code>${name}</code></a>`,
  );
  const needed = requestBody?.required === false ? '<p>It can be left out.</p>\n' : '';
  return [
    headingOf(operationId, summary),
    `<p>${routeHtml(call)}</p>\n${proseOf(description)}${signedHtml(call)}${exampleHtml(call, examples)}`,
    parameters.length === 0 ? '' : `<h3>Parameters</h3>\n${parametersHtml(parameters)}`,
    requestBody === undefined ? '' : `<h3>Body</h3>\n${needed}${contentHtml('Body', requestBody.content)}`,
    reply === undefined
      ? ''
      : `<h3>Reply</h3>\n${contentHtml('Reply', reply)}<p>Headers: ${headers.join(', ')}.</p>\n`,
    errorsHtml(call, general),
  ].join('');
}

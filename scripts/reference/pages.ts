/** The API reference under `/docs`: an overview, and a page for each tag of the published document. */
import type { Found } from '../guide/found.ts';
import type { PageParts } from '../guide/layout.ts';
import { headingsHtml } from '../guide/navigation.ts';
import type { MorePages } from '../guide/render.ts';
import { type ApiDocument, type Call, callsOf, type Tag } from './document.ts';
import { headingOf, proseOf, tableOf } from './html.ts';
import { type ApiError, errorsOf, errorTable, operationHtml, routeHtml } from './operation.ts';
import type { SdkExamples } from './typescript.ts';

/** An error of more than this part of the operations is explained once, on the overview. */
const GENERAL_SHARE = 1 / 4;

interface Part {
  readonly tag: Tag;
  readonly title: string;
  readonly path: string;
  readonly calls: readonly Call[];
}

/** What all pages are made of. */
interface Api {
  readonly document: ApiDocument;
  readonly parts: readonly Part[];
  /** Errors that most operations share. */
  readonly general: readonly ApiError[];
  readonly examples: SdkExamples;
}

function linkOf(path: string, title: string, isCurrent = false): string {
  return `<a href="${path}"${isCurrent ? ' aria-current="page"' : ''}>${Bun.escapeHTML(title)}</a>`;
}

/** The parts of the API, with the operations of the one that is shown. */
function contentsOf({ parts }: Api, current?: Part): string {
  const items = parts.map((part) => {
    const calls = part.calls.map(
      ({ operationId, summary }) => `<li>${linkOf(`#${operationId}`, summary)}</li>`,
    );
    const list = part === current ? `<ul>${calls.join('')}</ul>` : '';
    return `<li>${linkOf(part.path, part.title, part === current)}${list}</li>`;
  });
  return `<h2>API</h2><ul><li>${linkOf('/docs', 'Overview', current === undefined)}</li>${items.join('')}</ul>`;
}

function callsTable({ title, path, calls }: Part): string {
  const rows = calls.map((call) => [linkOf(`${path}#${call.operationId}`, call.summary), routeHtml(call)]);
  return tableOf(title, ['Operation', 'Request'], rows);
}

/** Where else a part is explained. The SDK names its calls after the tags. */
function besideOf({ name, externalDocs }: Tag): string {
  const sdk = linkOf(`/guide/sdk#${name === 'webhook' ? 'webhooks' : `${name}calls`}`, 'SDK');
  return `<p>${externalDocs === undefined ? '' : `${linkOf(externalDocs.url, 'Guide')} · `}${sdk}</p>\n`;
}

function partPage(api: Api, part: Part): PageParts {
  const { title, tag, calls } = part;
  const general = new Set(api.general.map(([, code]) => code));
  const operations = calls.map((call) => operationHtml(call, general, api.examples)).join('');
  return {
    path: part.path,
    contents: contentsOf(api, part),
    title: `${title}: API`,
    about: tag.description,
    article: `<h1>${Bun.escapeHTML(title)}</h1>\n${proseOf(tag.description)}${besideOf(tag)}${callsTable(part)}${operations}`,
    headings: '',
    below: '',
  };
}

const LEAD = `The same as an OpenAPI document: [/openapi.json](/openapi.json), also for [generated
clients](/guide/generated-clients). In the examples, \`AUTH\` is the name and the password of an account as
\`name:password\`, \`SECRET\` is the secret of an endpoint, and \`OPERATOR\` that of an operator credential. In TypeScript, \`client\` is a [client of an
account](/guide/sdk#vault), and \`checkout\` and \`desk\` are [clients of one endpoint](/guide/sdk#clients-of-one-endpoint).`;

function overviewPage(api: Api): PageParts {
  const { info, components } = api.document;
  const schemes = Object.entries(components.securitySchemes).map(([name, { scheme, ...sent }]) => [
    `<code>${name}</code>`,
    sent.name === undefined ? `<code>Authorization: ${scheme}</code>` : `<code>${sent.name}</code>`,
    proseOf(sent.description),
  ]);
  const headers = Object.entries(components.headers).map(([name, { description }]) => [
    `<code id="${name.toLowerCase()}">${name}</code>`,
    proseOf(description),
  ]);
  const all = proseOf('[All errors](/guide/errors), with what to do about each.');
  const sections: readonly (readonly [anchor: string, title: string, html: string])[] = [
    ...api.parts.map((part) => [part.tag.name, part.title, callsTable(part)] as const),
    ['authentication', 'Authentication', tableOf('Authentication', ['Name', 'Sent as', 'Meaning'], schemes)],
    ['headers', 'Headers of replies', tableOf('Headers', ['Name', 'Meaning'], headers)],
    ['errors', 'Errors of many operations', `${all}${errorTable(api.general)}`],
  ];
  const html = sections.map(([anchor, title, section]) => `${headingOf(anchor, title)}${section}`);
  return {
    path: '/docs',
    contents: contentsOf(api),
    title: 'API reference',
    about: 'Every operation of the API: what it takes, what it replies, and its errors.',
    article: `<h1>API reference</h1>\n${proseOf(info.description)}${proseOf(LEAD)}${html.join('')}`,
    headings: headingsHtml(sections.map(([anchor, text]) => ({ depth: 2, anchor, text }))),
    below: '',
  };
}

function foundOf({ path, title, calls }: Part): readonly Found[] {
  return calls.map((call) => ({
    path: `${path}#${call.operationId}`,
    page: 'API',
    headings: [title, call.summary],
    text: [
      `${call.method} ${call.path ?? ''}`,
      call.operationId,
      call.description.replaceAll('`', ''),
      call.parameters.map(({ name }) => name).join(', '),
    ].join(' · '),
  }));
}

/** Makes the pages of a document with the SDK's examples, and what the search finds in them. */
export function referenceOf(document: ApiDocument, examples: SdkExamples): MorePages {
  const calls = callsOf(document);
  const parts = document.tags.map(
    (tag): Part => ({
      tag,
      title: tag['x-displayName'],
      path: `/docs/${tag.name}`,
      calls: calls.filter(({ tags }) => tags.includes(tag.name)),
    }),
  );
  const errors = [...Map.groupBy(calls.flatMap(errorsOf), ([, code]) => code).values()];
  const general = errors
    .filter((each) => each.length > calls.length * GENERAL_SHARE)
    .flatMap(([first]) => (first === undefined ? [] : [first]))
    .sort(([a], [b]) => Number(a) - Number(b));
  const api = { document, parts, general, examples };
  return {
    pages: [overviewPage(api), ...parts.map((part) => partPage(api, part))],
    found: parts.flatMap(foundOf),
  };
}

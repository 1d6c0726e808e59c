/** The reference of the SDK, one page: what is exported, in the order of the outline, each with what its comment says. */
import { existsSync, readFileSync } from 'node:fs';
import type ts from 'typescript';
import type { ErrorCode } from '../../server/core/errors.ts';
import { routeErrors } from '../../server/http/plugins/route.ts';
import { ROUTES } from '../../server/http/routes/table.ts';
import { example, linkTo, membersTable, optionsTable, returnsText, table } from './markdown.ts';
import { ERROR_CLASSES, GROUPS, type Group, NEVER } from './outline.ts';
import { shapesText } from './shapes.ts';
import { readSdk, type Signature, type Source } from './source.ts';
import { alternatives, anchorOf } from './type-text.ts';

const codeLinks = (codes: readonly ErrorCode[]): string =>
  codes.map((code) => `[\`${code}\`](errors.md#${code})`).join(', ');

const ACCOUNT_ROUTES = ROUTES.filter(({ auth }) => auth === 'basic');
/** What every call may meet, and what every call with the credentials of an account may. */
const commonOf = (routes: typeof ROUTES): readonly ErrorCode[] => {
  const [first, ...others] = routes.map(routeErrors);
  return (first ?? []).filter((code) => others.every((codes) => codes.includes(code)));
};
const COMMON = commonOf(ROUTES);
const OF_ACCOUNTS = commonOf(ACCOUNT_ROUTES).filter((code) => !COMMON.includes(code));

const OF_BODIES: readonly ErrorCode[] = ['invalid_json', 'json_too_deep', 'body_too_large'];
const OF_RECORDS: readonly ErrorCode[] = ['integrity_failed'];

const found = <T>(value: T | undefined, name: string): T => {
  if (value === undefined) {
    throw new Error(`The outline names ${name}, which there is not`);
  }
  return value;
};

/** The codes of a call, without those that every one may meet. */
const codesOf = (name: string, operationId: string): readonly ErrorCode[] => {
  const route = found(
    ROUTES.find((each) => each.operationId === operationId),
    operationId,
  );
  const left = new Set([...COMMON, ...OF_ACCOUNTS, ...OF_BODIES, ...OF_RECORDS, ...(NEVER[name] ?? [])]);
  return routeErrors(route).filter((code) => !left.has(code));
};

/** Of a call that asks nobody. */
const LOCAL = `**Throws** ${linkTo('VaultWebhookError')}, whose code says why.`;

const codesText = (name: string, operationId: string): string => {
  const codes = codesOf(name, operationId);
  const rest = '[what every call may meet](#errors)';
  return codes.length === 0
    ? `**Refused** with ${rest}.`
    : `**Refused** with ${codeLinks(codes)}, or ${rest}.`;
};

const OPTIONS_SHAPES = ['CallOptions', 'KeyedCallOptions', 'Attempt'];

/** What a caller gives at one place of a call; nothing where the signature says it all. */
const parameterText = (
  source: Source,
  name: string,
  written: string,
  types: readonly ts.Type[],
): string[] => {
  if (OPTIONS_SHAPES.includes(written)) {
    return [`\`${name}\`: ${linkTo(written)}.`];
  }
  if (types.flatMap(alternatives).some((type) => source.anyMemberOf(type) !== undefined)) {
    return [`\`${name}\`: ${linkTo(written)}.`];
  }
  const members = source.membersOf(...types);
  return members.length === 0 ? [] : [`\`${name}\`:`, optionsTable(members)];
};

const parametersText = (source: Source, signatures: readonly Signature[]): string[] =>
  (signatures[0]?.parameters ?? []).flatMap(({ name, written }, at) =>
    parameterText(
      source,
      name,
      written,
      signatures.flatMap(({ parameters }) => parameters[at]?.type ?? []),
    ),
  );

/** Links to the pages that tell more, as seen from `docs/`. */
const moreText = (see: readonly string[]): string[] =>
  see.map((path) => {
    const name = path.replace('/guide/', '');
    const page = existsSync(new URL(`guides/${name}.md`, DOCS)) ? `guides/${name}.md` : `${name}.md`;
    const [, title = name] = /^# (.*)$/m.exec(readFileSync(new URL(page, DOCS), 'utf8')) ?? [];
    return `More: [${title}](${page}).`;
  });

const DOCS = new URL('../../docs/', import.meta.url);

const callText = (source: Source, group: Group, call: ts.Symbol): string[] => {
  const name = `${group.name}.${call.name}`;
  const comment = source.commentOf(call);
  const signatures = source.signaturesOf(call, `${group.from}.${call.name}`);
  const operationId = group.calls[call.name];
  const seen = source.commentOf(found(source.exports.get(group.type), group.type)).see;
  return [
    `### ${name}`,
    ...signatures.map(({ line }) => `\`${line}\``),
    comment.text,
    ...parametersText(source, signatures),
    returnsText(source, signatures),
    operationId === undefined ? LOCAL : codesText(name, operationId),
    ...comment.examples.map(example),
    ...moreText(comment.see.filter((page) => !seen.includes(page))),
  ];
};

/** What is said of a group as a whole, and how one comes to it. */
const entryText = (source: Source, group: Group): string[] => {
  const about = source.commentOf(found(source.exports.get(group.type), group.type));
  const made = source.exports.get(group.name);
  const signatures = made === undefined ? [] : source.signaturesOf(made, group.name);
  if (made === undefined || signatures.length === 0) {
    return [about.text, ...about.examples.map(example), ...moreText(about.see)];
  }
  const comment = source.commentOf(made);
  return [
    ...signatures.map(({ line }) => `\`${line}\``),
    comment.text,
    ...parametersText(source, signatures),
    ...comment.examples.map(example),
    about.text,
    ...moreText(about.see),
  ];
};

const groupText = (source: Source, group: Group): string[] => {
  const calls = source.callsOf(found(source.exports.get(group.type), group.type));
  const unknown = calls.filter(({ name }) => !(name in group.calls));
  if (unknown.length > 0) {
    throw new Error(`The outline lacks ${unknown.map(({ name }) => `${group.name}.${name}`).join(', ')}`);
  }
  const byName = (name: string): ts.Symbol =>
    found(
      calls.find((call) => call.name === name),
      `${group.name}.${name}`,
    );
  return [
    `## ${group.name}`,
    ...entryText(source, group),
    ...Object.keys(group.calls).flatMap((name) => callText(source, group, byName(name))),
  ];
};

const clientText = (source: Source): string[] => {
  const client = source.commentOf(found(source.exports.get('Vault'), 'Vault'));
  return [
    '## The client',
    '`new Vault(options: VaultOptions)`',
    client.text,
    optionsTable(source.membersOf(source.typeOf(found(source.exports.get('VaultOptions'), 'VaultOptions')))),
    ...client.examples.map(example),
    ...OPTIONS_SHAPES.flatMap((name) => {
      const shape = found(source.exports.get(name), name);
      return [
        `### ${name}`,
        source.commentOf(shape).text,
        optionsTable(source.membersOf(source.typeOf(shape))),
      ];
    }),
  ];
};

/** What every `Error` has, which needs no words. */
const OF_ERRORS = ['name', 'message', 'stack', 'cause'];

const errorsText = (source: Source): string[] => [
  '## Errors',
  `Every call may throw a \`VaultApiError\` with ${codeLinks(COMMON)}; with the credentials of an account also with ${codeLinks(OF_ACCOUNTS)}; with a body also with ${codeLinks(OF_BODIES)}; and where stored records are read with ${codeLinks(OF_RECORDS)}. [The list of errors](errors.md) says what to do about each.`,
  ...ERROR_CLASSES.flatMap((name) => {
    const error = found(source.exports.get(name), name);
    const members = source.membersOf(source.typeOf(error)).filter((each) => !OF_ERRORS.includes(each.name));
    const { text, examples } = source.commentOf(error);
    return [
      `### ${name}`,
      text,
      ...(members.length > 0 ? [membersTable(members)] : []),
      ...examples.map(example),
    ];
  }),
];

const pagesText = (source: Source): string[] => [
  '## Pages and streams',
  ...['Page', 'Pages'].flatMap((name) => {
    const shape = found(source.exports.get(name), name);
    const members = name === 'Page' ? [membersTable(source.membersOf(source.typeOf(shape)))] : [];
    const { text, examples } = source.commentOf(shape);
    return [`### ${name}`, text, ...members, ...examples.map(example)];
  }),
  ...STREAMS,
];

const STREAMS = [
  '### Streams',
  'What is opened as a whole (`decryptAll`) is yielded while it arrives, item by item. Leaving the loop ends the request. The loop ends normally only after the last item: a reply that breaks off throws `VaultConnectionError`, and one that pauses for longer than `timeoutMs` throws `VaultTimeoutError`.',
];

/** All calls in a table, to begin with. */
const overviewText = (): string => {
  const rows = GROUPS.map((group) => {
    const calls = Object.keys(group.calls).map(
      (call) => `[\`${call}\`](#${anchorOf(`${group.name}.${call}`)})`,
    );
    return [`[\`${group.from}\`](#${anchorOf(group.name)})`, calls.join(', ')];
  });
  return table(['Group', 'Calls'], rows);
};

/** The whole page. */
export const sdkPage = (root: string, notice: string): string => {
  const source = readSdk(root, `${root}/sdk/index.ts`);
  const parts = [
    '# SDK reference',
    INTRODUCTION,
    overviewText(),
    ...clientText(source),
    ...GROUPS.flatMap((group) => groupText(source, group)),
    ...pagesText(source),
    ...errorsText(source),
  ];
  return `${[...parts, ...shapesText(source, parts), notice].filter((part) => part !== '').join('\n\n')}\n`;
};

const INTRODUCTION =
  "Every export of `@cardvault/sdk`, from its comments and types. To begin with it, take the [quick start](quick-start.md). Names with an underscore are the wire's; `?` marks what may be missing.";

/** The reference of the SDK: one Markdown page that TypeDoc makes of the comments and types of `sdk/`. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Application,
  Comment,
  CommentTag,
  Converter,
  type DeclarationReflection,
  type ProjectReflection,
  ReflectionFlag,
  ReflectionKind,
  ReflectionType,
} from 'typedoc';
import { load } from 'typedoc-plugin-markdown';
import { ERRORS } from '../../server/core/error-table.ts';
import { createAnchors } from '../guide/anchors.ts';

const ROOT = join(import.meta.dir, '../..');

const INTRODUCTION = `# SDK reference

Every export of \`@cardvault/sdk\`. To start with it, take the [quick start](quick-start.md). Names with an underscore
are those of the API; \`?\` marks what can be missing.`;

/** The parts of the page, in their order. An export is in the first one that has its name. */
const CATEGORIES: readonly (readonly [title: string, names: RegExp])[] = [
  ['Client', /^(?:Vault|\w*(?:Call|Vault|Connection)Options|Signing|Attempt|Pages?)$/],
  ['Calls', /Calls$/],
  ['Clients of one endpoint', /^(?:capture|retrieve)Client$|^EndpointOptions$/i],
  ['Webhooks', /^(?:webhooks|Verify\w+|Webhook(?:Headers|Payload))$/i],
  ['Errors', /Error(?:Code)?$/],
  ['Types', /^/],
];

function categorize(reflection: DeclarationReflection): void {
  const [title = ''] = CATEGORIES.find(([, names]) => names.test(reflection.name)) ?? [];
  for (const target of reflection.signatures ?? [reflection]) {
    target.comment ??= new Comment();
    target.comment.blockTags.push(new CommentTag('@category', [{ kind: 'text', text: title }]));
  }
}

/** Calls are readonly properties of function type: they are shown as methods, under the name that they are called by. */
function showAsMethods({ children = [], comment }: DeclarationReflection, prefix: string): void {
  const seen = comment?.getTag('@see')?.content[0]?.text;
  for (const call of children) {
    const signatures = call.type instanceof ReflectionType ? call.type.declaration.signatures : undefined;
    if (signatures === undefined) {
      continue;
    }
    call.kind = ReflectionKind.Method;
    call.setFlag(ReflectionFlag.Readonly, false);
    call.name = `${prefix}.${call.name}`;
    call.signatures = signatures;
    for (const signature of signatures) {
      signature.kind = ReflectionKind.CallSignature;
      signature.name = call.name;
      signature.parent = call;
    }
    const [first] = signatures;
    if (first !== undefined && call.comment !== undefined) {
      first.comment = call.comment;
      first.comment.blockTags = call.comment.blockTags.filter(({ content }) => content[0]?.text !== seen);
    }
    delete call.type;
    delete call.comment;
  }
}

/**
 * The prefix of the calls of an interface: the name of the client's member, with that of the group that it is a member of, or of
 * the client itself.
 */
function prefixOf(
  { name }: DeclarationReflection,
  members: readonly DeclarationReflection[],
  all: readonly DeclarationReflection[],
): string {
  const isOfIt = ({ type }: DeclarationReflection) => type?.type === 'reference' && type.name === name;
  const member = members.find(isOfIt);
  if (member) {
    return member.name;
  }
  const group = all.find((other) => /Calls$/.test(other.name) && other.children?.some(isOfIt));
  return group
    ? `${prefixOf(group, members, all)}.${group.children?.find(isOfIt)?.name}`
    : name.charAt(0).toLowerCase() + name.slice(1);
}

/** Exports that come before the others of their category. */
const FIRST = [
  'Vault',
  'VaultOptions',
  'VaultError',
  'captureClient',
  'CaptureClient',
  'retrieveClient',
  'RetrieveClient',
  'webhooks',
  'Webhooks',
];

function prepare(project: ProjectReflection): void {
  const { children = [] } = project;
  const members = children.find(({ name }) => name === 'Vault')?.children ?? [];
  const order = [...FIRST, ...members.map(({ type }) => type?.toString())];
  const rankOf = ({ name }: DeclarationReflection): number =>
    order.includes(name) ? order.indexOf(name) : order.length;
  project.children = children.toSorted((a, b) => rankOf(a) - rankOf(b));
  project.childrenIncludingDocuments = project.children;
  for (const reflection of children) {
    categorize(reflection);
    // Members are listed in full: what an interface is composed of is no export.
    delete reflection.extendedTypes;
    delete reflection.extendedBy;
    if (/(?:Calls|Client|Webhooks)$/.test(reflection.name)) {
      showAsMethods(reflection, prefixOf(reflection, members, children));
    }
    if (/Error$/.test(reflection.name)) {
      for (const made of reflection.getChildrenByKind(ReflectionKind.Constructor)) {
        project.removeReflection(made);
      }
    }
  }
  // Tables have a line for each member, and no room for examples.
  for (const { comment } of project.getReflectionsByKind(ReflectionKind.Property)) {
    comment?.removeTags('@example');
    comment?.removeTags('@constant');
  }
}

/** A page of the vault's guide as a link to its file. */
function linkToPage(name: string): string {
  const file = existsSync(join(ROOT, `docs/guides/${name}.md`)) ? `guides/${name}.md` : `${name}.md`;
  const [, title = name] = /^# (.*)$/m.exec(readFileSync(join(ROOT, 'docs', file), 'utf8')) ?? [];
  return `[${title}](${file})`;
}

/** Turns the output of TypeDoc into the style of our pages: fewer levels of headings, and no HTML. */
const POLISH: readonly (readonly [what: RegExp, by: string])[] = [
  [/^#+ Union Members\n[\s\S]*?(?=^\*\*\*)/gm, ''],
  [/^\*\*\*\n\n/gm, ''],
  // A type that is a list of all codes.
  [/(?:`"\w+"` \\\| ){50,}`"unknown"`/g, '[`ErrorCode`](#errorcode) \\| `"unknown"`'],
  [/^> \*\*ErrorCode\*\* = .*$/gm, 'The codes of [the list of errors](errors.md).'],
  [/<a id="[^"]*"><\/a> /g, ''],
  // The signature already contains it.
  [/^#+ (?:Returns|Overrides|Inherited from|Type Parameters)\n\n(?:[^#\n].*\n+)+/gm, ''],
  [/^#+ Throws\n\n/gm, '**Throws** '],
  [/^#+ (?:Calls|Constructors|Example|Indexable|Methods|Parameters|Properties|Type Declaration)\n\n/gm, ''],
  [/^### (\w+Calls)$/gm, '## $1'],
  [/^#+ (\w+(?:\.\w+)+)\(\)$/gm, '### $1'],
  [/^#{4,} (.*)$/gm, '**$1**'],
];
const SEE = /^#+ See\n\n\/guide\/([\w-]+)$/gm;
const CODE = new RegExp(`\`(${Object.keys(ERRORS).join('|')})\``, 'g');

/** Links to an export by the anchor of its heading: TypeDoc numbers equal names in another way than GitHub. */
function linkHeadings(page: string): string {
  const anchorOf = createAnchors();
  const anchors = new Map(
    [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => [
      heading.replace('()', ''),
      anchorOf(heading),
    ]),
  );
  return page.replaceAll(/\[(`?)(\w+)\1\]\(#[\w-]+\)/g, (_, quote, name) => {
    return `[${quote}${name}${quote}](#${anchors.get(name)})`;
  });
}

function polish(page: string): string {
  const text = page
    .replace(/^# .*\n\n.*$/m, INTRODUCTION)
    .replaceAll(SEE, (_, name) => `More: ${linkToPage(name)}.`);
  const parts = POLISH.reduce((left, [what, by]) => left.replaceAll(what, by), text).split(/^```/m);
  // Every second part is a block of code.
  return parts
    .map((part, at) => (at % 2 === 0 ? part.replaceAll(CODE, '[`$1`](errors.md#$1)') : part))
    .join('```');
}

async function render(folder: string): Promise<string> {
  const app = await Application.bootstrapWithPlugins({
    plugin: [load],
    out: folder,
    entryPoints: [join(ROOT, 'sdk/index.ts')],
    tsconfig: join(ROOT, 'sdk/tsconfig.json'),
    readme: 'none',
    disableSources: true,
    disableGit: true,
    excludeExternals: true,
    excludeInternal: true,
    categorizeByGroup: false,
    categoryOrder: CATEGORIES.map(([title]) => title),
    sort: [],
    validation: false,
    logLevel: 'Warn',
    // Options of the plugin.
    ...{
      router: 'module',
      entryFileName: 'sdk',
      hideBreadcrumbs: true,
      hidePageHeader: true,
      hideGroupHeadings: true,
      parametersFormat: 'table',
      interfacePropertiesFormat: 'table',
      classPropertiesFormat: 'table',
      typeDeclarationFormat: 'table',
      typeDeclarationVisibility: 'compact',
      expandObjects: true,
      tableColumnSettings: {
        hideInherited: true,
        hideModifiers: true,
        hideOverrides: true,
        hideDefaults: true,
      },
    },
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => prepare(project), 1_000);
  const project = await app.convert();
  if (project === undefined) {
    throw new Error('TypeDoc cannot read the SDK');
  }
  await app.generateOutputs(project);
  return readFileSync(join(folder, 'sdk.md'), 'utf8');
}
/** Writes the page; ends with a notice. */
export async function sdkReference(notice: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'cv-sdk-reference-'));
  try {
    return `${linkHeadings(polish(await render(folder))).trimEnd()}\n\n${notice}\n`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Who may import whom: the table of docs/architecture.md, and the check of a set of files against it. */
import { posix } from 'node:path';
import ts from 'typescript';

/** Paths from the project's root, each with its text. */
export type Sources = ReadonlyMap<string, string>;

interface Layer {
  readonly name: string;
  readonly files: RegExp;
  /** Names of layers, or patterns of single files, that it may import from besides itself. */
  readonly may: readonly (string | RegExp)[];
  /** The same, for `import type` alone. */
  readonly mayTypes?: readonly (string | RegExp)[];
}

/** Nouns in the only order in which they may import each other: a later one an earlier one. */
const NOUNS =
  'audit account key bin-table certificate connection rule vault export log-heads sink call event job proxy form endpoint inbound relay usage compliance utility installation expiring maintenance backup import'.split(
    ' ',
  );
/** A file of a noun whose name, below the noun's folder, fits a pattern. */
function ofNoun(name: string): RegExp {
  return new RegExp(`^server/(?:${NOUNS.join('|')})/${name}`);
}

const NOUN_FOLDER = ofNoun('');

const GUIDE = /^scripts\/guide\//;
const CONSOLE = /^console\//;
const FORMS_BUILD = /^forms\/build\.ts$/;
const BUILT = /^server\/http\/pages\/built\.ts$/;
const PACKAGE = /^package\.json$/;
const REDIS = /^server\/redis\//;
const COMMAND = ofNoun('(?:.+/)?(?:[a-z]+-)*command\\.ts$|^server/(?:backup|import)/(?!store\\.ts$)');
const ROUTES = new RegExp(`${ofNoun('(?:.+/)?(?:[a-z]+-)*routes\\.ts$').source}|^server/form/pages/`);
/** Where the parts are put together and the system is met. */
const EDGE = /^server\/(?:(?:main|cli|commands)\.ts$|boot\/)/;
const SYSTEM = new RegExp(
  `${EDGE.source}|${COMMAND.source}|^server/(?:cli|config)/|^server/(?:sink/target|installation/servers)\\.ts$|^server/telemetry/log-sink\\.ts$|^scripts/`,
);
const ALL = /^/;
const FRAME_OF_SERVICES = [
  'core',
  'domain',
  'schema',
  'crypto',
  'outbound',
  'request',
  'limits',
  'telemetry',
];

/** The first layer whose pattern fits a file is its layer; a file without one is itself a violation. */
export const LAYERS: readonly Layer[] = [
  { name: 'core', files: /^server\/core\//, may: [] },
  { name: 'domain', files: /^server\/domain\//, may: ['core'] },
  { name: 'schema', files: /^server\/schema\//, may: ['core', 'domain'] },
  { name: 'redis', files: REDIS, may: ['core'] },
  { name: 'outbound', files: /^server\/outbound\//, may: ['core'] },
  { name: 'telemetry', files: /^server\/telemetry\//, may: ['core'] },
  { name: 'config', files: /^server\/config\//, may: ['core', 'domain'] },
  {
    name: 'crypto',
    files: /^server\/crypto\//,
    may: ['core', 'definitions of jobs', /^workers\/pool\//],
    mayTypes: ['limits'],
  },
  {
    name: 'stores',
    files: new RegExp(
      `${ofNoun('(?:.+/)?(?:(?:[a-z]+-)*store\\.ts$|store/|[^/]+\\.lua$)').source}|^server/(?:request|limits)/(?:(?:[a-z]+-)*store\\.ts|[^/]+\\.lua)$`,
    ),
    may: ['redis', 'core'],
  },
  {
    name: 'request',
    files: /^server\/request\//,
    may: ['core', 'domain'],
    mayTypes: ['stores', 'redis', 'outbound', 'crypto', 'telemetry', 'definitions of jobs'],
  },
  {
    name: 'limits',
    files: /^server\/limits\//,
    may: ['core', 'domain'],
    mayTypes: ['stores'],
  },
  { name: 'schemas', files: ofNoun('(?:.+/)?(?:[a-z]+-)*schema\\.ts$'), may: ['schema', 'core', 'domain'] },
  {
    name: 'routes',
    files: ROUTES,
    may: ['services', 'schemas', 'http', 'request', 'schema', 'domain', 'core', BUILT, PACKAGE],
    mayTypes: ['limits', FORMS_BUILD],
  },
  {
    name: 'commands',
    files: COMMAND,
    may: [
      'services',
      'schemas',
      'stores',
      'redis',
      'cli',
      'config',
      'request',
      'schema',
      'domain',
      'core',
      PACKAGE,
    ],
    mayTypes: ['crypto'],
  },
  {
    name: 'services',
    files: ofNoun(''),
    may: ['schemas', ...FRAME_OF_SERVICES],
    mayTypes: ['stores', 'redis', 'definitions of jobs'],
  },
  {
    name: 'http',
    files: /^server\/http\//,
    may: [
      /^server\/(?:account|audit)\//,
      'schema',
      'request',
      'limits',
      'telemetry',
      'domain',
      'core',
      PACKAGE,
    ],
    mayTypes: [FORMS_BUILD],
  },
  {
    name: 'cli',
    files: /^server\/cli\//,
    may: [
      /^server\/(?:account|audit)\//,
      'config',
      'schema',
      'request',
      'limits',
      'telemetry',
      'domain',
      'core',
      PACKAGE,
    ],
  },
  { name: 'boot', files: EDGE, may: [ALL] },
  {
    name: 'scripts/guide/browser',
    files: /^scripts\/guide\/browser\//,
    may: [/^scripts\/guide\/found\.ts$/],
  },
  { name: 'scripts/guide', files: GUIDE, may: [], mayTypes: [/^scripts\/site\//] },
  {
    name: 'console',
    files: CONSOLE,
    may: [
      ...['sdk', 'schema', 'schemas', /^server\/core\/(?:event-types|scopes|third-party)\.ts$/],
      // The colours of forms, which the form builder shows.
      /^forms\/(?:base\/color|styles\/styles\.macro)\.ts$/,
    ],
  },
  {
    // What the server may know of the jobs of the threads: their types and codecs, not their handlers.
    name: 'definitions of jobs',
    files: /^workers\/(?:table|jobs\/(?:codec|define|[a-z-]+\/(?:[a-z]+-)?jobs))\.ts$/,
    may: ['core', /^workers\/pool\/failure\.ts$/],
    mayTypes: ['domain', /^workers\//],
  },
  { name: 'workers', files: /^workers\//, may: ['definitions of jobs', 'domain', 'core'] },
  { name: 'sdk', files: /^sdk\//, may: [] },
  {
    name: 'forms',
    files: /^forms\//,
    may: ['sdk', 'schema', 'schemas', /^server\/domain\/card\/(?:luhn|brand|digits)\.ts$/],
  },
  {
    name: 'scripts',
    files: /^scripts\//,
    may: [
      'core',
      'schema',
      'schemas',
      'scripts/guide',
      FORMS_BUILD,
      BUILT,
      /^server\/boot\/(?:app|routes)\.ts$/,
      /^server\/http\/(?:openapi\/|route\.ts$)/,
      /^sdk\/package\.json$/,
    ],
  },
];

/** Imports that the table does not allow, each with its reason. */
const EXCEPTIONS: readonly { readonly from: RegExp; readonly to: RegExp; readonly why: string }[] = [
  {
    from: /^server\/(?:installation\/roots|backup\/(?:copy|file)|import\/source|cli\/argon2-command)\.ts$/,
    to: /^workers\//,
    why: 'they do the work of a thread in their own process',
  },
  {
    from: /^server\/job\/queue\.ts$/,
    to: REDIS,
    why: 'the library of the queue needs a connection of its own',
  },
  {
    from: /^server\/audit\/command\.ts$/,
    to: /^server\/(?:account|log-heads|maintenance|sink)\//,
    why: 'one word of the command line shows five nouns',
  },
  {
    from: /^server\/backup\/restore-command\.ts$/,
    to: /^server\/boot\//,
    why: 'a restore starts the vault on an empty Redis',
  },
];

/** Packages that belong to some layers alone. */
const PACKAGES: readonly { readonly name: RegExp; readonly only: RegExp; readonly why: string }[] = [
  { name: /^elysia$|^@elysiajs\//, only: /^server\/(?:http|boot)\//, why: 'HTTP ends there' },
  { name: /^ioredis$/, only: REDIS, why: 'nothing else talks to Redis' },
  { name: /^(?:marked|highlight\.js|minisearch)(?:\/|$)/, only: GUIDE, why: 'pages are made there' },
  { name: /^(?:preact|uqr)(?:\/|$)/, only: CONSOLE, why: 'the console is made of them' },
  { name: /^react(?:-dom)?(?:\/|$)/, only: /^forms\/react\.ts$/, why: 'it is the only entry for React' },
  { name: /^bullmq$/, only: /^server\/job\/queue\.ts$/, why: 'jobs are queued there' },
  {
    name: /^(?:node:)?(?:http|https|http2|net|tls|dns|dgram)(?:\/|$)/,
    only: new RegExp(`^server/(?:outbound|redis)/|^server/http/listen/listen\\.ts$|${SYSTEM.source}`),
    why: 'nothing else opens sockets',
  },
  {
    name: /^(?:node:)?(?:fs|child_process)(?:\/|$)/,
    // The CPU time of a thread is read from /proc.
    only: new RegExp(`^workers/pool/cpu-time\\.ts$|${SYSTEM.source}`),
    why: 'nothing else touches files or processes',
  },
  { name: /./, only: /^(?!sdk\/(?!tsup\.config\.ts$))/, why: 'the SDK has no dependency' },
];

interface Import {
  readonly from: string;
  /** A path of the project, or a package's name. */
  readonly to: string;
  readonly line: number;
  readonly typeOnly: boolean;
  readonly local: boolean;
}

/** Written by a tool. */
const GENERATED = /^sdk\/api\.d\.ts$/;

/** Everything that is wrong with the files' imports, one readable line each; nothing when all is well. */
export function findViolations(sources: Sources): string[] {
  const imports = [...sources].flatMap(([path, text]) => importsOf(path, text));
  const unknown = [...sources.keys()].filter((path) => layerOf(path) === undefined);
  return [
    ...unknown.map((path) => `${path} belongs to no layer: put it where the table has a place for it`),
    ...imports.flatMap(violationOf),
    ...findCycles(imports).map((cycle) => `These files import each other in a cycle: ${cycle.join(' -> ')}`),
    ...findCycles(folderImports(imports)).map(
      (cycle) => `These folders import each other in a cycle: ${cycle.join(' -> ')}`,
    ),
  ];
}

/** Imports of files that only an entry of the exceptions allows. */
export function findExceptions(sources: Sources): string[] {
  return [...sources]
    .filter(([path]) => path.startsWith('server/'))
    .flatMap(([path, text]) => importsOf(path, text))
    .filter(isException)
    .map(({ from, to }) => `${from} -> ${to}`);
}

/** The imports between folders. Each layer of a noun counts as one. */
function folderImports(imports: readonly Import[]): Import[] {
  const folderOf = (path: string): string => {
    const [noun] = NOUN_FOLDER.exec(path) ?? [];
    return noun === undefined ? posix.dirname(path) : `${noun}: ${layerOf(path)?.name}`;
  };
  return imports.flatMap((entry) => {
    const [from, to] = [folderOf(entry.from), folderOf(entry.to)];
    return entry.local && from !== to && !GENERATED.test(entry.to) && !isException(entry)
      ? [{ ...entry, from, to }]
      : [];
  });
}

function layerOf(path: string): Layer | undefined {
  return LAYERS.find(({ files }) => files.test(path));
}

function violationOf(entry: Import): string[] {
  const { from, to, line, typeOnly, local } = entry;
  const at = `${from}:${line} imports ${to}`;
  if (!local) {
    const rule = PACKAGES.find(({ name, only }) => name.test(to) && !only.test(from));
    return rule === undefined ? [] : [`${at}: ${rule.why}`];
  }
  const layer = layerOf(from);
  if (layer === undefined || isException(entry)) {
    return [];
  }
  const target = layerOf(to);
  const allows = (allowed: string | RegExp): boolean =>
    typeof allowed === 'string' ? allowed === target?.name : allowed.test(to);
  if (layer === target || layer.may.some(allows)) {
    return nounOrderOf(entry, at);
  }
  if (layer.mayTypes?.some(allows) === true) {
    return typeOnly
      ? nounOrderOf(entry, at)
      : [`${at}: ${layer.name} may take types alone from there (import type)`];
  }
  return [`${at}: ${layer.name} may not import from ${target?.name ?? 'there'}`];
}

function isException({ from, to }: Import): boolean {
  return EXCEPTIONS.some((one) => one.from.test(from) && one.to.test(to));
}

function nounOrderOf({ from, to }: Import, at: string): string[] {
  const [importer, imported] = [from, to].map((path) =>
    path.startsWith('server/') ? NOUNS.indexOf(path.split('/')[1] ?? '') : -1,
  ) as [number, number];
  return importer < 0 || imported <= importer
    ? []
    : [`${at}: nouns import each other only in the order ${NOUNS.join(', ')}`];
}

function importsOf(path: string, text: string): Import[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: Import[] = [];
  const add = (node: ts.Node, specifier: ts.Node | undefined, typeOnly: boolean): void => {
    if (specifier === undefined || !ts.isStringLiteralLike(specifier)) {
      return;
    }
    const local = specifier.text.startsWith('.');
    const to = local ? posix.join(posix.dirname(path), specifier.text) : specifier.text;
    const line = file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1;
    found.push({ from: path, to, line, typeOnly, local });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) {
      add(node, node.moduleSpecifier, isTypeOnly(node.importClause));
    } else if (ts.isExportDeclaration(node)) {
      add(node, node.moduleSpecifier, node.isTypeOnly);
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
      add(node, node.argument.literal, true);
    } else if (ts.isCallExpression(node) && isDynamicImport(node)) {
      add(node, node.arguments[0], false);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function isDynamicImport({ expression }: ts.CallExpression): boolean {
  return expression.kind === ts.SyntaxKind.ImportKeyword || expression.getText() === 'require';
}

function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) {
    return false;
  }
  if (clause.isTypeOnly) {
    return true;
  }
  const { name, namedBindings } = clause;
  if (name !== undefined || namedBindings === undefined || !ts.isNamedImports(namedBindings)) {
    return false;
  }
  return namedBindings.elements.every((element) => element.isTypeOnly);
}

/** Each cycle once, found by walking depth first and meeting a file that is still being walked. */
function findCycles(imports: readonly Import[]): string[][] {
  const graph = new Map<string, string[]>();
  for (const { from, to, local } of imports) {
    if (local) {
      graph.set(from, [...(graph.get(from) ?? []), to]);
    }
  }
  const done = new Set<string>();
  const cycles: string[][] = [];
  const walk = (path: string, trail: readonly string[]): void => {
    const start = trail.indexOf(path);
    if (start >= 0) {
      cycles.push([...trail.slice(start), path]);
    }
    if (start >= 0 || done.has(path)) {
      return;
    }
    for (const next of graph.get(path) ?? []) {
      walk(next, [...trail, path]);
    }
    done.add(path);
  };
  for (const path of graph.keys()) {
    walk(path, []);
  }
  return cycles;
}

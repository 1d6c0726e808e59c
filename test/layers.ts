/** Who may import whom: the table of docs/architecture.md, and the check of a set of files against it. */
import { posix } from 'node:path';
import ts from 'typescript';

/** Paths from the project's root, each with its text. */
export type Sources = ReadonlyMap<string, string>;

interface Layer {
  readonly name: string;
  readonly files: RegExp;
  /** Layers or single files that it may import from, besides itself. */
  readonly may: readonly RegExp[];
  /** The same, for `import type` alone. */
  readonly mayTypes?: readonly RegExp[];
}

const EVERYTHING = /^/;
const CORE = /^server\/core\//;
const SCHEMA = /^server\/http\/schema\//;
const DOMAIN = /^server\/domain\//;
const STORE = /^server\/store\//;
const CRYPTO = /^server\/crypto\//;
const OUTBOUND = /^server\/outbound\//;
const TELEMETRY = /^server\/telemetry\//;
const SERVICES = /^server\/services\//;
const PLUGINS = /^server\/http\/plugins\//;
const PAGES = /^server\/http\/pages\//;
const ROUTES = /^server\/http\/routes\//;
const OPENAPI = /^server\/http\/openapi\//;
const GUIDE = /^scripts\/guide\//;
const CONSOLE = /^server\/console\//;
const FORMS_BUILD = /^forms\/build\.ts$/;
/** What the server may know of the jobs of the threads: their types and codecs, not their handlers. */
const DEFINITIONS = /^workers\/(?:table|jobs\/(?:codec|define|[a-z]+\/jobs))\.ts$/;
/** Where the parts are put together and the system is met. */
const EDGE = /^server\/(?:main\.ts$|cli[./]|boot\/)/;
const SYSTEM = /^server\/(?:main\.ts$|cli[./]|boot\/|config\/|telemetry\/log-sink\.ts$)|^scripts\//;

/** The first layer whose pattern fits a file is its layer; a file without one is itself a violation. */
export const LAYERS: readonly Layer[] = [
  { name: 'server/core', files: CORE, may: [SCHEMA] },
  { name: 'server/http/schema', files: SCHEMA, may: [] },
  { name: 'server/domain', files: DOMAIN, may: [SCHEMA, CORE] },
  { name: 'server/store', files: STORE, may: [SCHEMA, CORE] },
  { name: 'server/outbound/job-*', files: /^server\/outbound\/job-/, may: [SCHEMA, CORE, STORE] },
  { name: 'server/outbound', files: OUTBOUND, may: [SCHEMA, CORE] },
  {
    name: 'server/crypto',
    files: CRYPTO,
    may: [CORE, /^workers\/(?:pool\/|table\.ts$|jobs\/(?:(?:[a-z]+\/jobs|codec|define)\.ts$))/],
  },
  {
    name: 'server/services',
    files: SERVICES,
    may: [SCHEMA, CORE, DOMAIN],
    mayTypes: [STORE, CRYPTO, DEFINITIONS, OUTBOUND, TELEMETRY],
  },
  {
    name: 'server/http/plugins',
    files: PLUGINS,
    may: [SERVICES, SCHEMA, CORE, DOMAIN],
    mayTypes: [TELEMETRY, FORMS_BUILD],
  },
  {
    name: 'server/http/pages',
    files: PAGES,
    may: [PLUGINS, SCHEMA, CORE, DOMAIN, /^package\.json$/],
    mayTypes: [SERVICES, FORMS_BUILD],
  },
  { name: 'server/http/routes', files: ROUTES, may: [SERVICES, PLUGINS, SCHEMA, CORE] },
  { name: 'server/http/openapi', files: OPENAPI, may: [PLUGINS, SCHEMA, CORE, /^package\.json$/] },
  { name: 'server/http/listen', files: /^server\/http\/listen\//, may: [PLUGINS, CORE] },
  {
    name: 'server/http/app.ts',
    files: /^server\/http\/app\.ts$/,
    may: [PLUGINS, PAGES, ROUTES, SCHEMA, CORE, OPENAPI],
  },
  {
    name: 'scripts/guide/browser',
    files: /^scripts\/guide\/browser\//,
    may: [/^scripts\/guide\/found\.ts$/],
  },
  { name: 'scripts/guide', files: GUIDE, may: [], mayTypes: [/^scripts\/site\//] },
  { name: 'server/console', files: CONSOLE, may: [/^sdk\//, SCHEMA] },
  { name: 'server/telemetry', files: TELEMETRY, may: [], mayTypes: [SCHEMA, CORE] },
  { name: 'server/config', files: /^server\/config\//, may: [/^server\/domain\/text\/duration\.ts$/, CORE] },
  { name: 'server/boot/redis', files: /^server\/boot\/redis\//, may: [/^server\/config\//, CORE] },
  { name: 'server/main.ts, server/cli, server/boot', files: EDGE, may: [EVERYTHING] },
  {
    name: 'definitions of jobs',
    files: DEFINITIONS,
    may: [CORE, /^workers\/pool\/failure\.ts$/],
    mayTypes: [DOMAIN, /^workers\//],
  },
  { name: 'workers', files: /^workers\//, may: [DOMAIN, CORE] },
  { name: 'sdk', files: /^sdk\//, may: [] },
  { name: 'forms', files: /^forms\//, may: [/^sdk\//, SCHEMA, /^server\/domain\/card\/(?:luhn|brand)\.ts$/] },
  {
    name: 'scripts',
    files: /^scripts\//,
    may: [
      /^server\/http\/app\.ts$/,
      FORMS_BUILD,
      GUIDE,
      /^server\/http\/pages\/built\.ts$/,
      /^sdk\/package\.json$/,
      OPENAPI,
      SCHEMA,
      CORE,
      /^server\/http\/plugins\/route\.ts$/,
      /^server\/http\/routes\/table\.ts$/,
    ],
  },
];

/** Packages that belong to some layers alone. */
const PACKAGES: readonly { readonly name: RegExp; readonly only: RegExp; readonly why: string }[] = [
  { name: /^elysia$|^@elysiajs\//, only: /^server\/(?:http|boot)\//, why: 'HTTP ends there' },
  { name: /^ioredis$/, only: STORE, why: 'nothing else talks to Redis' },
  { name: /^(?:marked|highlight\.js|minisearch)(?:\/|$)/, only: GUIDE, why: 'pages are made there' },
  { name: /^(?:preact|uqr)(?:\/|$)/, only: CONSOLE, why: 'the console is made of them' },
  { name: /^react(?:-dom)?(?:\/|$)/, only: /^forms\/react\.ts$/, why: 'it is the only entry for React' },
  { name: /^bullmq$/, only: OUTBOUND, why: 'jobs are sent out there' },
  {
    name: /^(?:node:)?(?:http|https|http2|net|tls|dns|dgram)(?:\/|$)/,
    only: new RegExp(`^server/(?:outbound|store)/|^server/http/listen/listen\\.ts$|${SYSTEM.source}`),
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

/** Folders of services in the only order in which they may import each other: a later one an earlier one. */
const SERVICE_ORDER =
  'common request audit account key rule cert connection vault endpoint capture retrieve form proxy admin maintenance'.split(
    ' ',
  );

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

function folderImports(imports: readonly Import[]): Import[] {
  return imports.flatMap((entry) => {
    const [from, to] = [entry.from, entry.to].map((path) => posix.dirname(path)) as [string, string];
    return entry.local && from !== to && !GENERATED.test(entry.to) ? [{ ...entry, from, to }] : [];
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
  if (layer === undefined) {
    return [];
  }
  if (layer.files.test(to)) {
    return SERVICES.test(from) ? serviceOrderOf(entry, at) : [];
  }
  if (layer.may.some((allowed) => allowed.test(to))) {
    return [];
  }
  if (layer.mayTypes?.some((allowed) => allowed.test(to)) === true) {
    return typeOnly ? [] : [`${at}: ${layer.name} may take types alone from there (import type)`];
  }
  return [`${at}: ${layer.name} may not import from ${layerOf(to)?.name ?? 'there'}`];
}

/** A service counts as its noun, which is its folder. */
function serviceOrderOf({ from, to }: Import, at: string): string[] {
  const [importer, imported] = [from, to].map((path) => {
    const noun = path.split('/')[2] ?? '';
    return SERVICE_ORDER.indexOf(noun);
  });
  if (importer === undefined || imported === undefined || importer < 0 || imported < 0) {
    return [];
  }
  return imported <= importer
    ? []
    : [`${at}: services import each other only in the order ${SERVICE_ORDER.join(', ')}`];
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

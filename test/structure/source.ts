/** What the text of TypeScript files shows of their structure. */
import { posix } from 'node:path';
import ts from 'typescript';

/** Paths from the root of a checkout, each with its text. */
export type Sources = ReadonlyMap<string, string>;

/** The files or folders that each file or folder imports from. */
export type Graph = ReadonlyMap<string, ReadonlySet<string>>;

/** A function with a body; `lines` counts from its first word to its last brace, nested functions included. */
export interface FunctionPlace {
  readonly file: string;
  /** `closure` for one without a name of its own: a callback, or one that is returned. */
  readonly name: string;
  readonly line: number;
  readonly lines: number;
  readonly body: ts.ConciseBody;
}

function parse(text: string): ts.SourceFile {
  return ts.createSourceFile('a.ts', text, ts.ScriptTarget.Latest, true);
}

function lineAt(position: number, file: ts.SourceFile): number {
  return file.getLineAndCharacterOfPosition(position).line + 1;
}

function nameOf(node: ts.FunctionLikeDeclaration): string {
  const { parent } = node;
  const holder = ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent) ? parent : node;
  return ts.isConstructorDeclaration(node) ? 'constructor' : (holder.name?.getText() ?? 'closure');
}

/** Functions, methods, accessors, constructors and arrows that have a body, outer ones before those inside them. */
export function functionsOf(file: string, text: string): FunctionPlace[] {
  const tree = parse(text);
  const found: FunctionPlace[] = [];
  function visit(node: ts.Node): void {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const line = lineAt(node.getStart(), tree);
      const lines = lineAt(node.getEnd(), tree) - line + 1;
      found.push({ file, name: nameOf(node), line, lines, body: node.body });
    }
    ts.forEachChild(node, visit);
  }
  visit(tree);
  return found;
}

/** Lines that are not blank, and those among them that hold nothing but comment. */
export function countComments(text: string): { readonly filled: number; readonly comments: number } {
  const tree = parse(text);
  const code = new Set<number>();
  function visit(node: ts.Node): void {
    if (ts.isJSDoc(node) || node.getWidth() === 0) {
      return;
    }
    node.getChildren().forEach(visit);
    if (node.getChildCount() === 0) {
      for (let line = lineAt(node.getStart(), tree); line <= lineAt(node.getEnd(), tree); line += 1) {
        code.add(line);
      }
    }
  }
  visit(tree);
  const filled = text.split('\n').flatMap((line, index) => (line.trim() === '' ? [] : [index + 1]));
  return { filled: filled.length, comments: filled.filter((line) => !code.has(line)).length };
}

/** Lines of import declarations. */
export function countImports(text: string): number {
  const tree = parse(text);
  return tree.statements
    .filter(ts.isImportDeclaration)
    .reduce((sum, one) => sum + lineAt(one.getEnd(), tree) - lineAt(one.getStart(), tree) + 1, 0);
}

/** The names that a file exports, re-exported ones included; `export *` and `export default` have none. */
export function exportsOf(text: string): string[] {
  return parse(text).statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      const clause = statement.exportClause;
      return clause && ts.isNamedExports(clause) ? clause.elements.map(({ name }) => name.text) : [];
    }
    const { Export, Default } = ts.ModifierFlags;
    const flags = ts.getCombinedModifierFlags(statement as ts.DeclarationStatement); // others have no flags
    const declared = ts.isVariableStatement(statement) ? statement.declarationList.declarations : [statement];
    return (flags & (Export | Default)) === Export
      ? declared.flatMap((one) => ('name' in one ? [(one.name as ts.Node).getText()] : []))
      : [];
  });
}

/** Which file imports which, types and dynamic imports included; only files in `sources` count. */
export function importGraph(sources: Sources): Graph {
  const targets = (path: string, text: string): string[] =>
    ts
      .preProcessFile(text)
      .importedFiles.map(({ fileName }) => posix.join(posix.dirname(path), fileName))
      .filter((target) => sources.has(target));
  return new Map([...sources].map(([path, text]) => [path, new Set(targets(path, text))]));
}

/** The same between the folders that the files lie directly in. */
export function folderGraph(files: Graph): Graph {
  const folders = new Map<string, Set<string>>();
  for (const [file, targets] of files) {
    const from = posix.dirname(file);
    const to = new Set([...targets].map((target) => posix.dirname(target)));
    folders.set(from, to.union(folders.get(from) ?? new Set<string>()).difference(new Set([from])));
  }
  return folders;
}

/** The groups of nodes that all reach each other, largest first. */
export function findCycles(graph: Graph): string[][] {
  const reached = new Map<string, Set<string>>();
  for (const start of graph.keys()) {
    const seen = new Set<string>();
    const open = [start];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      for (const next of new Set(graph.get(node)).difference(seen)) {
        seen.add(next);
        open.push(next);
      }
    }
    reached.set(start, seen);
  }
  const groups = [...reached].flatMap(([node, seen]) => {
    const group = [...seen].filter((other) => reached.get(other)?.has(node)).sort();
    return group.length > 1 && group[0] === node ? [group] : [];
  });
  return groups.sort((a, b) => b.length - a.length);
}
